"""The event log on disk: appended in groups by one thread, so that no run waits for the disk and none is lost."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Iterable
from typing import Any

from sqlalchemy import insert, select

from crag.database import Database
from crag.database.tables import events, runs
from crag.errors import HomeFault
from crag.events import ConsentAsked, Event, RunEnded, RunStarted, decode, encode
from crag.options import RunOptions

_log = logging.getLogger(__name__)
_POLL_SECONDS = 0.5
Numbered = tuple[int, Event]


class EventLog:
    """Events by run and number. Appending returns at once; `flush` waits until all that was appended is on disk."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._pending: queue.Queue[tuple[str, int, Event] | threading.Event | None] = queue.Queue()
        self._writer = threading.Thread(target=self._write_groups, name="event-log", daemon=True)
        self._writer.start()

    def append(self, run_id: str, number: int, event: Event) -> None:
        """Hands one event over to be written."""
        self._pending.put((run_id, number, event))

    def flush(self) -> None:
        """Returns when everything appended before is committed (or was refused by the disk), or the log is closed."""
        done = threading.Event()
        self._pending.put(done)
        while not done.wait(_POLL_SECONDS) and self._writer.is_alive():
            pass

    def read(self, run_id: str, after: int = 0) -> list[Numbered]:
        """The events of a run with numbers above `after`, in order."""
        query = (
            select(events.c.number, events.c.body)
            .where(events.c.run_id == run_id, events.c.number > after)
            .order_by(events.c.number)
        )
        with self._database.read() as connection:
            return [(row.number, decode(row.body)) for row in connection.execute(query)]

    def holds_end(self, run_id: str) -> bool:
        """Whether the last event of a run is there (or the run itself is not)."""
        return isinstance(self._last(run_id), RunEnded | None)

    def rests(self, run_id: str) -> bool:
        """Whether a run ended, or waits for a person, so that nothing more comes before somebody acts."""
        return isinstance(self._last(run_id), RunEnded | ConsentAsked | None)

    def _last(self, run_id: str) -> Event | RunStarted | None:
        """The last event of a run; None when the run is not there."""
        last = select(events.c.body).where(events.c.run_id == run_id).order_by(events.c.number.desc()).limit(1)
        with self._database.read() as connection:
            body = connection.execute(last).scalar()
            if body is not None:
                return decode(body)
            known = connection.execute(select(runs.c.question).where(runs.c.id == run_id)).scalar()
        return None if known is None else RunStarted(known, RunOptions(), 0.0)

    def close(self) -> None:
        """Writes what is pending and ends the thread."""
        self._pending.put(None)
        self._writer.join()

    def _write_groups(self) -> None:
        open_ = True
        while open_:
            group = [self._pending.get()]
            while not self._pending.empty():
                group.append(self._pending.get())
            open_ = None not in group
            self._write([item for item in group if isinstance(item, tuple)])
            for item in group:
                if isinstance(item, threading.Event):
                    item.set()

    def _write(self, group: Iterable[tuple[str, int, Event]]) -> None:
        try:
            rows = [row for item in group if (row := _row(*item))]
            if not rows:
                return
            with self._database.write() as connection:
                named = {row["run_id"] for row in rows}
                there = set(connection.execute(select(runs.c.id).where(runs.c.id.in_(named))).scalars())
                kept = [row for row in rows if row["run_id"] in there]  # a conversation may be deleted while it runs
                if kept:
                    connection.execute(insert(events), kept)
        except HomeFault as fault:
            _log.error("Events of a run could not be kept: %s", fault.message)
        except Exception:  # noqa: BLE001 — the writer must outlive whatever one event does: everybody waits for it
            _log.exception("Events of a run could not be kept")


def _row(run_id: str, number: int, event: Event) -> dict[str, Any] | None:
    """The event as it is kept; None, and logged, for one that cannot be, which must cost no other its place."""
    try:
        return {"run_id": run_id, "number": number, "body": encode(event).decode()}
    except ValueError:
        _log.exception("An event of a run cannot be kept")
        return None
