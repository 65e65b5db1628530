"""Calibration in the background: one measurement at a time, with progress and cancellation."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from crag.calibration.values import Calibration
from crag.errors import CragError, Stopped
from crag.progress import Report
from crag.stopping import Stop
from crag.types import Progress

Measure = Callable[[Report, Stop], Calibration]

_log = logging.getLogger(__name__)


class Measuring:
    """The current measurement of this process, or the last one. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stop = Stop()
        self._progress: Progress | None = None
        self._result: Calibration | None = None
        self._fault = ""

    @property
    def progress(self) -> Progress | None:
        """Progress of the measurement; None if none is running."""
        return self._progress

    @property
    def result(self) -> Calibration | None:
        """Result of the last measurement; None before the first and while one is running."""
        return self._result

    @property
    def fault(self) -> str:
        """Why the last measurement did not complete, as shown to the user."""
        return self._fault

    def begin(self, measure: Measure) -> bool:
        """Start a measurement; return False if another is running."""
        with self._lock:
            if self._progress is not None:
                return False
            self._stop, self._result, self._fault = Stop(), None, ""
            self._progress = Progress("Opening the grader")
            self._thread = threading.Thread(target=self._work, args=(measure, self._stop), name="calibration")
            self._thread.start()
        return True

    def cancel(self) -> None:
        """Request a stop; does nothing if none is running."""
        self._stop.request()

    def close(self) -> None:
        """Stop the running measurement and wait for it."""
        self.cancel()
        if self._thread:
            self._thread.join()

    def _work(self, measure: Measure, stop: Stop) -> None:
        try:
            self._result = measure(self._tell, stop)
        except Stopped:
            self._fault = "Stopped by you. Nothing was kept."
        except CragError as error:
            self._fault = str(error)
        except Exception:  # noqa: BLE001 — nothing above this in the thread; logged and shown as a fault
            _log.exception("A measurement failed in a way nobody foresaw")
            self._fault = "Something went wrong inside the application. Try again; the log has the details."
        finally:
            self._progress = None

    def _tell(self, progress: Progress) -> None:
        self._progress = progress
