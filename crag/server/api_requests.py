"""Passes requests of programs to the API, which is loaded when the first one comes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send

_PREFIXES = ("/v1/", "/api/v1/")


class ApiRequests:
    """Middleware that passes requests below the API's addresses to it. `create` may block for a moment."""

    def __init__(self, app: ASGIApp, create: Callable[[], ASGIApp]) -> None:
        self._app = app
        self._create = create
        self._loading: asyncio.Task[ASGIApp] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the API answer, or pass the request on."""
        if scope["type"] != "http" or not scope["path"].startswith(_PREFIXES):
            await self._app(scope, receive, send)
            return
        if self._loading is None:
            self._loading = asyncio.create_task(asyncio.to_thread(self._create))
        try:
            api = await asyncio.shield(self._loading)
        except Exception:
            self._loading = None  # the next request tries again
            raise
        await api(scope, receive, send)
