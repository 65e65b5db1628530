"""The LangSmith account from its environment variables. LANGCHAIN_ is their older prefix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from crag.errors import BadRequest

DEFAULT_URL = "https://api.smith.langchain.com"
_PREFIXES = ("LANGSMITH_", "LANGCHAIN_")
_TRACING = ("TRACING_V2", "TRACING")
_HOSTED = "langchain.com"

Get = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Account:
    """Endpoint and key of LangSmith. Nothing is ever sent without a key.

    `tracing`: the variables ask for traces. `always`: `CRAG_LANGSMITH` allows them without asking on a page.
    `hide_inputs` and `hide_outputs` omit the inputs and outputs of steps from traces.
    """

    key: str = field(default="", repr=False)
    url: str = field(default=DEFAULT_URL, repr=False)  # it may hold a password
    project: str = "default"
    workspace: str = ""
    tracing: bool = False
    always: bool = False
    hide_inputs: bool = False
    hide_outputs: bool = False

    @property
    def host(self) -> str:
        """Host that receives requests, as shown and logged. Never contains a user name or a password."""
        return urlsplit(self.url).netloc.rpartition("@")[2]

    @property
    def web_url(self) -> str | None:
        """Base URL of the web interface; None for LangSmith's own service, whose URL the client knows."""
        if self.host.endswith(_HOSTED):
            return None
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{self.host}{parts.path.removesuffix('/v1').removesuffix('/api')}"


def read_account(get: Get) -> Account:
    """Read the account from environment variables; their older prefix is LANGCHAIN_. Raises `BadRequest` if invalid."""
    key = _either(get, "API_KEY")
    return Account(
        key=_checked_key(key),
        url=_address(_either(get, "ENDPOINT")) if key else DEFAULT_URL,
        project=_either(get, "PROJECT") or "default",
        workspace=_either(get, "WORKSPACE_ID"),
        tracing=any(_is_true(get(prefix + name)) for prefix in _PREFIXES for name in _TRACING),
        always=_switched_on(get("CRAG_LANGSMITH")),
        hide_inputs=_is_true(_either(get, "HIDE_INPUTS")),
        hide_outputs=_is_true(_either(get, "HIDE_OUTPUTS")),
    )


def _either(get: Get, name: str) -> str:
    return next((value for prefix in _PREFIXES if (value := get(prefix + name))), "")


def _is_true(value: str) -> bool:
    return value.lower() == "true"


def _checked_key(key: str) -> str:
    if key.isascii() and (key.isprintable() and " " not in key):
        return key
    raise BadRequest("LANGSMITH_API_KEY holds characters that no key has.", "Copy it once more, or leave it out.")


def _address(value: str) -> str:
    address = (value or DEFAULT_URL).rstrip("/")
    try:
        parts = urlsplit(address)
        if parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port):
            return address
    except ValueError:
        pass
    raise BadRequest("LANGSMITH_ENDPOINT is not an address.", f"Write one such as {DEFAULT_URL}.")


def _switched_on(value: str) -> bool:
    if value not in ("", "on", "off"):
        raise BadRequest(f"CRAG_LANGSMITH is “{value}”.", "Set it to on, or leave it out.")
    return value == "on"
