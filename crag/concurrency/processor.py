"""The processor, which everything in this process shares: what is on screen comes first, then runs, one by one."""

from __future__ import annotations

import heapq
import os
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

from crag.cancellation import Wait
from crag.concurrency.request_queue import RequestQueue, request_queue

_TELL_SECONDS = 2.0
_MEASURED_TURNS = 20  # the expected wait is computed from the latest ones


@dataclass(order=True, slots=True)
class _Request:
    priority: int
    number: int
    owner: object = field(compare=False)
    granted: threading.Event = field(default_factory=threading.Event, compare=False)


class PrioritySemaphore:
    """Semaphore that the most urgent waiting thread gets next, or the first of equally urgent ones. Thread-safe."""

    def __init__(self, permits: int) -> None:
        """Let `permits` threads hold the semaphore at once."""
        self._lock = threading.Lock()
        self._free = permits
        self._waiting: list[_Request] = []
        self._released_at = time.monotonic()
        self._granted_at: dict[int, deque[float]] = defaultdict(lambda: deque(maxlen=_MEASURED_TURNS))  # by priority
        self._numbers = count()
        self._held = threading.local()

    @contextmanager
    def hold(self, priority: int, timeout: float, owner: object = None) -> Iterator[None]:
        """Hold the semaphore during the block; 0 is the most urgent.

        A waiting thread goes on without it when no thread has released it for `timeout` seconds. `owner` is for
        `promote`.
        """
        held_by = (priority, timeout, owner)
        self._held.by = held_by if self._acquire(*held_by) else None
        try:
            yield
        finally:
            if self._held.by is not None:
                self._release()
            self._held.by = None

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Release the semaphore during the block, in which this thread waits for something, and acquire it again."""
        held_by = getattr(self._held, "by", None)
        if held_by is None:
            yield
            return
        self._release()
        self._held.by = None
        try:
            yield
        finally:
            if self._acquire(*held_by):
                self._held.by = held_by

    def give_way(self, priority: int, tell: Callable[[Wait], object] = lambda _: None) -> None:
        """Let other threads go first, and hold the semaphore with this lower priority from then on.

        Meanwhile `tell` is called in this thread, at once and then every few seconds. What it raises ends the wait.
        """
        held_by = getattr(self._held, "by", None)
        if held_by is None or held_by[0] >= priority:
            return
        with self._lock:
            is_alone = not self._waiting
        _, timeout, owner = held_by
        if not is_alone:
            self._release()
            self._held.by = None
        if is_alone or self._acquire(priority, timeout, owner, tell):
            self._held.by = (priority, timeout, owner)

    def promote(self, owner: object, priority: int) -> None:
        """Give a waiting thread of this owner a higher priority, because something more urgent waits for it."""
        with self._lock:
            for request in self._waiting:
                if request.owner is owner:
                    request.priority = min(request.priority, priority)
            heapq.heapify(self._waiting)

    @property
    def is_contended(self) -> bool:
        """Whether threads wait for the semaphore."""
        return bool(self._waiting)

    def _acquire(
        self, priority: int, timeout: float, owner: object, tell: Callable[[Wait], object] | None = None
    ) -> bool:
        """Return whether the semaphore was acquired in time."""
        with self._lock:
            if self._free:
                self._free -= 1
                return True
            request = _Request(priority, next(self._numbers), owner)
            heapq.heappush(self._waiting, request)
        try:
            return self._wait(request, timeout, tell)
        except BaseException:
            if not self._withdraw(request):
                self._release()
            raise

    def _wait(self, request: _Request, timeout: float, tell: Callable[[Wait], object] | None) -> bool:
        since, pause = time.monotonic(), timeout
        while True:
            if tell:
                wait = self._describe(request, since)
                tell(wait)
                pause = min(timeout, max(_TELL_SECONDS, (wait.seconds_left or 0.0) / 4))
            if request.granted.wait(pause):
                return True
            if time.monotonic() - self._released_at >= timeout:
                return not self._withdraw(request)

    def _withdraw(self, request: _Request) -> bool:
        """Return whether the request was still waiting."""
        with self._lock:
            if request.granted.is_set():
                return False
            self._waiting.remove(request)
            heapq.heapify(self._waiting)
            return True

    def _describe(self, request: _Request, since: float) -> Wait:
        """Return the place of a request, and the seconds it will take at the rate at which its equals advance."""
        with self._lock:
            place = 1 + sum(other < request for other in self._waiting)
            granted = self._granted_at[request.priority]
            seconds = (granted[-1] - granted[0]) / (len(granted) - 1) if len(granted) > 1 else None
        return Wait("queued", "", since, place, seconds_left=None if seconds is None else place * seconds)

    def _release(self) -> None:
        with self._lock:
            self._released_at = time.monotonic()
            if not self._waiting:
                self._free += 1
                return
            request = heapq.heappop(self._waiting)
            self._granted_at[request.priority].append(self._released_at)
            if not self._waiting:  # the next ones wait in another situation
                self._granted_at.clear()
            request.granted.set()


_CORES = os.cpu_count() or 1
drawing_turns = PrioritySemaphore(permits=_CORES)  # held by the sessions that draw


def run_queue() -> RequestQueue:
    """Return the queue of runs; a run has its turn until it begins to wait for a model or the web."""
    return request_queue("processor", "")


def max_computing_runs() -> int:
    """Return how many runs may have their turn at once: more would only make all of them, and drawing, slower."""
    return 1 if drawing_turns.is_contended else _CORES
