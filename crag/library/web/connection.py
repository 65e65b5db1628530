"""Connection of a fetch: to checked addresses only, cut by a deadline or a cancellation."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from functools import partial
from typing import TypeVar

import httpcore

from crag.stopping import Stop

T = TypeVar("T")
_POLL_SECONDS = 0.05


class Deadline:
    """A point in time after which work is abandoned, even if data is still arriving."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds until the deadline, never negative."""
        return max(0.0, self._end - time.monotonic())

    @property
    def passed(self) -> bool:
        """Whether the deadline has passed."""
        return self.left == 0


def wait_for(work: Callable[[], T], stop: Stop, deadline: Deadline) -> T:
    """Run blocking system calls that cannot be interrupted, in a thread. Raises `Stopped`, `TimeoutError`."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except Exception as error:  # noqa: BLE001 — passed to the caller, who raises it
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    while not deadline.passed:
        stop.check()
        if wait([future], _POLL_SECONDS).done:
            return future.result()
    raise TimeoutError


class Connector(httpcore.SyncBackend):
    """Network backend that connects to the given IP addresses only, whatever the host name.

    Prevents DNS rebinding: the name cannot resolve to another address between check and connection.
    """

    def __init__(self, addresses: list[str], stop: Stop, deadline: Deadline) -> None:
        self._addresses = addresses
        self._stop = stop
        self._deadline = deadline
        self._line: socket.socket | None = None

    def connect_tcp(
        self,
        host: str,  # noqa: ARG002 — resolved and checked before
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first address that answers. Raises `httpcore.ConnectError`, `Stopped`."""
        failure: Exception = httpcore.ConnectError("no address")
        for address in self._addresses:
            connect = partial(super().connect_tcp, address, port, timeout, local_address, socket_options)
            try:
                stream = wait_for(connect, self._stop, self._deadline)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
            else:
                self._line = stream.get_extra_info("socket").dup()
                return stream
        raise failure

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Cut the connection at the deadline or on cancellation while the block runs; pending reads then fail."""
        timer = threading.Timer(self._deadline.left, self._cut)
        timer.daemon = True
        timer.start()
        try:
            with self._stop.breaking(self._cut):
                yield
        finally:
            timer.cancel()
            timer.join()
            if self._line:
                self._line.close()

    def _cut(self) -> None:
        if self._line:
            with suppress(OSError):  # already closed
                self._line.shutdown(socket.SHUT_RDWR)
