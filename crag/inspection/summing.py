"""Background summaries of runs that ended before summaries were stored."""

from __future__ import annotations

import logging
import threading
from typing import Any

from sqlalchemy import Select, and_, func, select

from crag.database import Database
from crag.database.tables import events, run_summaries, runs
from crag.errors import CragError
from crag.events import decode
from crag.runs import Trace
from crag.runs.summaries import keep_summary
from crag.stopping import Stop
from crag.types import Progress

_BATCH = 20
_PAUSE_SECONDS = 0.02  # between batches, so that others get the processor and the database
_STAGE = "Reading earlier runs"
_log = logging.getLogger(__name__)

# Joins a run with its summary. SQLite accepts any type in a column; a row with a wrong type counts as missing.
SUMMED = and_(run_summaries.c.run_id == runs.c.id, func.typeof(run_summaries.c.seconds) == "real")


class Summing:
    """One pass per process over the old runs of a home; runs that end later store their own summary."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._stop = Stop()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self.progress: Progress | None = None

    def begin(self) -> None:
        """Start the thread; calling it again is harmless."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="summaries", daemon=True)
                self._thread.start()

    def complete(self) -> None:
        """Start if necessary, and return when all runs are summarized."""
        self.begin()
        self._wait()

    def close(self) -> None:
        """Stop; the rest is done by a later process."""
        self._stop.request()
        self._wait()

    def _wait(self) -> None:
        with self._lock:  # wait until a thread that is just being created has started
            begun = self._thread
        if begun:
            begun.join()

    def _work(self) -> None:
        try:
            with self._database.read() as connection:
                missing = list(connection.execute(_missing()).scalars())
            for done in range(0, len(missing), _BATCH):
                self.progress = Progress(_STAGE, done, len(missing))
                self._sum_up(missing[done : done + _BATCH])
                if self._stop.wait(_PAUSE_SECONDS):
                    return
        except CragError as error:
            _log.error("Earlier runs could not be summed up: %s", error.message)
        finally:
            self.progress = None

    def _sum_up(self, run_ids: list[str]) -> None:
        """Summarize these runs. Traces are read before the write transaction; runs deleted meanwhile stay deleted."""
        traces = {run_id: self._trace(run_id) for run_id in run_ids}
        with self._database.write() as connection:
            there = connection.execute(_missing().where(runs.c.id.in_(traces))).scalars()
            for run_id in list(there):
                keep_summary(connection, run_id, traces[run_id], traces[run_id].seconds or 0.0)

    def _trace(self, run_id: str) -> Trace:
        """Return the trace of a run; an empty one if its events are unreadable, so that it is not retried forever."""
        query = select(events.c.body).where(events.c.run_id == run_id).order_by(events.c.number)
        with self._database.read() as connection:
            bodies = connection.execute(query).scalars().all()
        try:
            return Trace().apply_all(map(decode, bodies))
        except ValueError:
            _log.exception("The events of a run cannot be read")
            return Trace()


def _missing() -> Select[Any]:
    """Select finished runs without a summary, latest first, because those are viewed first."""
    summed = select(run_summaries.c.run_id).where(SUMMED)
    ended = runs.c.state.not_in(("running", "waiting"))
    return select(runs.c.id).where(ended, ~summed.exists()).order_by(runs.c.started_at.desc())
