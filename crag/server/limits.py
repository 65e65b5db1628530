"""Limits on what one client may hold open or send, so that it cannot exhaust the server."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_UPLOAD_FOLDER = "/_stcore/upload_file/"
_TRY_AGAIN_LATER = 1013  # close code, registered with IANA


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """`sockets` open at once for each address of a client; `body_seconds` of silence within the body of a request.

    `uploaded_bytes` of one browser tab that wait to be used by a page; `count_uploaded_bytes` maps the id of a tab's
    session to those that are waiting.
    """

    count_uploaded_bytes: Callable[[str], int]
    uploaded_bytes: int
    sockets: int = 500
    body_seconds: float = 30.0


class LimitRequests:
    """Middleware that refuses what goes beyond the limits, with a status or close code that says so."""

    def __init__(self, app: ASGIApp, limits: RequestLimits) -> None:
        self._app = app
        self._limits = limits
        self._sockets: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on or refuse it."""
        if scope["type"] == "websocket":
            await self._pass_socket(scope, receive, send)
        elif scope["type"] == "http" and scope["method"] in {"PUT", "POST"}:
            await self._pass_body(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _pass_socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        address = (scope.get("client") or ("",))[0]
        if self._sockets[address] >= self._limits.sockets:
            await receive()
            await send({"type": "websocket.close", "code": _TRY_AGAIN_LATER})
            return
        self._sockets[address] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._sockets[address] -= 1

    async def _pass_body(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._exceeds_uploads(scope):
            response = PlainTextResponse(
                "Too many uploads are waiting. Reload the page.", HTTPStatus.REQUEST_ENTITY_TOO_LARGE
            )
            await response(scope, receive, send)
            return

        async def receive_in_time() -> Message:
            async with asyncio.timeout(self._limits.body_seconds):
                return await receive()

        try:
            await self._app(scope, receive_in_time, send)
        except TimeoutError:
            await PlainTextResponse("The request took too long.", HTTPStatus.REQUEST_TIMEOUT)(scope, receive, send)

    def _exceeds_uploads(self, scope: Scope) -> bool:
        if not scope["path"].startswith(_UPLOAD_FOLDER):
            return False
        session_id = scope["path"].removeprefix(_UPLOAD_FOLDER).partition("/")[0]
        length = Headers(scope=scope).get("content-length", "0")
        announced = int(length) if length.isdigit() else 0
        return self._limits.count_uploaded_bytes(session_id) + announced > self._limits.uploaded_bytes
