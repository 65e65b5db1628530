"""Event log on disk, written in group commits by one thread."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import Connection, Table, insert, select

from crag.errors import HomeFault
from crag.events import ConsentAsked, Event, RunEnded, RunStarted, decode_event, encode_event
from crag.options import RunOptions
from crag.storage.engine import Database
from crag.storage.tables import events, runs
from crag.storage.user_scope import UserScoped

_log = logging.getLogger(__name__)
_POLL_SECONDS = 0.5
_UNFINISHED = ("running", "waiting")
# Each commit waits for the disk and competes with the run for the processor; `flush` does not wait for this.
_GROUP_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class PendingRow:
    """One row waiting to be written: `make` returns its other values in the writing thread, or raises `ValueError`."""

    table: Table
    run_id: str
    make: Callable[[], dict[str, Any]]


class GroupWriter:
    """Writer of rows in group commits, a short time after the first row of a group.

    Appending returns at once; `flush` has everything appended written now, and waits until it is on disk.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._pending: queue.SimpleQueue[PendingRow | threading.Event | None] = queue.SimpleQueue()
        self._hurry = threading.Event()
        self._thread = threading.Thread(target=self._write_groups, name="event-log", daemon=True)
        self._thread.start()

    def append(self, table: Table, run_id: str, make: Callable[[], dict[str, Any]]) -> None:
        """Queue one row for writing. It is dropped if its run no longer exists; an event also if its run has ended."""
        self._pending.put(PendingRow(table, run_id, make))

    def flush(self) -> None:
        """Wait until everything appended before is committed or was refused by the disk, or the writer is closed."""
        done = threading.Event()
        self._pending.put(done)
        self._hurry.set()
        while not done.wait(_POLL_SECONDS) and self._thread.is_alive():
            pass

    def close(self) -> None:
        """Write the pending rows and end the thread."""
        self._pending.put(None)
        self._hurry.set()
        self._thread.join()

    def _write_groups(self) -> None:
        open_ = True
        while open_:
            group = [self._pending.get()]
            self._hurry.wait(_GROUP_SECONDS)
            self._hurry.clear()
            while not self._pending.empty():
                group.append(self._pending.get())
            open_ = None not in group
            self._write([item for item in group if isinstance(item, PendingRow)])
            for item in group:
                if isinstance(item, threading.Event):
                    item.set()

    def _write(self, group: Iterable[PendingRow]) -> None:
        try:
            rows = [(item, row) for item in group if (row := _build_row(item))]
            if not rows:
                return
            with self._database.write() as connection:
                states = _read_states(connection, {item.run_id for item, _ in rows})
                unfinished = {run_id for run_id, state in states.items() if state in _UNFINISHED}
                for table in {item.table for item, _ in rows}:
                    there = unfinished if table is events else states  # another process may have recorded its end
                    kept = [row for item, row in rows if item.table is table and item.run_id in there]
                    if kept:
                        connection.execute(insert(table), kept)
        except HomeFault as fault:
            _log.error("Could not save the events of a run: %s", fault.message)
        except Exception:  # noqa: BLE001 — the writer must survive any single row: every run depends on it
            _log.exception("Could not save the events of a run")


def _read_states(connection: Connection, run_ids: set[str]) -> dict[str, str]:
    """Return the states of those of these runs that exist: a conversation may be deleted while it is being answered."""
    found = connection.execute(select(runs.c.id, runs.c.state).where(runs.c.id.in_(run_ids)))
    return {row.id: row.state for row in found}


def _build_row(item: PendingRow) -> dict[str, Any] | None:
    """Build the row to store; None, and logged, if it cannot be stored, so that it does not block the others."""
    try:
        return {"run_id": item.run_id, **item.make()}
    except ValueError:
        _log.exception("Could not save an event of a run")
        return None


NumberedEvent = tuple[int, Event]


class EventLog(UserScoped):
    """Events by run and number. Appending returns at once; `flush` waits until everything appended is on disk."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.writer = GroupWriter(database)

    def append(self, run_id: str, number: int, event: Event) -> None:
        """Queue one event for writing."""
        self.writer.append(events, run_id, partial(_encode_event, number, event))

    def flush(self) -> None:
        """Wait until everything appended before is committed or was refused by the disk, or the log is closed."""
        self.writer.flush()

    def read(self, run_id: str, after: int = 0) -> list[NumberedEvent]:
        """Return the events of a run numbered above `after`, in order."""
        query = (
            select(events.c.number, events.c.body)
            .where(events.c.run_id == run_id, events.c.number > after)
            .order_by(events.c.number)
        )
        with self._database.read() as connection:
            return [(row.number, decode_event(row.body)) for row in connection.execute(query)]

    def has_ended(self, run_id: str) -> bool:
        """Return whether the last event of a run is stored, or the run itself no longer exists."""
        return isinstance(self._last(run_id), RunEnded | None)

    def is_settled(self, run_id: str) -> bool:
        """Return whether a run has ended or waits for the user, so that no event comes before someone acts."""
        return isinstance(self._last(run_id), RunEnded | ConsentAsked | None)

    def _last(self, run_id: str) -> Event | RunStarted | None:
        """Return the last event of a run; None when the run does not exist."""
        last = select(events.c.body).where(events.c.run_id == run_id).order_by(events.c.number.desc()).limit(1)
        with self._database.read() as connection:
            body = connection.execute(last).scalar()
            if body is not None:
                return decode_event(body)
            known = connection.execute(select(runs.c.question).where(runs.c.id == run_id)).scalar()
        return None if known is None else RunStarted(known, RunOptions(), 0.0)

    def close(self) -> None:
        """Write the pending rows and end the thread."""
        self.writer.close()


def _encode_event(number: int, event: Event) -> dict[str, Any]:
    return {"number": number, "body": encode_event(event).decode()}
