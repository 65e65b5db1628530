"""Delayed deletion: a deletion can be undone until it is purged."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from crag.errors import CragError

UNDO_SECONDS = 600.0

_log = logging.getLogger(__name__)


class Purging:
    """Calls `purge` some seconds after each `schedule`, until it is closed."""

    def __init__(self, purge: Callable[[], None], seconds: float = UNDO_SECONDS) -> None:
        self._purge = purge
        self._seconds = seconds
        self._lock = threading.Lock()
        self._timers: set[threading.Timer] = set()

    def schedule(self) -> None:
        """Schedule a purge. Call it after each deletion."""
        timer = threading.Timer(self._seconds, lambda: self._run(timer))
        timer.daemon = True
        with self._lock:
            self._timers.add(timer)
        timer.start()

    def close(self) -> None:
        """Cancel scheduled purges and wait for one in progress."""
        with self._lock:
            timers, self._timers = self._timers, set()
        for timer in timers:
            timer.cancel()
            timer.join()

    def _run(self, timer: threading.Timer) -> None:
        try:
            self._purge()
        except CragError as error:  # the next start purges again
            _log.warning("What was deleted could not be purged: %s", error.message)
        with self._lock:
            self._timers.discard(timer)
