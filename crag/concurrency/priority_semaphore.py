"""A semaphore with priorities, for threads that would otherwise all compute at once and all finish late."""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count


@dataclass(order=True, slots=True)
class _Request:
    priority: int
    number: int
    granted: threading.Event = field(default_factory=threading.Event, compare=False)


class PrioritySemaphore:
    """Semaphore that the most urgent waiting thread gets next, or the first of equally urgent ones. Thread-safe."""

    def __init__(self, permits: int) -> None:
        """Let `permits` threads hold the semaphore at once."""
        self._lock = threading.Lock()
        self._free = permits
        self._waiting: list[_Request] = []
        self._released_at = time.monotonic()
        self._numbers = count()
        self._held = threading.local()

    @contextmanager
    def hold(self, priority: int, timeout: float) -> Iterator[None]:
        """Hold the semaphore during the block; 0 is the most urgent.

        A waiting thread goes on without it when no thread has released it for `timeout` seconds.
        """
        self._held.by = (priority, timeout) if self._acquire(priority, timeout) else None
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

    def give_way(self, priority: int) -> None:
        """Let other threads go first, and hold the semaphore with this lower priority from then on."""
        held_by = getattr(self._held, "by", None)
        if held_by is None or held_by[0] >= priority:
            return
        with self._lock:
            is_alone = not self._waiting
        timeout = held_by[1]
        if not is_alone:
            self._release()
        self._held.by = (priority, timeout) if is_alone or self._acquire(priority, timeout) else None

    @property
    def is_contended(self) -> bool:
        """Whether threads wait for the semaphore."""
        return bool(self._waiting)

    def _acquire(self, priority: int, timeout: float) -> bool:
        """Return whether the semaphore was acquired in time."""
        with self._lock:
            if self._free:
                self._free -= 1
                return True
            request = _Request(priority, next(self._numbers))
            heapq.heappush(self._waiting, request)
        while not request.granted.wait(timeout):
            with self._lock:
                if not request.granted.is_set() and time.monotonic() - self._released_at >= timeout:
                    self._waiting.remove(request)
                    heapq.heapify(self._waiting)
                    return False
        return True

    def _release(self) -> None:
        with self._lock:
            self._released_at = time.monotonic()
            if self._waiting:
                heapq.heappop(self._waiting).granted.set()
            else:
                self._free += 1
