"""Periodic background tasks of evaluation while the application runs."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from crag.errors import CragError
from crag.stopping import Stop

_SECONDS = 30.0
_CLOSING_SECONDS = 5.0
_log = logging.getLogger(__name__)


class Upkeep:
    """Runs its tasks in turn in one thread. It starts only with `begin`, which commands never call."""

    def __init__(self, looks: Sequence[Callable[[], object]], seconds: float = _SECONDS) -> None:
        """Take the interval between two rounds in `seconds`."""
        self._looks = looks
        self._seconds = seconds
        self._stop = Stop()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Start the thread; does nothing if it is running."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="upkeep", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Stop the thread."""
        self._stop.request()
        with self._lock:  # `begin` may be running
            thread = self._thread
        if thread:
            thread.join(_CLOSING_SECONDS)

    def _watch(self) -> None:
        while not self._stop.wait(self._seconds):
            for look in self._looks:
                try:
                    look()
                except CragError as error:
                    _log.warning("%s", error)
                except Exception:  # noqa: BLE001 — the thread must survive for the next round; the log has the fault
                    _log.exception("Evaluation could not be looked after")
