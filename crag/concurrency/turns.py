"""Turns at the processor, for threads that would otherwise all compute at once and all end late."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count


@dataclass(order=True, slots=True)
class _Request:
    urgency: int
    number: int
    granted: threading.Event = field(default_factory=threading.Event, compare=False)


class Turns:
    """A few threads compute at a time: the most urgent first, then the first to come. Thread-safe."""

    def __init__(self, places: int) -> None:
        """Let `places` threads compute at once."""
        self._lock = threading.Lock()
        self._free = places
        self._line: list[_Request] = []
        self._numbers = count()
        self._held = threading.local()

    @contextmanager
    def take(self, urgency: int, patience: float) -> Iterator[None]:
        """Wait for a turn, but `patience` seconds at most, and keep it during the block; 0 is the greatest urgency."""
        has_place = self._enter(urgency, patience)
        self._held.turn = (urgency, patience) if has_place else None
        try:
            yield
        finally:
            if self._held.turn is not None:
                self._leave()
            self._held.turn = None

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Let another thread compute during the block, which waits for something."""
        turn = getattr(self._held, "turn", None)
        if turn is None:
            yield
            return
        self._leave()
        self._held.turn = None
        try:
            yield
        finally:
            if self._enter(*turn):
                self._held.turn = turn

    def _enter(self, urgency: int, patience: float) -> bool:
        """Return whether a place was free in time."""
        with self._lock:
            if self._free:
                self._free -= 1
                return True
            request = _Request(urgency, next(self._numbers))
            heapq.heappush(self._line, request)
        if request.granted.wait(patience):
            return True
        with self._lock:
            if request.granted.is_set():
                return True
            self._line.remove(request)
            heapq.heapify(self._line)
            return False

    def _leave(self) -> None:
        with self._lock:
            if self._line:
                heapq.heappop(self._line).granted.set()
            else:
                self._free += 1
