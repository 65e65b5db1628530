"""Refuses requests that another site or another local port causes a browser to send.

A browser attaches the cookies of 127.0.0.1 to requests for every port, so neither cookies nor SameSite tell this
application's page from a page that another local program serves. Origin (RFC 6454), Fetch Metadata (W3C) and a token
that only this application's page contains do.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Collection
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from crag.translation import N_, _, match_language, use_language

QUERY_PARAMETER = "page"
_ACCEPTED_LANGUAGE = re.compile(r"\s*(?P<tag>[\w*-]+)\s*(?:;\s*[qQ]=(?P<weight>[01](?:\.\d{0,3})?)\s*)?")
_SOCKET_SCHEMES = {"ws": "http", "wss": "https"}
_FILE_NAME = "page.key"
_TOKEN_BYTES = 32
_CLOSED_ENDPOINTS = ("/_stcore/metrics", "/_stcore/agent")
_POLICY_VIOLATION = 1008  # close code, RFC 6455 section 7.4.1
_REFUSAL = N_("This request came from another site or program. Open the application's own address instead.")


def load_page_token(home: Path) -> str:
    """Return the token of this home, created at first use, so that open pages can reconnect after a restart.

    Where the home cannot be written, the token lasts as long as the process.
    """
    path = home / _FILE_NAME
    with suppress(OSError):
        home.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            path.touch(mode=0o600, exist_ok=False)
            path.write_text(secrets.token_urlsafe(_TOKEN_BYTES), encoding="ascii")
        if token := path.read_text(encoding="ascii").strip():
            return token
    return secrets.token_urlsafe(_TOKEN_BYTES)


def find_browser_language(scope: Scope) -> str:
    """Return the language that the browser prefers (RFC 9110, sections 12.4.2 and 12.5.4)."""
    named = map(_ACCEPTED_LANGUAGE.fullmatch, Headers(scope=scope).get("accept-language", "").split(","))
    weights = {found["tag"]: float(found["weight"] or 1) for found in named if found}
    return match_language(sorted((tag for tag in weights if weights[tag]), key=weights.__getitem__, reverse=True))


def refuse(scope: Scope, message: str, status: HTTPStatus) -> PlainTextResponse:
    """Return a refusal, in the language of the browser."""
    with use_language(find_browser_language(scope)):
        return PlainTextResponse(f"{_(message)}\n", status)


class RequestGuard:
    """Middleware that answers 403 to what this application's own pages did not send, and 404 to closed endpoints.

    Every request that names an Origin must name exactly the scheme, host and port that it is sent to. Where there are
    `origins`, it must be one of them: behind a proxy, a request does not say which scheme the browser used. Requests
    without one, such as for pictures, must not be marked by the browser as sent from elsewhere, except when a person
    follows a link to a page. The WebSocket also needs the token that the page contains. Programs that are no browser
    send none of these headers and can reach what needs no token.
    """

    def __init__(self, app: ASGIApp, token: str, origins: Collection[str] = ()) -> None:
        self._app = app
        self._token = token
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on or refuse it."""
        if scope["type"] == "websocket":
            if self._is_own_origin(scope) and self._has_token(scope):
                await self._app(scope, receive, send)
            else:
                await receive()
                await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
        elif scope["type"] == "http" and scope["path"].startswith(_CLOSED_ENDPOINTS):
            await refuse(scope, N_("There is no page at this address."), HTTPStatus.NOT_FOUND)(scope, receive, send)
        elif scope["type"] == "http" and not (self._is_own_origin(scope) and _is_own_request(scope)):
            await refuse(scope, _REFUSAL, HTTPStatus.FORBIDDEN)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _is_own_origin(self, scope: Scope) -> bool:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        scheme = _SOCKET_SCHEMES.get(scope["scheme"], scope["scheme"])
        own = (
            [one for one in self._origins if one.partition("://")[2] == host]
            if self._origins
            else [f"{scheme}://{host}"]
        )
        named = headers.getlist("origin")
        return not named or (len(named) == 1 and named[0] in own)

    def _has_token(self, scope: Scope) -> bool:
        given = parse_qs(scope["query_string"].decode("latin-1")).get(QUERY_PARAMETER, [""])
        return hmac.compare_digest(given[0].encode(), self._token.encode())


def _is_own_request(scope: Scope) -> bool:
    """Return whether the browser says that its own page or its user caused this; other programs say nothing."""
    headers = Headers(scope=scope)
    if headers.get("sec-fetch-site", "none") in {"same-origin", "none"}:
        return True
    is_followed_link = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    return is_followed_link and scope["method"] == "GET"
