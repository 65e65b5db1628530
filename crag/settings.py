"""Settings from the environment, `.env` and Streamlit's secrets, including the LangSmith account."""

from __future__ import annotations

import ipaddress
import os
import re
import shlex
import sys
import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast, get_args
from urllib.parse import urlsplit

from dotenv import dotenv_values

from crag.errors import BadRequest

DEFAULT_LANGSMITH_URL = "https://api.smith.langchain.com"
_LANGSMITH_PREFIXES = ("LANGSMITH_", "LANGCHAIN_")
_TRACING_VARIABLES = ("TRACING_V2", "TRACING")
_LANGSMITH_DOMAIN = "langchain.com"

GetVariable = Callable[[str], str]


def url_host(url: str) -> str:
    """Return host and port of a URL as shown and logged, without user name and password."""
    return urlsplit(url).netloc.rpartition("@")[2]


@dataclass(frozen=True, slots=True)
class LangSmithAccount:
    """Endpoint and key of LangSmith. Nothing is ever sent without a key.

    `tracing`: the variables ask for traces. `always`: `CRAG_LANGSMITH` allows them without asking on a page.
    `hide_inputs` and `hide_outputs` omit the inputs and outputs of steps from traces.
    """

    key: str = field(default="", repr=False)
    url: str = field(default=DEFAULT_LANGSMITH_URL, repr=False)  # it may hold a password
    project: str = "default"
    workspace: str = ""
    tracing: bool = False
    always: bool = False
    hide_inputs: bool = False
    hide_outputs: bool = False

    @property
    def host(self) -> str:
        """Host that receives requests, as shown and logged. Never contains a user name or a password."""
        return url_host(self.url)

    @property
    def web_url(self) -> str | None:
        """Base URL of the web interface; None for LangSmith's own service, whose URL the client knows."""
        if self.host.endswith(_LANGSMITH_DOMAIN):
            return None
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{self.host}{parts.path.removesuffix('/v1').removesuffix('/api')}"


def read_langsmith_account(get: GetVariable) -> LangSmithAccount:
    """Read the account from environment variables; their older prefix is LANGCHAIN_. Raises `BadRequest` if invalid."""
    key = _get_langsmith_variable(get, "API_KEY")
    return LangSmithAccount(
        key=_validate_langsmith_key(key),
        url=_parse_langsmith_url(_get_langsmith_variable(get, "ENDPOINT")) if key else DEFAULT_LANGSMITH_URL,
        project=_get_langsmith_variable(get, "PROJECT") or "default",
        workspace=_get_langsmith_variable(get, "WORKSPACE_ID"),
        tracing=any(_is_true(get(prefix + name)) for prefix in _LANGSMITH_PREFIXES for name in _TRACING_VARIABLES),
        always=_parse_switch("CRAG_LANGSMITH", get("CRAG_LANGSMITH")),
        hide_inputs=_is_true(_get_langsmith_variable(get, "HIDE_INPUTS")),
        hide_outputs=_is_true(_get_langsmith_variable(get, "HIDE_OUTPUTS")),
    )


def _get_langsmith_variable(get: GetVariable, name: str) -> str:
    return next((value for prefix in _LANGSMITH_PREFIXES if (value := get(prefix + name))), "")


def _is_true(value: str) -> bool:
    return value.lower() == "true"


def _validate_langsmith_key(key: str) -> str:
    if not key.isascii() or not key.isprintable() or " " in key:
        raise BadRequest("LANGSMITH_API_KEY contains characters that no key has.", "Copy it again, or leave it out.")
    return key


def _parse_langsmith_url(value: str) -> str:
    if value and not is_web_address(value):
        raise BadRequest("LANGSMITH_ENDPOINT is not an address.", f"Write one such as {DEFAULT_LANGSMITH_URL}.")
    return (value or DEFAULT_LANGSMITH_URL).rstrip("/")


def _parse_switch(name: str, value: str, on: str = "on", off: str = "off") -> bool:
    if value not in ("", on, off):
        raise BadRequest(f"{name} is “{value}”.", f"Set it to {on}, or leave it out.")
    return value == on


Network = ipaddress.IPv4Network | ipaddress.IPv6Network
PeopleMode = Literal["many", "one", "accounts"]

_DEFAULT_HOME = Path("data")
DEFAULT_OLLAMA_HOST = "http://127.0.0.1:11434"
_LOOPBACK = "127.0.0.1"
_LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")
_ALL_INTERFACES = "0.0.0.0"  # noqa: S104 — read from a variable, never bound
DEFAULT_TAVILY_URL = "https://api.tavily.com"
DEFAULT_BRAVE_URL = "https://api.search.brave.com"
# The checksum is the one that nomic-ai/gpt4all publishes in gpt4all-chat/metadata/models3.json.
DEFAULT_NOMIC_URL = "https://gpt4all.io/models/gguf/nomic-embed-text-v1.5.f16.gguf#md5=a5401e7f7e46ed9fcaed5b60a281d547"
DEFAULT_EVALUATOR_URL = "https://huggingface.co"
_HOST_URL = re.compile(r"https?://[^\s/#?]+(/[^\s#?]*)?")
_CHECKSUMMED_URL = re.compile(r"https?://[^\s/#]+/[^\s#]+#(md5=[0-9a-f]{32}|sha256=[0-9a-f]{64})", re.IGNORECASE)
WEB_SEARCH_FIELDS = {
    "tavily": "tavily_api_key",
    "brave": "brave_api_key",
    "searxng": "searxng_url",
    "mcp": "mcp_search",
    "retriever": "search_retriever",
}
"""Providers of web search by name, with the setting that sets one up; `auto` takes the first."""
# Not passed on as keys: own variables are read here, and LangSmith's would send it every prompt.
_OWN_PREFIXES = ("CRAG_", "OLLAMA_", "TAVILY_", "BRAVE_", "LANGCHAIN_", "LANGSMITH_")


@dataclass(frozen=True, slots=True)
class Settings:
    """Locations and models. `auto` for model, embedder or evaluator means the best one available at present.

    `ollama_host` is the address of Ollama, or several with commas between them: one host each.

    `people`: whether each browser has its own conversations, all browsers share them, or people log in; `admins` are
    the e-mail addresses of those who then administer the server, and `login` is what Streamlit's secrets say of the
    service that they log in with. The server listens on the address `host`; where others can reach it, `public_urls`
    are what they open, `trusted_proxies` the addresses that may say whom they pass a request on for, and `open` admits
    everyone. With `metrics` the server counts questions, steps and tokens for Prometheus, and with `api` programs that
    have a token may use it. `keys` holds the other entries of `.env` and Streamlit's secrets by name, such as provider
    keys.
    """

    home: Path = _DEFAULT_HOME
    chat_model: str = "auto"
    grader_model: str = ""
    embedder: str = "auto"
    evaluator: str = "auto"
    ollama_host: str = DEFAULT_OLLAMA_HOST
    tavily_api_key: str = field(default="", repr=False)
    tavily_url: str = DEFAULT_TAVILY_URL
    web_search: str = "auto"
    brave_api_key: str = field(default="", repr=False)
    brave_url: str = DEFAULT_BRAVE_URL
    searxng_url: str = field(default="", repr=False)  # it may hold a password
    search_retriever: str = ""
    mcp_search: str = field(default="", repr=False)  # a command may hold a key
    mcp_token: str = field(default="", repr=False)
    send_token: str = field(default="", repr=False)
    nomic_url: str = DEFAULT_NOMIC_URL
    evaluator_url: str = DEFAULT_EVALUATOR_URL
    allow_private_urls: tuple[Network, ...] = ()
    max_upload_mb: int = 100
    people: PeopleMode = "many"
    admins: tuple[str, ...] = ()
    host: str = _LOOPBACK
    public_urls: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    open: bool = False
    metrics: bool = False
    api: bool = True
    login: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    database_url: str = field(default="", repr=False)  # of PostgreSQL; it may hold a password
    langsmith: LangSmithAccount = field(default_factory=LangSmithAccount)
    keys: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)

    @property
    def web_search_provider(self) -> str:
        """Name of the provider that searches the web: the one chosen, else the first that is set up; or empty."""
        return next((name for name in self.web_search_providers if self.web_search in ("auto", name)), "")

    @property
    def web_search_providers(self) -> tuple[str, ...]:
        """Names of the providers of web search that are set up."""
        return tuple(name for name, field in WEB_SEARCH_FIELDS.items() if getattr(self, field))

    @property
    def serves_others(self) -> bool:
        """Whether the server is meant for more than the user of this machine."""
        is_local = ipaddress.ip_address(self.host).is_loopback
        return not is_local or bool(self.public_urls) or self.people == "accounts"

    @property
    def ollama_hosts(self) -> tuple[str, ...]:
        """Addresses of the Ollama hosts."""
        return tuple(self.ollama_host.split(","))

    @property
    def ollama_is_local(self) -> bool:
        """Whether every Ollama host is this machine."""
        return not self.external_ollama_hosts

    @property
    def ollama_host_label(self) -> str:
        """Ollama's hosts and ports for display, never user name or password."""
        return ", ".join(map(url_host, self.ollama_hosts))

    @property
    def external_ollama_hosts(self) -> str:
        """The same of the hosts that are other machines."""
        others = (one for one in self.ollama_hosts if urlsplit(one).hostname not in _LOCAL_HOSTS)
        return ", ".join(map(url_host, others))

    def names_ollama_host(self, label: str) -> bool:
        """Whether this is the label of one of the Ollama hosts, or of several of them."""
        return set(label.split(", ")) <= set(map(url_host, self.ollama_hosts))

    @property
    def max_upload_bytes(self) -> int:
        """Upload limit in bytes."""
        return self.max_upload_mb * 1024 * 1024


def format_command(arguments: str, home: Path | None = None) -> str:
    """Return a command of this application for a terminal in the folder in which it was started.

    A home other than the default one is named.
    """
    python = Path(sys.executable)
    with suppress(ValueError):  # elsewhere
        python = python.relative_to(Path.cwd())
    where = f" --home {shlex.quote(str(home))}" if home and home.resolve() != _DEFAULT_HOME.resolve() else ""
    return f"{shlex.quote(str(python))} -m crag {arguments}{where}"


def load_settings(
    home: Path | None = None, env_file: Path = Path(".env"), secrets_file: Path = Path(".streamlit/secrets.toml")
) -> Settings:
    """Load settings.

    Later sources win: Streamlit's secrets, `env_file`, the environment, `home`. Raises `BadRequest`.
    """
    written = _read_secrets(secrets_file) | _read_env_file(env_file)
    values = written | dict(os.environ)

    def get(name: str, default: str = "") -> str:
        return values.get(name, "").strip() or default

    return Settings(
        home=_resolve_home(home or Path(get("CRAG_HOME", str(_DEFAULT_HOME)))),
        chat_model=get("CRAG_CHAT_MODEL", "auto"),
        grader_model=get("CRAG_GRADER_MODEL"),
        embedder=get("CRAG_EMBEDDER", "auto"),
        evaluator=get("CRAG_EVALUATOR", "auto"),
        ollama_host=_parse_ollama_hosts(get("OLLAMA_HOST", DEFAULT_OLLAMA_HOST)),
        tavily_api_key=get("TAVILY_API_KEY"),
        tavily_url=parse_web_address("CRAG_TAVILY_URL", get("CRAG_TAVILY_URL", DEFAULT_TAVILY_URL)),
        web_search=_parse_web_search(get("CRAG_WEB_SEARCH", "auto")),
        brave_api_key=get("BRAVE_API_KEY"),
        brave_url=parse_web_address("CRAG_BRAVE_URL", get("CRAG_BRAVE_URL", DEFAULT_BRAVE_URL)),
        searxng_url=parse_web_address("CRAG_SEARXNG_URL", get("CRAG_SEARXNG_URL")),
        search_retriever=get("CRAG_SEARCH_RETRIEVER"),
        mcp_search=get("CRAG_MCP_SEARCH"),
        mcp_token=get("CRAG_MCP_TOKEN"),
        send_token=get("CRAG_TOKEN"),
        nomic_url=_validate_checksummed_url("CRAG_NOMIC_URL", get("CRAG_NOMIC_URL", DEFAULT_NOMIC_URL)),
        evaluator_url=_parse_host_url("CRAG_EVALUATOR_URL", get("CRAG_EVALUATOR_URL", DEFAULT_EVALUATOR_URL)),
        allow_private_urls=_parse_networks(get("CRAG_ALLOW_PRIVATE_URLS")),
        max_upload_mb=_parse_positive_integer("CRAG_MAX_UPLOAD_MB", get("CRAG_MAX_UPLOAD_MB", "100")),
        people=_parse_people_mode(get("CRAG_PEOPLE", "many")),
        admins=_parse_list(get("CRAG_ADMINS")),
        host=_parse_address("CRAG_HOST", get("CRAG_HOST", _LOOPBACK)),
        public_urls=tuple(_parse_origin(url) for url in _parse_list(get("CRAG_PUBLIC_URL"))),
        trusted_proxies=tuple(
            _parse_address("CRAG_TRUSTED_PROXIES", one) for one in _parse_list(get("CRAG_TRUSTED_PROXIES"))
        ),
        open=_parse_switch("CRAG_OPEN", get("CRAG_OPEN"), "yes", "no"),
        metrics=_parse_switch("CRAG_METRICS", get("CRAG_METRICS")),
        api=_parse_switch("CRAG_API", get("CRAG_API", "on")),
        login=_read_login(secrets_file),
        database_url=parse_database_url("CRAG_DATABASE_URL", get("CRAG_DATABASE_URL")),
        langsmith=read_langsmith_account(get),
        keys={name: value for name, value in written.items() if value and not name.upper().startswith(_OWN_PREFIXES)},
    )


def _read_env_file(file: Path) -> dict[str, str]:
    try:
        return {name: value or "" for name, value in dotenv_values(file).items()}
    except ValueError as error:
        raise BadRequest("The file .env is not UTF-8 text.", "Save it as UTF-8, or delete it.") from error


def _read_secrets(file: Path) -> dict[str, str]:
    """Return the string values at the root of Streamlit's secrets file."""
    return {name: value for name, value in _read_toml(file).items() if isinstance(value, str)}


def _read_toml(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as opened:
            return tomllib.load(opened)
    except OSError:
        return {}
    except ValueError as error:
        raise BadRequest(
            "The file .streamlit/secrets.toml cannot be read.", 'Write lines such as OPENAI_API_KEY = "…" in UTF-8.'
        ) from error


def _read_login(file: Path) -> dict[str, str]:
    """Return the string values of the section `[auth]` of Streamlit's secrets file; empty if there is none."""
    section = _read_toml(file).get("auth")
    return {name: one for name, one in section.items() if isinstance(one, str)} if isinstance(section, dict) else {}


def _resolve_home(path: Path) -> Path:
    try:
        return path.expanduser().resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise BadRequest("The path of your data folder is not valid.", "Check CRAG_HOME.") from error


def _parse_ollama_hosts(value: str) -> str:
    """Return the base URLs for a value of OLLAMA_HOST, one or several, with commas between them."""
    return ",".join(dict.fromkeys(map(_parse_ollama_host, _parse_list(value) or ("",))))


def _parse_ollama_host(value: str) -> str:
    """Return the base URL for `host`, `host:port` or a URL.

    0.0.0.0 is the address on which the server listens, so it is replaced by 127.0.0.1.
    """
    address = value if "://" in value else f"http://{value}"
    scheme, _, rest = address.partition("://")
    host, slash, path = rest.partition("/")
    if host.startswith(_ALL_INTERFACES):
        host = host.replace(_ALL_INTERFACES, "127.0.0.1", 1)
    if ":" not in host.rpartition("]")[2]:
        host += ":443" if scheme == "https" else ":11434"
    address = f"{scheme}://{host}{slash}{path}".rstrip("/")
    if not is_web_address(address):
        raise BadRequest("OLLAMA_HOST is not an address.", "Write one such as http://127.0.0.1:11434.")
    return address


def _validate_checksummed_url(name: str, value: str) -> str:
    if not _CHECKSUMMED_URL.fullmatch(value):
        raise BadRequest(
            f"{name} is not an address with the checksum of its file.",
            "Write one such as https://host/file.gguf#sha256=… or #md5=…, with all its digits.",
        )
    return value


def _parse_host_url(name: str, value: str) -> str:
    if not _HOST_URL.fullmatch(value):
        raise BadRequest(f"{name} is not an address.", f"Write one such as {DEFAULT_EVALUATOR_URL}.")
    return value.rstrip("/")


def is_web_address(value: str) -> bool:
    """Return whether this is an address of HTTP with a host."""
    try:
        parts = urlsplit(value)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False


def parse_web_address(name: str, value: str) -> str:
    """Return an address without a slash at the end, or an empty text. Raises `BadRequest` citing `name`."""
    if value and (not is_web_address(value) or any(map(str.isspace, value))):
        raise BadRequest(f"{name} is not an address.", "Write one with http:// or https://.")
    return value.rstrip("/")


def _parse_web_search(value: str) -> str:
    names = ("auto", *WEB_SEARCH_FIELDS)
    if value not in names:
        raise BadRequest(f"CRAG_WEB_SEARCH is “{value}”.", f"Set it to one of {', '.join(names)}.")
    return value


def _parse_networks(value: str) -> tuple[Network, ...]:
    try:
        return tuple(map(ipaddress.ip_network, _parse_list(value)))
    except ValueError as error:
        raise BadRequest(
            f"CRAG_ALLOW_PRIVATE_URLS cannot be read: {error}.", "Write networks such as 10.0.0.0/8,127.0.0.1/32."
        ) from error


def _parse_positive_integer(name: str, value: str) -> int:
    if not value.isascii() or not value.isdigit() or int(value) == 0:
        raise BadRequest(f"{name} is “{value}”, not a whole number above 0.", f"Set {name} to one such as 100.")
    return int(value)


def parse_database_url(name: str, value: str) -> str:
    """Return the normalized address of a PostgreSQL database, or an empty text. Raises `BadRequest` citing `name`."""
    if value and not value.startswith(("postgresql://", "postgres://")):
        raise BadRequest(
            f"{name} is not the address of a PostgreSQL database.", "Write postgresql://user:password@host/database."
        )
    return value.replace("postgres://", "postgresql://", 1)


def _parse_people_mode(value: str) -> PeopleMode:
    if value not in get_args(PeopleMode):
        raise BadRequest(f"CRAG_PEOPLE is “{value}”.", "Set it to many, to one, or to accounts.")
    return cast("PeopleMode", value)


def _parse_address(name: str, value: str) -> str:
    try:
        return str(ipaddress.ip_address(value))
    except ValueError as error:
        raise BadRequest(f"{name} is “{value}”, not an IP address.", "Write one such as 127.0.0.1.") from error


def _parse_origin(url: str) -> str:
    """Return an address as browsers name its origin, without a default port and a slash at the end."""
    wrong = BadRequest(f"CRAG_PUBLIC_URL is “{url}”.", "Write scheme and host, such as https://crag.example.org.")
    try:
        parts = urlsplit(url.lower())
        port = parts.port
    except ValueError as error:
        raise wrong from error
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/") or "@" in url:
        raise wrong
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    is_default = port in (None, {"http": 80, "https": 443}[parts.scheme])
    return f"{parts.scheme}://{host}" + ("" if is_default else f":{port}")


def _parse_list(value: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in value.split(",") if part.strip())
