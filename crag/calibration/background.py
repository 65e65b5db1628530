"""One measurement at a time in the background: its progress, its end, and a way to stop it."""

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
    """The measurement that is under way in this process, or the last one. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stop = Stop()
        self._progress: Progress | None = None
        self._result: Calibration | None = None
        self._fault = ""

    @property
    def progress(self) -> Progress | None:
        """How far it is; None while nothing is measured."""
        return self._progress

    @property
    def result(self) -> Calibration | None:
        """What was measured last; None before, and while it is measured anew."""
        return self._result

    @property
    def fault(self) -> str:
        """Why the last one did not come to its end, in the user's words."""
        return self._fault

    def begin(self, measure: Measure) -> bool:
        """Starts to measure; False while another measurement is under way."""
        with self._lock:
            if self._progress is not None:
                return False
            self._stop, self._result, self._fault = Stop(), None, ""
            self._progress = Progress("Opening the grader")
            self._thread = threading.Thread(target=self._work, args=(measure, self._stop), name="calibration")
            self._thread.start()
        return True

    def cancel(self) -> None:
        """Asks it to stop; harmless when nothing is measured."""
        self._stop.request()

    def close(self) -> None:
        """Stops what is under way and waits for it."""
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
        except Exception:  # noqa: BLE001 — the last line of defence of a thread; logged, and shown as a fault
            _log.exception("A measurement failed in a way nobody foresaw")
            self._fault = "Something went wrong inside the application. Try again; the log has the details."
        finally:
            self._progress = None

    def _tell(self, progress: Progress) -> None:
        self._progress = progress
