"""The connection under a fetch: only to addresses that were judged, and cut off by a deadline or a stop."""

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
    """A moment after which work is no longer wanted, however lively it still is."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds until the deadline, never negative."""
        return max(0.0, self._end - time.monotonic())

    @property
    def passed(self) -> bool:
        """Whether it is too late."""
        return self.left == 0


def wait_for(work: Callable[[], T], stop: Stop, deadline: Deadline) -> T:
    """The result of blocking system calls that know neither stop nor deadline. Raises `Stopped`, `TimeoutError`."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except Exception as error:  # noqa: BLE001 — handed to the caller, who raises it
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    while not deadline.passed:
        stop.check()
        if wait([future], _POLL_SECONDS).done:
            return future.result()
    raise TimeoutError


class Connector(httpcore.SyncBackend):
    """Connects to the given addresses whatever the host is called, so that a name cannot lead elsewhere later."""

    def __init__(self, addresses: list[str], stop: Stop, deadline: Deadline) -> None:
        self._addresses = addresses
        self._stop = stop
        self._deadline = deadline
        self._line: socket.socket | None = None

    def connect_tcp(
        self,
        host: str,  # noqa: ARG002 — judged and resolved before
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        """A connection to the first address that answers. Raises `httpcore.ConnectError`, `Stopped`."""
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
        """While the block runs, deadline and stop cut the connection; what waits for the other side then fails."""
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
            with suppress(OSError):  # it is closed already
                self._line.shutdown(socket.SHUT_RDWR)
