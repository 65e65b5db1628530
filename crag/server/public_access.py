"""Who can reach the server: its address, the origins it answers under, and the settings required for that."""

from __future__ import annotations

from importlib.util import find_spec
from ipaddress import ip_address
from urllib.parse import urlsplit

from crag.errors import BadRequest
from crag.settings import Settings

CALLBACK_PATH = "/oauth2callback"
_LOGIN_VALUES = ("redirect_uri", "cookie_secret", "client_id", "client_secret", "server_metadata_url")
_SHORTEST_SECRET = 32
_SECRETS_FILE = ".streamlit/secrets.toml"
LOCAL_NAMES = ("127.0.0.1", "localhost")


def find_origins(settings: Settings, port: int) -> tuple[str, ...]:
    """Return the origins under which browsers open the server, after checking that it may be opened so.

    There are none if only this machine reaches it, under any port that is forwarded to it. Raises `BadRequest` if
    others could reach it without accounts, or if something is missing for these.
    """
    if not is_loopback(settings.host) and not settings.public_urls:
        raise BadRequest(
            f"CRAG_HOST is {settings.host}, but the address for browsers is not set.",
            "Set CRAG_PUBLIC_URL to the address that people open, such as https://crag.example.org.",
        )
    if settings.people == "accounts":
        local = tuple(f"http://{name}:{port}" for name in LOCAL_NAMES)
        return (_check_login(settings, settings.public_urls or local),)
    if settings.public_urls and not settings.open:
        raise BadRequest(
            "Everyone who can reach this server could read and change everything.",
            "Set CRAG_PEOPLE=accounts, so that people log in, or CRAG_OPEN=yes to open it without accounts.",
        )
    return settings.public_urls


def is_loopback(host: str) -> bool:
    """Return whether only programs of this machine reach this address."""
    return ip_address(host).is_loopback


def _check_login(settings: Settings, origins: tuple[str, ...]) -> str:
    """Return the origin to which people come back from the service that they log in with. Raises `BadRequest`."""
    missing = [name for name in _LOGIN_VALUES if not settings.login.get(name)]
    if missing:
        raise BadRequest(
            f"CRAG_PEOPLE is accounts, but [auth] in {_SECRETS_FILE} lacks {', '.join(missing)}.",
            "docs/many-people.md says how to set up a login.",
        )
    if len(settings.login["cookie_secret"]) < _SHORTEST_SECRET:
        raise BadRequest(
            f"cookie_secret in {_SECRETS_FILE} is too short to keep logins safe.",
            f"Use {_SHORTEST_SECRET} random characters or more.",
        )
    if not settings.admins:
        raise BadRequest(
            "CRAG_PEOPLE is accounts, but nobody may change the settings.",
            "Set CRAG_ADMINS to the e-mail addresses of the administrators.",
        )
    if find_spec("authlib") is None:
        raise BadRequest("Logging in needs the package Authlib.", "Install it: pip install Authlib.")
    wanted = settings.login["redirect_uri"]
    parts = urlsplit(wanted)
    origin = f"{parts.scheme}://{parts.netloc}"
    if origin not in origins or wanted != origin + CALLBACK_PATH:
        expected = " or ".join(one + CALLBACK_PATH for one in origins)
        raise BadRequest(f"redirect_uri in {_SECRETS_FILE} is {wanted}.", f"It must be {expected}.")
    return origin
