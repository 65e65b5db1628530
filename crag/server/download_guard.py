"""Lets only the browser for which a file was made download it.

Streamlit names a file by its content and serves it to anyone with the address. Here the address carries a signature of
this process, which fits together with a cookie of that browser alone. A program behind another port can collect the
cookie, and somebody else may see the address: neither is enough.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from crag.server.browser_identity import download_key_from_headers
from crag.server.request_guard import refuse
from crag.translation import N_

FOLDER = "/media"
_COOKIE = "crag_downloads"
_PARAMETER = "for"
_SIGNING_KEY = secrets.token_bytes(32)  # as short-lived as the files, which are in memory


def sign_address(address: str, headers: Mapping[str, str]) -> str:
    """Return the address of a file as only the browser with these headers can open it.

    Without headers, or where the browser keeps nothing, everyone who has the address can.
    """
    return f"{address}?{_PARAMETER}={_sign(address, download_key_from_headers(headers))}"


class DownloadGuard:
    """Middleware that gives browsers their cookie with each WebSocket, and answers 404 to a request that does not fit.

    It needs `BrowserIdentity` before it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on or refuse it."""
        if scope["type"] == "websocket":
            await self._app(scope, receive, _set_cookie(scope, send))
        elif scope["type"] == "http" and scope["path"].startswith(f"{FOLDER}/") and not _is_signed(scope):
            await refuse(scope, N_("There is no page at this address."), HTTPStatus.NOT_FOUND)(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def _sign(address: str, key: str) -> str:
    return hmac.new(_SIGNING_KEY, f"{address} {key}".encode(), "sha256").hexdigest()


def _is_signed(scope: Scope) -> bool:
    given = parse_qs(scope["query_string"].decode("latin-1")).get(_PARAMETER, [""])[0]
    cookies = cookie_parser(";".join(Headers(scope=scope).getlist("cookie")))
    keys = ("", cookies.get(_cookie_name(scope), ""))
    return any(hmac.compare_digest(given.encode(), _sign(scope["path"], key).encode()) for key in keys)


def _cookie_name(scope: Scope) -> str:
    """Return a name that each port of a host has for itself, since all ports share their cookies."""
    port = Headers(scope=scope).get("host", "").rpartition(":")[2]
    return f"{_COOKIE}_{port}" if port.isdecimal() else _COOKIE


def _set_cookie(scope: Scope, send: Send) -> Send:
    key = download_key_from_headers(Headers(scope=scope))

    async def send_with_cookie(message: Message) -> None:
        if key and message["type"] == "websocket.accept":
            message.setdefault("headers", [])
            cookie = f"{_cookie_name(scope)}={key}; path={FOLDER}; httponly; samesite=strict"
            MutableHeaders(scope=message).append("set-cookie", cookie)
        await send(message)

    return send_with_cookie
