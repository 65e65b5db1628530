"""The connections one call to a model holds, so that another thread can cut them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar


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

    @property
    def is_cut(self) -> bool:
        """Whether nobody waits for this call any more."""
        return self._cut

    def cut(self) -> None:
        """End every connection, now and later; the thread that waits for one gets an error. Harmless when repeated."""
        with self._lock:
            self._cut = True
            held = list(self._sockets)
        for opened in held:
            _shut(opened)


def current_line() -> Line | None:
    """The line that connections opened by this thread belong to now."""
    return _current.get()


def _shut(opened: socket.socket) -> None:
    with suppress(OSError):  # it may be closed already
        opened.shutdown(socket.SHUT_RDWR)


_current: ContextVar[Line | None] = ContextVar("_current", default=None)
