"""Limits on what one client may hold open or send, so that it cannot exhaust the server."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from ipaddress import IPv6Address, IPv6Network

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from crag.server.request_guard import refuse
from crag.translation import N_

_CLIENT_PREFIX = 64  # bits: one client has at least a network of this size (RFC 6177)
_UPLOAD_FOLDER = "/_stcore/upload_file/"
_TRY_AGAIN_LATER = 1013  # close code, registered with IANA
_TOO_MANY_TABS = N_("CRAG Chat is open in too many tabs. Close some of them, then reload this page.")


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """`sockets` open at once for each address of a client; `body_seconds` for the body of a request.

    A body has longer while it arrives at `bytes_per_second` or more. `messages_per_second` are read from one socket,
    after `messages_at_once`; a long message counts as one for each `bytes_per_message`. `uploaded_bytes` of one browser
    tab may wait to be used by a page; `count_uploaded_bytes` maps the id of a tab's session to those that are waiting.
    """

    count_uploaded_bytes: Callable[[str], int]
    uploaded_bytes: int
    sockets: int = 500
    messages_per_second: float = 50.0
    messages_at_once: float = 200.0
    bytes_per_message: int = 100_000
    body_seconds: float = 30.0
    bytes_per_second: int = 20_000


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
        elif self._is_full(scope) and "text/html" in Headers(scope=scope).get("accept", ""):
            await refuse(scope, _TOO_MANY_TABS, HTTPStatus.SERVICE_UNAVAILABLE)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _pass_socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._is_full(scope):
            await receive()
            await send({"type": "websocket.close", "code": _TRY_AGAIN_LATER})
            return
        rate = _TokenBucket(self._limits.messages_per_second, self._limits.messages_at_once)

        async def receive_at_rate() -> Message:
            message = await receive()  # until the next call, the server reads nothing more from this socket
            length = len(message.get("bytes") or message.get("text") or "")
            await rate.take(1 + length // self._limits.bytes_per_message)
            return message

        address = _address_of(scope)
        self._sockets[address] += 1
        try:
            await self._app(scope, receive_at_rate, send)
        finally:
            self._sockets[address] -= 1
            if not self._sockets[address]:
                del self._sockets[address]

    def _is_full(self, scope: Scope) -> bool:
        return self._sockets[_address_of(scope)] >= self._limits.sockets

    async def _pass_body(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._exceeds_uploads(scope):
            message = N_("Too many uploads are waiting. Reload the page.")
            await refuse(scope, message, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)(scope, receive, send)
            return

        deadline: float | None = asyncio.get_running_loop().time() + self._limits.body_seconds

        async def receive_in_time() -> Message:
            nonlocal deadline
            async with asyncio.timeout_at(deadline):
                message = await receive()
            if not message.get("more_body"):
                deadline = None  # from now on, only the end of the connection is waited for
            elif deadline is not None:
                deadline += len(message.get("body", b"")) / self._limits.bytes_per_second
            return message

        try:
            await self._app(scope, receive_in_time, send)
        except TimeoutError:
            await refuse(scope, N_("The request took too long."), HTTPStatus.REQUEST_TIMEOUT)(scope, receive, send)

    def _exceeds_uploads(self, scope: Scope) -> bool:
        if not scope["path"].startswith(_UPLOAD_FOLDER):
            return False
        session_id = scope["path"].removeprefix(_UPLOAD_FOLDER).partition("/")[0]
        length = Headers(scope=scope).get("content-length", "0")
        announced = int(length) if length.isdigit() else 0
        return self._limits.count_uploaded_bytes(session_id) + announced > self._limits.uploaded_bytes


class _TokenBucket:
    """Let through `burst` at once and `rate` a second from then on; a caller who takes more waits."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate = rate
        self._burst = burst
        self._left = burst
        self._time = asyncio.get_running_loop().time()

    async def take(self, count: float) -> None:
        now = asyncio.get_running_loop().time()
        self._left = min(self._burst, self._left + (now - self._time) * self._rate) - count
        self._time = now
        if self._left < 0:
            await asyncio.sleep(-self._left / self._rate)


def _address_of(scope: Scope) -> str:
    """Return the address of a client; of IPv6 the network, since a single client has all addresses of one."""
    host = (scope.get("client") or ("",))[0]
    try:
        address = IPv6Address(host)
    except ValueError:
        return str(host)
    return str(address.ipv4_mapped or IPv6Network((address, _CLIENT_PREFIX), strict=False))
