"""Background work on embedding spaces."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from crag.errors import CragError, Stopped
from crag.library.spaces.switching import Spaces
from crag.progress import Report
from crag.stopping import Stop
from crag.types import Progress

Work = Callable[[Report, Stop], object]
_CLOSING_SECONDS = 5.0
_log = logging.getLogger(__name__)


class SpaceWork:
    """Background thread for work on spaces: one task at a time, observable and cancellable from any screen.

    Does nothing before `begin`, so that one-shot commands never switch.
    """

    def __init__(self, spaces: Spaces) -> None:
        self._spaces = spaces
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._next: Work | None = None
        self._stop = Stop()
        self._begun = self._closed = False
        self.progress: Progress | None = None
        self.fault = ""

    def begin(self) -> None:
        """Apply the wanted choice now and after every later change."""
        self._begun = True
        self.wake()

    def wake(self) -> None:
        """Schedule a check because the available embedders have changed."""
        if self._begun:
            self._submit(self._spaces.keep_up, at_once=False)

    def choose(self, name: str) -> None:
        """Switch to this embedder in the background; an empty name returns the choice to the settings."""
        self._spaces.choose(name)
        self._submit(self._spaces.keep_up, at_once=True)

    def cancel(self) -> None:
        """Stay with the active space permanently; vectors computed so far are kept until the space is dropped."""
        space = self._spaces.answering.active().space
        self.choose(space.name if space else "")

    def go_back(self) -> None:
        """Switch to the previous space in the background."""
        self._submit(self._spaces.go_back, at_once=True)

    def wait(self, seconds: float) -> bool:
        """Wait up to this many seconds; return whether all work is done."""
        thread = self._thread
        if thread is not None:
            thread.join(seconds)
        return thread is None or not thread.is_alive()

    def close(self) -> None:
        """Cancel the running task; the next start resumes it."""
        with self._lock:
            self._closed, self._next = True, None
        self._stop.request()
        self.wait(_CLOSING_SECONDS)

    def _submit(self, work: Work, *, at_once: bool) -> None:
        """Schedule a task in place of the pending one; `at_once` also cancels the running task."""
        with self._lock:
            if self._closed:
                return
            self._next = work
            self.progress = self.progress or Progress("Starting")  # set now, so that the next screen refresh shows it
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="spaces", daemon=True)
                self._thread.start()
            elif at_once:
                self._stop.request()

    def _serve(self) -> None:
        while True:
            with self._lock:
                work, self._next = self._next, None
                if work is None:
                    self._thread = self.progress = None
                    return
                self._stop = Stop()
            self._run(work)

    def _run(self, work: Work) -> None:
        self.fault = ""
        try:
            work(self._report, self._stop)
        except Stopped:
            pass
        except CragError as error:
            self.fault = str(error)
        except Exception:  # noqa: BLE001 — the thread must survive for the next task; the error is logged
            _log.exception("The spaces could not be looked after")
            self.fault = "Something unexpected went wrong, and the space was not switched."

    def _report(self, progress: Progress) -> None:
        self.progress = progress
