"""Model downloads of one home: progress, cancellation and resumption across processes."""

from __future__ import annotations

import logging
import re
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from sqlalchemy import Connection, Row, delete, select, update

from crag.cancellation import Cancellation
from crag.concurrency.workers import BackgroundWorker
from crag.errors import BadRequest, CragError, HomeFault, Stopped
from crag.settings import Settings
from crag.storage.engine import Database, insert_into, is_owner_alive
from crag.storage.outbound_log import OutboundLog
from crag.storage.tables import downloads
from crag.types import Progress, ProgressCallback

_BY_NAME = select(downloads).order_by(downloads.c.name)  # built once, since pages run it often
DownloadState = Literal["running", "cancelled", "failed", "done"]

# Fetches what is missing and reports progress in bytes. Each request is recorded in the outbound log before it is sent.
# Raises `CragError`, and `Stopped` within half a second of cancellation, even while no data arrives. Resumes when
# called again.
FetchFunction = Callable[[ProgressCallback, Cancellation], None]


@dataclass(frozen=True, slots=True)
class Download:
    """State of a download. `name` is `ollama:NAME`, `evaluator:NAME` or `nomic`; `stage` is for display.

    Sizes are in bytes; `total` is 0 while unknown. `rate` is in bytes per second over the last seconds; `seconds_left`
    is None while unknown. `fault` says why it failed and what to do. A download interrupted by the end of its process
    is *cancelled*.
    """

    name: str
    state: DownloadState
    stage: str = ""
    done: int = 0
    total: int = 0
    rate: float = 0.0
    fault: str = ""

    @property
    def seconds_left(self) -> float | None:
        """Remaining time at the current rate."""
        if self.state != "running" or self.rate <= 0 or self.done >= self.total:
            return None
        return (self.total - self.done) / self.rate


NOT_FINISHED = "Not finished"


class DownloadRows:
    """Download rows of one home, on behalf of one owner. Every method raises `HomeFault`."""

    def __init__(self, database: Database, owner: str) -> None:
        self._database = database
        self._owner = owner

    def claim(self, name: str) -> bool:
        """Claim a new or unfinished download; return False if a living process is running it."""
        fresh = {"state": "running", "stage": "", "rate": 0.0, "fault": "", "owner": self._owner, "cancelled": 0}
        with self._database.write() as connection:
            row = connection.execute(select(downloads).where(downloads.c.name == name)).first()
            if row is not None and row.state == "running" and is_owner_alive(connection, row.owner):
                return False
            statement = insert_into(connection, downloads).values(name=name, **fresh)
            connection.execute(statement.on_conflict_do_update(index_elements=["name"], set_=fresh))
        return True

    def keep(self, download: Download) -> None:
        """Record the progress or end of the owner's download; an ended download is not changed."""
        kept = ("state", "stage", "done", "total", "rate", "fault")
        values = {column: getattr(download, column) for column in kept}
        own = update(downloads).where(downloads.c.name == download.name, downloads.c.owner == self._owner)
        with self._database.write() as connection:
            connection.execute(own.where(downloads.c.state == "running").values(values))

    def cancel(self, name: str) -> None:
        """Ask the owning process to stop."""
        with self._database.write() as connection:
            connection.execute(update(downloads).where(downloads.c.name == name).values(cancelled=1))

    def is_cancelled(self, name: str) -> bool:
        """Return whether the owner was asked to stop or lost the download."""
        mine = select(downloads.c.cancelled).where(downloads.c.name == name, downloads.c.owner == self._owner)
        with self._database.read() as connection:
            return connection.scalar(mine) != 0

    def dismiss(self, name: str) -> None:
        """Delete a download unless it is running."""
        if any(download.name == name and download.state != "running" for download in self.all()):
            with self._database.write() as connection:
                connection.execute(delete(downloads).where(downloads.c.name == name))

    def all(self) -> list[Download]:
        """List the downloads by name; those left by a dead process count as cancelled."""
        with self._database.read() as connection:
            return [_download_from_row(connection, row) for row in connection.execute(_BY_NAME).all()]


def _download_from_row(connection: Connection, row: Row[Any]) -> Download:
    if row.state == "running" and not is_owner_alive(connection, row.owner):
        return Download(row.name, "cancelled", NOT_FINISHED, row.done, row.total)
    return Download(row.name, row.state, row.stage, row.done, row.total, row.rate, row.fault)


_RATE_WINDOW_SECONDS = 5.0
_MIN_RATE_SECONDS = 0.25  # over a shorter time a rate is noise


class TransferRate:
    """Rate of a growing count. Not thread-safe: use it from one thread or under the owner's lock."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: deque[tuple[float, int]] = deque()  # the first entry is the start of the window

    def add_count(self, done: int) -> None:
        """Record the current count. A count already present at the start was not fetched now and is ignored."""
        if self._seen and not self._seen[-1][1]:
            self._seen.clear()
        self._seen.append((self._clock(), done))

    def rate(self) -> float:
        """Return the rate per second; 0 without enough data, and after seconds without growth."""
        now = self._clock()
        while len(self._seen) > 1 and self._seen[1][0] <= now - _RATE_WINDOW_SECONDS:
            self._seen.popleft()
        if not self._seen:
            return 0.0
        began, before = self._seen[0]
        took = min(now - began, max(_RATE_WINDOW_SECONDS, now - self._seen[-1][0]))
        return max(0, self._seen[-1][1] - before) / took if took >= _MIN_RATE_SECONDS else 0.0


_CANCEL_POLL_SECONDS = 0.25
_POLLS_PER_WRITE = 4
_RETRY_SECONDS = 1.0
_UNEXPECTED_FAULT = "Something went wrong in the app. Try again."


class DownloadTask:
    """Download task that runs until its end, a fault or cancellation."""

    def __init__(
        self, download: Download, fetch: FetchFunction, rows: DownloadRows, on_done: Callable[[str], None]
    ) -> None:
        self.stop = Cancellation()
        self._fetch = fetch
        self._rows = rows
        self._on_done = on_done
        self._lock = threading.Lock()
        self._now = download
        self._pace = TransferRate()
        self._polls = 0
        self._worker = BackgroundWorker(f"download-{download.name}", self._run)
        self._watcher = BackgroundWorker(
            f"download-watch-{download.name}", lambda _: self._watch(), _CANCEL_POLL_SECONDS
        )

    @property
    def is_running(self) -> bool:
        """Whether the download has not ended."""
        return self._worker.is_busy

    @property
    def is_stopping(self) -> bool:
        """Whether cancellation was requested."""
        return self.stop.wait(0)

    def start(self) -> None:
        """Start both threads."""
        self._worker.start()
        self._worker.wake()
        self._watcher.start()

    def close(self) -> None:
        """Stop without waiting for its end to be recorded; if it is not, it counts as unfinished later."""
        self.stop.cancel()
        self._worker.close(0)

    def join(self, seconds: float) -> None:
        """Wait until the download has ended and that is recorded, up to this many seconds."""
        self._worker.wait(seconds)

    def current(self) -> Download:
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
                self._pace.add_count(progress.done)
                self._now = replace(self._now, done=progress.done, total=progress.total)

    def _run(self, abandoned: Cancellation) -> None:
        ended = replace(self._outcome(), rate=0.0)
        with self._lock:
            self._now = ended
        while not self._is_written(ended) and not abandoned.wait(_RETRY_SECONDS):
            pass
        self._watcher.close(0)

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
            logging.getLogger(__name__).exception("Unexpected error in a download")
            return replace(self._now, state="failed", fault=_UNEXPECTED_FAULT)
        return replace(self._now, state="done", done=max(self._now.done, self._now.total))

    def _watch(self) -> None:
        """Notice a cancellation by another process, and record the progress now and then."""
        self._polls += 1
        with suppress(HomeFault):  # the disk may work again at the next poll
            if self._rows.is_cancelled(self._now.name):
                self.stop.cancel()
            elif self._polls % _POLLS_PER_WRITE == 0 and (now := self.current()).state == "running":
                self._rows.keep(now)


_STOP_SECONDS = 0.5
_END_WRITTEN_SECONDS = 5.0
_WAIT_POLL_SECONDS = 0.05


class Downloads:
    """Model downloads, one per name. Thread-safe; every method raises `HomeFault`."""

    def __init__(
        self, database: Database, choose: Callable[[str], FetchFunction], on_done: Callable[[str], None]
    ) -> None:
        """`choose` returns the fetch function for a name or raises `BadRequest`.

        `on_done` is called with the name of each finished download.
        """
        self._choose = choose
        self._on_done = on_done
        self._rows = DownloadRows(database, f"{database.owner_name()}-{secrets.token_hex(4)}")
        self._lock = threading.Lock()
        self._work: dict[str, DownloadTask] = {}
        self._closed = False

    def start(self, name: str) -> None:
        """Start or resume a download; do nothing while it runs. Raises `BadRequest` for an unknown name."""
        fetch = self._choose(name)
        self._await_end(name)
        with self._lock:
            if self._closed or not self._rows.claim(name):
                return
            download = next(download for download in self._rows.all() if download.name == name)
            self._work[name] = DownloadTask(download, fetch, self._rows, self._on_done)
            self._work[name].start()

    def cancel(self, name: str) -> None:
        """Stop a download within half a second, in any process; the received part is kept for resuming."""
        work = self._work.get(name)
        if work is None or not work.is_running:
            self._rows.cancel(name)
            return
        work.stop.cancel()
        work.join(_STOP_SECONDS)

    def all(self) -> list[Download]:
        """List the downloads that were not dismissed, by name."""
        return [self._now(download) for download in self._rows.all()]

    def get(self, name: str) -> Download | None:
        """Return the download of this name."""
        return next((download for download in self.all() if download.name == name), None)

    def dismiss(self, name: str) -> None:
        """Delete the record of a download that is not running."""
        self._await_end(name)
        self._rows.dismiss(name)

    def wait(self, name: str, seconds: float) -> Download | None:
        """Return the download once it has ended, or after this many seconds."""
        end = time.monotonic() + seconds
        while (download := self.get(name)) and download.state == "running" and time.monotonic() < end:
            time.sleep(_WAIT_POLL_SECONDS)
        return download

    def close(self) -> None:
        """Stop the downloads of this process; they can be resumed."""
        with self._lock:
            self._closed = True
            work = list(self._work.values())
        for one in work:
            one.close()
        for one in work:
            one.join(_STOP_SECONDS)

    def _await_end(self, name: str) -> None:
        """Wait until the end of a finished or cancelled download is recorded."""
        work = self._work.get(name)
        if work is not None and work.current().state != "running":
            work.join(_END_WRITTEN_SECONDS)

    def _now(self, kept: Download) -> Download:
        work = self._work.get(kept.name)
        return work.current() if kept.state == "running" and work is not None and work.is_running else kept


_MODEL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,199}")


def choose_fetch(settings: Settings, outbound_log: OutboundLog, name: str) -> FetchFunction:
    """Return the fetch function for `nomic`, `evaluator:NAME` or `ollama:NAME`.

    Raises `BadRequest` for any other name.
    """
    from crag.models.evaluator_weights import DOWNLOAD_PREFIX, KNOWN_EVALUATORS, fetch_evaluator, name_choices
    from crag.models.nomic_weights import NOMIC, fetch_nomic
    from crag.models.ollama_pull import pull_model

    provider, _, model = name.partition(":")
    if name == NOMIC:
        return partial(fetch_nomic, settings, outbound_log)
    if name.startswith(DOWNLOAD_PREFIX) and model in KNOWN_EVALUATORS:
        return partial(fetch_evaluator, model, settings, outbound_log)
    if provider == "ollama" and _MODEL_NAME.fullmatch(model):
        return partial(pull_model, model, settings, outbound_log)
    raise BadRequest(f"“{name[:60]}” cannot be downloaded.", f"Write nomic, {name_choices()}, or ollama:NAME.")
