"""Settings from the environment, `.env` and Streamlit's secrets. The README lists the names."""

from __future__ import annotations

import ipaddress
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast
from urllib.parse import urlsplit

from dotenv import dotenv_values

from crag.errors import BadRequest
from crag.langsmith.account import Account, read_account

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
People = Literal["many", "one"]

DEFAULT_OLLAMA_HOST = "http://127.0.0.1:11434"
_THIS_MACHINE = ("127.0.0.1", "localhost", "::1")
_EVERY_INTERFACE = "0.0.0.0"  # noqa: S104 — read from a variable, never bound
DEFAULT_TAVILY_URL = "https://api.tavily.com"
# The checksum is the one that nomic-ai/gpt4all publishes in gpt4all-chat/metadata/models3.json.
DEFAULT_NOMIC_URL = "https://gpt4all.io/models/gguf/nomic-embed-text-v1.5.f16.gguf#md5=a5401e7f7e46ed9fcaed5b60a281d547"
_CHECKED_ADDRESS = re.compile(r"https?://[^\s/#]+/[^\s#]+#(md5=[0-9a-f]{32}|sha256=[0-9a-f]{64})", re.IGNORECASE)
# Not passed on as keys: own variables are read here, and LangSmith's would send it every prompt.
_NO_KEYS = ("CRAG_", "OLLAMA_", "TAVILY_", "LANGCHAIN_", "LANGSMITH_")


@dataclass(frozen=True, slots=True)
class Settings:
    """Locations and models. `auto` for model or embedder means the best one available at present.

    `people`: whether each browser has its own conversations, or all browsers share them. `keys` holds the other entries
    of `.env` and Streamlit's secrets by name, such as provider keys.
    """

    home: Path = Path("data")
    chat_model: str = "auto"
    grader_model: str = ""
    embedder: str = "auto"
    ollama_host: str = DEFAULT_OLLAMA_HOST
    tavily_api_key: str = field(default="", repr=False)
    tavily_url: str = DEFAULT_TAVILY_URL
    nomic_url: str = DEFAULT_NOMIC_URL
    allow_private_urls: tuple[Network, ...] = ()
    max_upload_mb: int = 100
    people: People = "many"
    langsmith: Account = field(default_factory=Account)
    keys: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)

    @property
    def ollama_is_here(self) -> bool:
        """Whether the Ollama server runs on this machine."""
        return urlsplit(self.ollama_host).hostname in _THIS_MACHINE

    @property
    def max_upload_bytes(self) -> int:
        """Upload limit in bytes."""
        return self.max_upload_mb * 1024 * 1024


def load_settings(
    home: Path | None = None, env_file: Path = Path(".env"), secrets_file: Path = Path(".streamlit/secrets.toml")
) -> Settings:
    """Load settings.

    Later sources win: Streamlit's secrets, `env_file`, the environment, `home`. Raises `BadRequest`.
    """
    written = _secrets(secrets_file) | _variables(env_file)
    values = written | dict(os.environ)

    def get(name: str, default: str = "") -> str:
        return values.get(name, "").strip() or default

    return Settings(
        home=_home(home or Path(get("CRAG_HOME", "data"))),
        chat_model=get("CRAG_CHAT_MODEL", "auto"),
        grader_model=get("CRAG_GRADER_MODEL"),
        embedder=get("CRAG_EMBEDDER", "auto"),
        ollama_host=_ollama_address(get("OLLAMA_HOST", DEFAULT_OLLAMA_HOST)),
        tavily_api_key=get("TAVILY_API_KEY"),
        tavily_url=get("CRAG_TAVILY_URL", DEFAULT_TAVILY_URL).rstrip("/"),
        nomic_url=_checked_address("CRAG_NOMIC_URL", get("CRAG_NOMIC_URL", DEFAULT_NOMIC_URL)),
        allow_private_urls=_networks(get("CRAG_ALLOW_PRIVATE_URLS")),
        max_upload_mb=_positive("CRAG_MAX_UPLOAD_MB", get("CRAG_MAX_UPLOAD_MB", "100")),
        people=_people(get("CRAG_PEOPLE", "many")),
        langsmith=read_account(get),
        keys={name: value for name, value in written.items() if value and not name.upper().startswith(_NO_KEYS)},
    )


def _variables(file: Path) -> dict[str, str]:
    try:
        return {name: value or "" for name, value in dotenv_values(file).items()}
    except ValueError as error:
        raise BadRequest("The file .env is not text in UTF-8.", "Save it as UTF-8, or delete it.") from error


def _secrets(file: Path) -> dict[str, str]:
    """Return the string values at the root of Streamlit's secrets file."""
    try:
        with file.open("rb") as opened:
            values = tomllib.load(opened)
    except OSError:
        return {}
    except ValueError as error:
        raise BadRequest(
            "The file .streamlit/secrets.toml cannot be read.", 'Write lines such as OPENAI_API_KEY = "…" in UTF-8.'
        ) from error
    return {name: value for name, value in values.items() if isinstance(value, str)}


def _home(path: Path) -> Path:
    try:
        return path.expanduser().resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise BadRequest("The folder for your data is not one that can be.", "Check CRAG_HOME.") from error


def _ollama_address(value: str) -> str:
    """Return the base URL for a value of OLLAMA_HOST: `host`, `host:port` or a URL.

    0.0.0.0 is the address on which the server listens, so it is replaced by 127.0.0.1.
    """
    address = value if "://" in value else f"http://{value}"
    scheme, _, rest = address.partition("://")
    host, slash, path = rest.partition("/")
    if host.startswith(_EVERY_INTERFACE):
        host = host.replace(_EVERY_INTERFACE, "127.0.0.1", 1)
    if ":" not in host.rpartition("]")[2]:
        host += ":443" if scheme == "https" else ":11434"
    address = f"{scheme}://{host}{slash}{path}".rstrip("/")
    if not _is_web_address(address):
        raise BadRequest("OLLAMA_HOST is not an address.", "Write one such as http://127.0.0.1:11434.")
    return address


def _is_web_address(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port is not None
    except ValueError:
        return False


def _checked_address(name: str, value: str) -> str:
    if not _CHECKED_ADDRESS.fullmatch(value):
        raise BadRequest(
            f"{name} is not an address with the checksum of its file.",
            "Write one such as https://host/file.gguf#sha256=… or #md5=…, with all its digits.",
        )
    return value


def _networks(value: str) -> tuple[Network, ...]:
    try:
        return tuple(ipaddress.ip_network(part.strip()) for part in value.split(",") if part.strip())
    except ValueError as error:
        raise BadRequest(
            f"CRAG_ALLOW_PRIVATE_URLS cannot be read: {error}.", "Write networks such as 10.0.0.0/8,127.0.0.1/32."
        ) from error


def _positive(name: str, value: str) -> int:
    if not value.isascii() or not value.isdigit() or int(value) == 0:
        raise BadRequest(f"{name} is “{value}”, not a whole number above 0.", f"Set {name} to one such as 100.")
    return int(value)


def _people(value: str) -> People:
    if value not in ("many", "one"):
        raise BadRequest(f"CRAG_PEOPLE is “{value}”.", "Set it to many, or to one.")
    return cast("People", value)
