"""How fast something grows: over its last seconds, so that the figure is neither nervous nor old."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

_WINDOW_SECONDS = 5.0
_LEAST_SECONDS = 0.25  # over less than this a rate is chance


class Pace:
    """The rate of a growing count. Used by one thread, or under its owner's lock."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: deque[tuple[float, int]] = deque()  # the first is where the window begins

    def note(self, done: int) -> None:
        """The count is `done` now. What is there at once, from an earlier time, was not fetched now."""
        if self._seen and not self._seen[-1][1]:
            self._seen.clear()
        self._seen.append((self._clock(), done))

    def rate(self) -> float:
        """A second; 0 while too little was seen, and after seconds without growth."""
        now = self._clock()
        while len(self._seen) > 1 and self._seen[1][0] <= now - _WINDOW_SECONDS:
            self._seen.popleft()
        if not self._seen:
            return 0.0
        began, before = self._seen[0]
        took = min(now - began, max(_WINDOW_SECONDS, now - self._seen[-1][0]))
        return max(0, self._seen[-1][1] - before) / took if took >= _LEAST_SECONDS else 0.0
