"""Request queue per model: as many parallel requests as its server handles, with runs taking turns."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from crag.stopping import Stop
from crag.waiting import Wait, telling


@dataclass(eq=False, slots=True)
class _Request:
    stop: Stop
    limit: int
    woken: threading.Event = field(default_factory=threading.Event)  # set when it is its turn or it was cancelled


class Admission:
    """Queue of the requests to one model. Thread-safe.

    Runs take turns; a request belongs to the run of its cancellation token. A run with many requests does not make
    others wait for all of them.
    """

    def __init__(self, model: str) -> None:
        self._model = model
        self._lock = threading.Lock()
        self._at_work: list[_Request] = []
        self._line: OrderedDict[Stop, deque[_Request]] = OrderedDict()

    @contextmanager
    def passing(self, stop: Stop, limit: int) -> Iterator[None]:
        """Enter the block once fewer than `limit` requests are active. Raises `Stopped` immediately if cancelled."""
        request = _Request(stop, limit)
        self._enter(request)
        try:
            if not request.woken.is_set():
                self._wait(request)
            yield
        finally:
            self._leave(request)

    def _enter(self, request: _Request) -> None:
        with self._lock:
            self._line.setdefault(request.stop, deque()).append(request)
            self._admit()

    def _wait(self, request: _Request) -> None:
        since = time.monotonic()
        with request.stop.breaking(request.woken.set), telling(request.stop, lambda: self._told(request, since)):
            request.woken.wait()
        request.stop.check()

    def _leave(self, request: _Request) -> None:
        with self._lock:
            if request in self._at_work:
                self._at_work.remove(request)
            elif waiting := self._line.get(request.stop):
                waiting.remove(request)
                if not waiting:
                    del self._line[request.stop]
            self._admit()

    def _admit(self) -> None:
        """Admit as many requests as allowed; a run with an admitted request moves behind the others."""
        while self._line:
            stop, waiting = next(iter(self._line.items()))
            if len(self._at_work) >= waiting[0].limit:
                return
            request = waiting.popleft()
            self._at_work.append(request)
            request.woken.set()
            if waiting:
                self._line.move_to_end(stop)
            else:
                del self._line[stop]

    def _told(self, request: _Request, since: float) -> Wait | None:
        """Return the position in the queue; None if the run waits only for itself, or once it is admitted."""
        with self._lock:
            runs = list(self._line)
            others = any(other.stop is not request.stop for other in self._at_work)
        if request.woken.is_set() or request.stop not in runs or (runs[0] is request.stop and not others):
            return None
        return Wait("queued", self._model, since, place=runs.index(request.stop) + 1)


def admission_to(model: str, server: str) -> Admission:
    """Return the queue for a model at a server, shared by the whole process."""
    with _lock:
        return _lines.setdefault((model, server), Admission(model))


_lock = threading.Lock()
_lines: dict[tuple[str, str], Admission] = {}
