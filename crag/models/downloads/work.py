"""One running download: a thread that fetches, and one that records progress and watches for cancellation."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from crag.errors import CragError, HomeFault, Stopped
from crag.models.downloads.pace import Pace
from crag.models.downloads.rows import NOT_FINISHED, DownloadRows
from crag.models.downloads.values import Download, Fetch
from crag.stopping import Stop
from crag.types import Progress

_LOOK_SECONDS = 0.25
_LOOKS_PER_WRITE = 4
_AGAIN_SECONDS = 1.0
_UNFORESEEN = "Something went wrong inside the application. Try again."


class Work:
    """Download task that runs until its end, a fault or cancellation."""

    def __init__(self, begun: Download, fetch: Fetch, rows: DownloadRows, on_done: Callable[[str], None]) -> None:
        self.stop = Stop()
        self._fetch = fetch
        self._rows = rows
        self._on_done = on_done
        self._lock = threading.Lock()
        self._now = begun
        self._pace = Pace()
        self._ended = threading.Event()
        self._given_up = threading.Event()  # set on close: its end need not be recorded
        self._running = threading.Thread(target=self._run, name=f"download-{begun.name}", daemon=True)
        self._kept = threading.Thread(target=self._keep, name=f"download-kept-{begun.name}", daemon=True)

    @property
    def is_running(self) -> bool:
        """Whether the download has not ended."""
        return not self._ended.is_set()

    @property
    def is_stopping(self) -> bool:
        """Whether cancellation was requested."""
        return self.stop.wait(0)

    def start(self) -> None:
        """Start both threads."""
        self._running.start()
        self._kept.start()

    def close(self) -> None:
        """Stop without waiting for its end to be recorded; if it is not, it counts as unfinished later."""
        self._given_up.set()
        self.stop.request()

    def join(self, seconds: float) -> None:
        """Wait until the download has ended and that is recorded, up to this many seconds."""
        self._running.join(seconds)

    def now(self) -> Download:
        """Return the current state; cancelled as soon as cancellation was requested, recorded or not."""
        with self._lock:
            if self._now.state != "running":
                return self._now
            if self.is_stopping:
                return replace(self._now, state="cancelled", stage=NOT_FINISHED)
            return replace(self._now, rate=self._pace.rate())

    def _report(self, progress: Progress) -> None:
        with self._lock:
            self._now = replace(self._now, stage=progress.stage)
            if progress.total:  # until then keep the figures of the last attempt
                self._pace.note(progress.done)
                self._now = replace(self._now, done=progress.done, total=progress.total)

    def _run(self) -> None:
        ended = replace(self._outcome(), rate=0.0)
        with self._lock:
            self._now = ended
        while not self._is_written(ended) and not self._given_up.wait(_AGAIN_SECONDS):
            pass
        self._ended.set()

    def _is_written(self, ended: Download) -> bool:
        """Record the end and return whether it succeeded; the download itself may have filled the disk."""
        try:
            self._rows.keep(ended)
        except HomeFault:
            return False
        return True

    def _outcome(self) -> Download:
        try:
            self._fetch(self._report, self.stop)
            self._on_done(self._now.name)
        except Stopped:
            return replace(self._now, state="cancelled", stage=NOT_FINISHED)
        except CragError as error:
            return replace(self._now, state="failed", fault=str(error))
        except Exception:
            logging.getLogger(__name__).exception("A download failed in a way nobody foresaw")
            return replace(self._now, state="failed", fault=_UNFORESEEN)
        return replace(self._now, state="done", done=max(self._now.done, self._now.total))

    def _keep(self) -> None:
        looks = 0
        while not self._ended.wait(_LOOK_SECONDS):
            looks += 1
            with suppress(HomeFault):  # the disk may work again at the next poll
                if self._rows.is_cancelled(self._now.name):
                    self.stop.request()
                elif looks % _LOOKS_PER_WRITE == 0 and (now := self.now()).state == "running":
                    self._rows.keep(now)
