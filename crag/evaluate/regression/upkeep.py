"""What evaluation looks after by itself while the application runs: a look at it every half minute."""

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
    """Calls each of `looks` in turn, in a thread of its own. Nothing happens before `begin`: commands never do."""

    def __init__(self, looks: Sequence[Callable[[], object]], seconds: float = _SECONDS) -> None:
        """`seconds` pass between two looks."""
        self._looks = looks
        self._seconds = seconds
        self._stop = Stop()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Looks from now on; asking again is harmless."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="upkeep", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Looks no longer."""
        self._stop.request()
        with self._lock:  # it may be beginning just now
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
                except Exception:  # noqa: BLE001 — the thread must live for the next look; the log has the fault
                    _log.exception("Evaluation could not be looked after")
