"""Transfer rate over the last seconds, so that the figure is neither jumpy nor stale."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

_WINDOW_SECONDS = 5.0
_LEAST_SECONDS = 0.25  # over a shorter time a rate is noise


class Pace:
    """Rate of a growing count. Not thread-safe: use it from one thread or under the owner's lock."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: deque[tuple[float, int]] = deque()  # the first entry is the start of the window

    def note(self, done: int) -> None:
        """Record the current count. A count already present at the start was not fetched now and is ignored."""
        if self._seen and not self._seen[-1][1]:
            self._seen.clear()
        self._seen.append((self._clock(), done))

    def rate(self) -> float:
        """Return the rate per second; 0 without enough data, and after seconds without growth."""
        now = self._clock()
        while len(self._seen) > 1 and self._seen[1][0] <= now - _WINDOW_SECONDS:
            self._seen.popleft()
        if not self._seen:
            return 0.0
        began, before = self._seen[0]
        took = min(now - began, max(_WINDOW_SECONDS, now - self._seen[-1][0]))
        return max(0, self._seen[-1][1] - before) / took if took >= _LEAST_SECONDS else 0.0
