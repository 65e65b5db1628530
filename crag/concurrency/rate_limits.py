"""Limits on how often one user does something that costs the server or others much."""

from __future__ import annotations

import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping

from crag.errors import LimitReached
from crag.types import is_account

_SECONDS = 3600.0


class RateLimits:
    """How often each account may do what within an hour; others have the server to themselves. Thread-safe.

    `hourly` maps what is counted, in the plural, to the highest number.
    """

    def __init__(self, hourly: Mapping[str, int], clock: Callable[[], float] = time.monotonic) -> None:
        self._hourly = hourly
        self._clock = clock
        self._lock = threading.Lock()
        self._done: defaultdict[tuple[str, str], deque[float]] = defaultdict(deque)

    def take(self, what: str, user: str | None) -> None:
        """Count one more. Raises `LimitReached` beyond the limit, which says when there is room again."""
        if user is None or not is_account(user):
            return
        with self._lock:
            now, done = self._clock(), self._done[what, user]
            while done and now - done[0] >= _SECONDS:
                done.popleft()
            if len(done) >= self._hourly[what]:
                minutes = int((_SECONDS - now + done[0]) // 60) + 1
                raise LimitReached(
                    f"You have reached the limit of {self._hourly[what]:,} {what} an hour.",
                    f"Wait {minutes} minute{'s' if minutes > 1 else ''}, then try again.",
                    60 * minutes,
                )
            done.append(now)
