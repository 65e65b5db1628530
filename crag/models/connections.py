"""HTTP connections to a model server that another thread can cut, even while the server is silent.

Closing a socket does not wake a thread that reads from it; shutting it down does.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

import httpx

from crag.settings import Settings

CONNECT_SECONDS = 5.0
# A cold load of a large model is minutes of silence before the first byte.
SILENCE_SECONDS = 900.0

_OPENED = ("connection.connect_tcp.complete", "connection.start_tls.complete")
_current: ContextVar[Line | None] = ContextVar("_current", default=None)


class Line:
    """The connections that one call holds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._cut = False

    @contextmanager
    def holding(self) -> Iterator[None]:
        """While the block runs, connections that this thread opens belong to this line."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    def hold(self, opened: socket.socket) -> None:
        """Take in a connection; cut at once if the line was cut before."""
        with self._lock:
            self._sockets.append(opened)
            late = self._cut
        if late:
            _shut(opened)

    def cut(self) -> None:
        """End every connection, now and later; the thread that waits for one gets an error. Harmless when repeated."""
        with self._lock:
            self._cut = True
            held = list(self._sockets)
        for opened in held:
            _shut(opened)


def client_options(settings: Settings) -> dict[str, Any]:
    """What every HTTP client for Ollama is made with. Proxies of the environment are for the web, not for it."""
    return {
        "timeout": httpx.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS),
        "trust_env": False,
        "verify": settings.ollama_host.startswith("https"),
    }


class CuttableTransport(httpx.HTTPTransport):
    """A transport whose requests each get a connection of their own, known to the line of the calling thread."""

    def __init__(self, settings: Settings) -> None:
        verify = settings.ollama_host.startswith("https")
        super().__init__(verify=verify, trust_env=False, limits=httpx.Limits(max_keepalive_connections=0))

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """As its parent, noting the socket."""
        request.extensions = {**request.extensions, "trace": _note}
        return super().handle_request(request)


def _note(event: str, details: dict[str, Any]) -> None:
    line = _current.get()
    if line is not None and event in _OPENED:
        opened = details["return_value"].get_extra_info("socket")
        if opened is not None:
            line.hold(opened)


def _shut(opened: socket.socket) -> None:
    with suppress(OSError):  # it may be closed already
        opened.shutdown(socket.SHUT_RDWR)
