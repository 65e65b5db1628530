"""The downloads of one home: started, followed, cancelled and gone on with, by whichever process."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable

from crag.database import Database
from crag.models.downloads.rows import DownloadRows
from crag.models.downloads.values import Download, Fetch
from crag.models.downloads.work import Work
from crag.processes import this_process

_HEARD_SECONDS = 0.5
_ENDED_SECONDS = 5.0
_LOOK_SECONDS = 0.05


class Downloads:
    """One download for each name. Safe to share between threads; every method raises `HomeFault`."""

    def __init__(self, database: Database, choose: Callable[[str], Fetch], on_done: Callable[[str], None]) -> None:
        """`choose` gives what fetches a name, or raises `BadRequest`; `on_done` hears of each that is there."""
        self._choose = choose
        self._on_done = on_done
        self._rows = DownloadRows(database, f"{this_process()}-{secrets.token_hex(4)}")
        self._lock = threading.Lock()
        self._work: dict[str, Work] = {}
        self._closed = False

    def start(self, name: str) -> None:
        """Begins it, or goes on with it; harmless while it runs. Raises `BadRequest` for an unknown name."""
        fetch = self._choose(name)
        self._let_end(name)
        with self._lock:
            if self._closed or not self._rows.claim(name):
                return
            begun = next(download for download in self._rows.all() if download.name == name)
            self._work[name] = Work(begun, fetch, self._rows, self._on_done)
            self._work[name].start()

    def cancel(self, name: str) -> None:
        """Stops it within half a second, in whichever process; what has come is kept to go on from."""
        work = self._work.get(name)
        if work is None or not work.is_running:
            self._rows.cancel(name)
            return
        work.stop.request()
        work.join(_HEARD_SECONDS)

    def all(self) -> list[Download]:
        """Every download that was not dismissed, by name."""
        return [self._now(download) for download in self._rows.all()]

    def get(self, name: str) -> Download | None:
        """The download of this name."""
        return next((download for download in self.all() if download.name == name), None)

    def dismiss(self, name: str) -> None:
        """Forgets one that is not running."""
        self._let_end(name)
        self._rows.dismiss(name)

    def wait(self, name: str, seconds: float) -> Download | None:
        """The download as it is when it ends, or after so many seconds."""
        end = time.monotonic() + seconds
        while (download := self.get(name)) and download.state == "running" and time.monotonic() < end:
            time.sleep(_LOOK_SECONDS)
        return download

    def close(self) -> None:
        """Stops what runs in this process; it can be gone on with."""
        with self._lock:
            self._closed = True
            work = list(self._work.values())
        for one in work:
            one.close()
        for one in work:
            one.join(_HEARD_SECONDS)

    def _let_end(self, name: str) -> None:
        """Waits until the end of one that is over, or was asked to stop, is written down."""
        work = self._work.get(name)
        if work is not None and work.now().state != "running":
            work.join(_ENDED_SECONDS)

    def _now(self, kept: Download) -> Download:
        work = self._work.get(kept.name)
        return work.now() if kept.state == "running" and work is not None and work.is_running else kept
