"""Limits on how often one user does something that costs the server or others much."""

from __future__ import annotations

import math
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping

from crag.errors import BadRequest, LimitReached
from crag.translation import N_
from crag.types import is_account

_SECONDS = 3600.0
_LIMITS = {
    "questions": N_("The limit is {limit} questions an hour."),
    "additions": N_("The limit is {limit} added documents an hour."),
    "web searches": N_("The limit is {limit} web searches an hour."),
    "evaluations": N_("The limit is {limit} questions in evaluations an hour."),
}


class RateLimits:
    """How often each account may do what within an hour; others have the server to themselves. Thread-safe.

    `hourly` maps what is counted, a key of `_LIMITS`, to the highest number.
    """

    def __init__(self, hourly: Mapping[str, int], clock: Callable[[], float] = time.monotonic) -> None:
        self._hourly = hourly
        self._clock = clock
        self._lock = threading.Lock()
        self._done: defaultdict[tuple[str, str], deque[float]] = defaultdict(deque)

    def take(self, what: str, user: str | None, count: int = 1) -> None:
        """Count one more, or several at once.

        Raises `LimitReached`, which says when there is room again, and `BadRequest` for more than the whole limit.
        """
        if user is None or not is_account(user):
            return
        limit = self._hourly[what]
        message = _LIMITS[what].format(limit=f"{limit:,}")
        if count > limit:
            raise BadRequest(message, "Choose fewer questions, settings or repetitions.")
        with self._lock:
            now, done = self._clock(), self._done[what, user]
            while done and now - done[0] >= _SECONDS:
                done.popleft()
            if (excess := len(done) + count - limit) > 0:
                minutes = math.ceil((_SECONDS - now + done[excess - 1]) / 60)
                raise LimitReached(message, f"Try again in {minutes} min.", 60 * minutes)
            done.extend([now] * count)
