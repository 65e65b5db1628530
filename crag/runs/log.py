"""Event log on disk, from which every run can be replayed."""

from __future__ import annotations

from functools import partial
from typing import Any

from sqlalchemy import select

from crag.database import Database
from crag.database.tables import events, runs
from crag.events import ConsentAsked, Event, RunEnded, RunStarted, decode, encode
from crag.options import RunOptions
from crag.runs.group_writer import GroupWriter

Numbered = tuple[int, Event]


class EventLog:
    """Events by run and number. Appending returns at once; `flush` waits until everything appended is on disk."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.writer = GroupWriter(database)

    def append(self, run_id: str, number: int, event: Event) -> None:
        """Queue one event for writing."""
        self.writer.append(events, run_id, partial(_body, number, event))

    def flush(self) -> None:
        """Wait until everything appended before is committed or was refused by the disk, or the log is closed."""
        self.writer.flush()

    def read(self, run_id: str, after: int = 0) -> list[Numbered]:
        """Return the events of a run numbered above `after`, in order."""
        query = (
            select(events.c.number, events.c.body)
            .where(events.c.run_id == run_id, events.c.number > after)
            .order_by(events.c.number)
        )
        with self._database.read() as connection:
            return [(row.number, decode(row.body)) for row in connection.execute(query)]

    def holds_end(self, run_id: str) -> bool:
        """Return whether the last event of a run is stored, or the run itself no longer exists."""
        return isinstance(self._last(run_id), RunEnded | None)

    def rests(self, run_id: str) -> bool:
        """Return whether a run has ended or waits for the user, so that no event comes before someone acts."""
        return isinstance(self._last(run_id), RunEnded | ConsentAsked | None)

    def _last(self, run_id: str) -> Event | RunStarted | None:
        """Return the last event of a run; None when the run does not exist."""
        last = select(events.c.body).where(events.c.run_id == run_id).order_by(events.c.number.desc()).limit(1)
        with self._database.read() as connection:
            body = connection.execute(last).scalar()
            if body is not None:
                return decode(body)
            known = connection.execute(select(runs.c.question).where(runs.c.id == run_id)).scalar()
        return None if known is None else RunStarted(known, RunOptions(), 0.0)

    def close(self) -> None:
        """Write what is pending and end the thread."""
        self.writer.close()


def _body(number: int, event: Event) -> dict[str, Any]:
    return {"number": number, "body": encode(event).decode()}
