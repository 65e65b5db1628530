"""Answers to programs that watch this process: load balancers, containers, Prometheus."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus

from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from crag.errors import CragError

_TEXT_FORMAT = "text/plain; version=0.0.4; charset=utf-8"  # of Prometheus
_FRESH_SECONDS = 1.0
_PATIENCE_SECONDS = 2.0


class HealthEndpoints:
    """Middleware that answers `/healthz` as long as the process lives, and `/readyz` if `is_ready` returns true.

    Watchers name any host, so it comes before the checks of host and origin. `is_ready` may block; it is called in a
    thread, at most once a second, and counts as false while it takes longer than two. `/metrics` returns what
    `render_metrics` does, also called in a thread.
    """

    def __init__(
        self, app: ASGIApp, is_ready: Callable[[], bool], render_metrics: Callable[[], bytes] | None = None
    ) -> None:
        self._app = app
        self._is_ready = is_ready
        self._render_metrics = render_metrics
        self._paths = {"/healthz", "/readyz", *(["/metrics"] if render_metrics else [])}
        self._check: asyncio.Task[bool] | None = None
        self._checked_at = 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass the request on."""
        if scope["type"] != "http" or scope["path"] not in self._paths:
            await self._app(scope, receive, send)
        else:
            await (await self._answer(scope))(scope, receive, send)

    async def _answer(self, scope: Scope) -> Response:
        if scope["method"] not in {"GET", "HEAD"}:
            return Response(status_code=HTTPStatus.METHOD_NOT_ALLOWED, headers={"Allow": "GET, HEAD"})
        if scope["path"] == "/healthz":
            return PlainTextResponse("alive\n")
        if scope["path"] == "/readyz" and await self._find_readiness():
            return PlainTextResponse("ready\n")
        if scope["path"] == "/metrics" and self._render_metrics:
            with suppress(CragError):
                return PlainTextResponse(await asyncio.to_thread(self._render_metrics), media_type=_TEXT_FORMAT)
        return PlainTextResponse("unavailable\n", HTTPStatus.SERVICE_UNAVAILABLE)

    async def _find_readiness(self) -> bool:
        """Return the result of the latest check; all who ask during a check wait for the same one."""
        now = asyncio.get_running_loop().time()
        if self._check is None or (self._check.done() and now - self._checked_at >= _FRESH_SECONDS):
            self._check, self._checked_at = asyncio.create_task(asyncio.to_thread(self._is_ready)), now
        await asyncio.wait({self._check}, timeout=self._checked_at + _PATIENCE_SECONDS - now)
        return self._check.done() and self._check.result()
