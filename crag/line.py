"""Connections of one model call, so that another thread can cut them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar


class Line:
    """The connections of one model call, which another thread can cut."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._cut = False

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Add the connections that this thread opens during the block to the group."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    def hold(self, opened: socket.socket) -> None:
        """Add a connection, and close it at once if the group was cut before."""
        with self._lock:
            self._sockets.append(opened)
            late = self._cut
        if late:
            _shut(opened)

    @property
    def is_cut(self) -> bool:
        """Whether the group was cut because nobody waits for the call any more."""
        return self._cut

    def cut(self) -> None:
        """Shut down all present and future connections.

        A thread waiting on one gets an error. Repeated calls have no effect.
        """
        with self._lock:
            self._cut = True
            held = list(self._sockets)
        for opened in held:
            _shut(opened)


def current_line() -> Line | None:
    """Return the group that collects the connections opened by this thread, if any."""
    return _current.get()


def _shut(opened: socket.socket) -> None:
    with suppress(OSError):  # it may be closed already
        opened.shutdown(socket.SHUT_RDWR)


_current: ContextVar[Line | None] = ContextVar("_current", default=None)
