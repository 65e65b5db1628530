"""Queues of requests for a model or for the processor: bounded, fair between runs, with the expected wait."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import fmean

from crag.cancellation import Cancellation, Wait

_MEASURED_TURNS = 20  # the expected wait is computed from the latest ones
Limit = Callable[[], int]


@dataclass(eq=False, slots=True)
class _QueuedRequest:
    stop: Cancellation
    limit: Limit
    admitted_at: float = 0.0
    turn_or_stop: threading.Event = field(
        default_factory=threading.Event
    )  # set when it is its turn or it was cancelled


class RequestQueue:
    """Queue of the requests to one model, or of the runs that need the processor. Thread-safe.

    Runs take turns; a request belongs to the run of its cancellation token. A run with many requests does not make
    others wait for all of them.
    """

    def __init__(self, model: str) -> None:
        self._model = model
        self._lock = threading.Lock()
        self._active: list[_QueuedRequest] = []
        self._line: OrderedDict[Cancellation, deque[_QueuedRequest]] = OrderedDict()
        self._turns: deque[float] = deque(maxlen=_MEASURED_TURNS)  # how long they took, in seconds

    @contextmanager
    def take_turn(self, stop: Cancellation, limit: Limit) -> Iterator[None]:
        """Enter the block once fewer than `limit()` requests are active. Raises `Stopped` immediately if cancelled."""
        request = _QueuedRequest(stop, limit)
        with self._lock:
            self._line.setdefault(stop, deque()).append(request)
            self._admit()
        try:
            if not request.turn_or_stop.is_set():
                self._wait(request)
            yield
        finally:
            self._leave(request)

    def end_turns(self, stop: Cancellation) -> None:
        """End the turns of a run before it leaves their blocks. Repeated calls have no effect."""
        with self._lock:
            for request in [active for active in self._active if active.stop is stop]:
                self._end_turn(request)
            self._admit()

    def _wait(self, request: _QueuedRequest) -> None:
        since = time.monotonic()
        with (
            request.stop.on_cancel(request.turn_or_stop.set),
            request.stop.report_wait(lambda: self._queue_wait(request, since)),
        ):
            request.turn_or_stop.wait()
        request.stop.check()

    def _leave(self, request: _QueuedRequest) -> None:
        with self._lock:
            if request in self._active:
                self._end_turn(request)
            elif waiting := self._line.get(request.stop):
                waiting.remove(request)
                if not waiting:
                    del self._line[request.stop]
            self._admit()

    def _end_turn(self, request: _QueuedRequest) -> None:
        self._active.remove(request)
        self._turns.append(time.monotonic() - request.admitted_at)

    def _admit(self) -> None:
        """Admit as many requests as allowed; a run with an admitted request moves behind the others."""
        while self._line:
            stop, waiting = next(iter(self._line.items()))
            if len(self._active) >= waiting[0].limit():
                return
            request = waiting.popleft()
            self._active.append(request)
            request.admitted_at = time.monotonic()
            request.turn_or_stop.set()
            if waiting:
                self._line.move_to_end(stop)
            else:
                del self._line[stop]

    def _queue_wait(self, request: _QueuedRequest, since: float) -> Wait | None:
        """Return the position in the queue; None if the run waits only for itself, or once it is admitted."""
        with self._lock:
            runs = list(self._line)
            others = any(other.stop is not request.stop for other in self._active)
            seconds_per_turn = self._mean_turn()
        if request.stop not in runs or (runs[0] is request.stop and not others):
            return None
        place = runs.index(request.stop) + 1
        left = None if seconds_per_turn is None else place * seconds_per_turn / request.limit()
        return Wait("queued", self._model, since, place, seconds_left=left)

    def _mean_turn(self) -> float | None:
        """Return how many seconds a turn takes at present; None before the first one has ended."""
        if not self._turns:
            return None
        mean, now = fmean(self._turns), time.monotonic()
        slow = [taken for active in self._active if (taken := now - active.admitted_at) > mean]
        return fmean([*self._turns, *slow])


def request_queue(model: str, server: str) -> RequestQueue:
    """Return the queue for a model at a server, shared by the whole process."""
    with _queues_lock:
        return _queues.setdefault((model, server), RequestQueue(model))


_queues_lock = threading.Lock()
_queues: dict[tuple[str, str], RequestQueue] = {}
