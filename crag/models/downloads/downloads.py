"""Downloads of one home: start, follow, cancel and resume, from any process."""

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
    """Model downloads, one per name. Thread-safe; every method raises `HomeFault`."""

    def __init__(self, database: Database, choose: Callable[[str], Fetch], on_done: Callable[[str], None]) -> None:
        """`choose` returns the fetch function for a name or raises `BadRequest`.

        `on_done` is called with the name of each finished download.
        """
        self._choose = choose
        self._on_done = on_done
        self._rows = DownloadRows(database, f"{this_process()}-{secrets.token_hex(4)}")
        self._lock = threading.Lock()
        self._work: dict[str, Work] = {}
        self._closed = False

    def start(self, name: str) -> None:
        """Start or resume a download; do nothing while it runs. Raises `BadRequest` for an unknown name."""
        fetch = self._choose(name)
        self._let_end(name)
        with self._lock:
            if self._closed or not self._rows.claim(name):
                return
            begun = next(download for download in self._rows.all() if download.name == name)
            self._work[name] = Work(begun, fetch, self._rows, self._on_done)
            self._work[name].start()

    def cancel(self, name: str) -> None:
        """Stop a download within half a second, in any process; the received part is kept for resuming."""
        work = self._work.get(name)
        if work is None or not work.is_running:
            self._rows.cancel(name)
            return
        work.stop.request()
        work.join(_HEARD_SECONDS)

    def all(self) -> list[Download]:
        """List the downloads that were not dismissed, by name."""
        return [self._now(download) for download in self._rows.all()]

    def get(self, name: str) -> Download | None:
        """Return the download of this name."""
        return next((download for download in self.all() if download.name == name), None)

    def dismiss(self, name: str) -> None:
        """Delete the record of a download that is not running."""
        self._let_end(name)
        self._rows.dismiss(name)

    def wait(self, name: str, seconds: float) -> Download | None:
        """Return the download once it has ended, or after this many seconds."""
        end = time.monotonic() + seconds
        while (download := self.get(name)) and download.state == "running" and time.monotonic() < end:
            time.sleep(_LOOK_SECONDS)
        return download

    def close(self) -> None:
        """Stop the downloads of this process; they can be resumed."""
        with self._lock:
            self._closed = True
            work = list(self._work.values())
        for one in work:
            one.close()
        for one in work:
            one.join(_HEARD_SECONDS)

    def _let_end(self, name: str) -> None:
        """Wait until the end of a finished or cancelled download is recorded."""
        work = self._work.get(name)
        if work is not None and work.now().state != "running":
            work.join(_ENDED_SECONDS)

    def _now(self, kept: Download) -> Download:
        work = self._work.get(kept.name)
        return work.now() if kept.state == "running" and work is not None and work.is_running else kept
