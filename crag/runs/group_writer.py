"""Group commits: one thread writes the rows of all runs, so that no run waits for the disk and no row is lost."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Table, insert, select

from crag.database import Database
from crag.database.tables import runs
from crag.errors import HomeFault

_log = logging.getLogger(__name__)
_POLL_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Handed:
    """One row waiting to be written: `make` returns its other values in the writing thread, or raises `ValueError`."""

    table: Table
    run_id: str
    make: Callable[[], dict[str, Any]]


class GroupWriter:
    """Writer of rows in group commits. Appending returns at once; `flush` waits until all appended rows are on disk."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._pending: queue.Queue[Handed | threading.Event | None] = queue.Queue()
        self._thread = threading.Thread(target=self._write_groups, name="event-log", daemon=True)
        self._thread.start()

    def append(self, table: Table, run_id: str, make: Callable[[], dict[str, Any]]) -> None:
        """Queue one row for writing; it is dropped if its run no longer exists by then."""
        self._pending.put(Handed(table, run_id, make))

    def flush(self) -> None:
        """Wait until everything appended before is committed or was refused by the disk, or the writer is closed."""
        done = threading.Event()
        self._pending.put(done)
        while not done.wait(_POLL_SECONDS) and self._thread.is_alive():
            pass

    def close(self) -> None:
        """Write what is pending and end the thread."""
        self._pending.put(None)
        self._thread.join()

    def _write_groups(self) -> None:
        open_ = True
        while open_:
            group = [self._pending.get()]
            while not self._pending.empty():
                group.append(self._pending.get())
            open_ = None not in group
            self._write([item for item in group if isinstance(item, Handed)])
            for item in group:
                if isinstance(item, threading.Event):
                    item.set()

    def _write(self, group: Iterable[Handed]) -> None:
        try:
            rows = [(item, row) for item in group if (row := _row(item))]
            if not rows:
                return
            with self._database.write() as connection:
                there = _there(connection, {item.run_id for item, _ in rows})
                for table in {item.table for item, _ in rows}:
                    kept = [row for item, row in rows if item.table is table and item.run_id in there]
                    if kept:
                        connection.execute(insert(table), kept)
        except HomeFault as fault:
            _log.error("What a run did could not be kept: %s", fault.message)
        except Exception:  # noqa: BLE001 — the writer must survive any single row: every run depends on it
            _log.exception("What a run did could not be kept")


def _there(connection: Connection, named: set[str]) -> set[str]:
    """Return those of these runs that still exist: a conversation may be deleted while it is being answered."""
    return set(connection.execute(select(runs.c.id).where(runs.c.id.in_(named))).scalars())


def _row(item: Handed) -> dict[str, Any] | None:
    """Build the row to store; None, and logged, if it cannot be stored, so that it does not block the others."""
    try:
        return {"run_id": item.run_id, **item.make()}
    except ValueError:
        _log.exception("A row of a run cannot be kept")
        return None
