"""Versions of an answer: each is a run of its own, one of them is shown. Also the rulings of users on passages."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, delete, insert, or_, select, update

from crag.conversations.conversations import refuse_deleted, refuse_while_answering
from crag.database import Database
from crag.database.tables import messages, rulings, runs
from crag.errors import NotFound
from crag.runs.records import insert_run
from crag.runs.trace import Trace
from crag.types import Ruling, Version

FIRST = "first answer"
Ruled = Sequence[dict[str, Any]]  # rows of the table `rulings`


def ruled(run_id: str, trace: Trace, given: Mapping[int, Ruling]) -> Ruled:
    """Build the rows for rulings on passages of a run, with what another grader needs to judge them again."""
    return [_ruling(run_id, trace, passage_id, ruling) for passage_id, ruling in given.items()]


class VersionRecords:
    """Rows of versions and rulings, written in short transactions."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def question(self, run_id: str) -> int | None:
        """Return the message that a run answers; None for a run without a conversation. Raises `NotFound`."""
        with self._database.read() as connection:
            of_answer = messages.c.run_id.in_(_family(_run(connection, run_id)))
            return connection.execute(select(messages.c.parent_id).where(of_answer)).scalar()

    def open(self, run_id: str, parent: str, change: str, labels: Ruled = ()) -> None:
        """Store and show a new version of the answer that `parent` belongs to, together with its rulings.

        All or nothing. Raises `BadRequest`, `NotFound`.
        """
        with self._database.write() as connection:
            run = _run(connection, parent)
            if run.conversation_id:
                refuse_deleted(connection, run.conversation_id)
                refuse_while_answering(connection, run.conversation_id)
            insert_run(
                connection,
                id=run_id,
                conversation_id=run.conversation_id,
                evaluation_id=run.evaluation_id,
                question=run.question,
                version_of=_root(run),
                change=change,
            )
            _show(connection, run, run_id, "")
            if labels:
                again = rulings.c.passage_id.in_([row["passage_id"] for row in labels])
                connection.execute(delete(rulings).where(rulings.c.run_id == parent, again))
                connection.execute(insert(rulings), labels)

    def show(self, run_id: str, text: str) -> None:
        """Show this version in its message. Raises `BadRequest` while another one is being written, `NotFound`."""
        with self._database.write() as connection:
            run = _run(connection, run_id)
            if run.conversation_id:
                refuse_while_answering(connection, run.conversation_id)
            _show(connection, run, run_id, text)

    def of(self, run_id: str) -> list[Version]:
        """Return all versions of the answer that this run belongs to, oldest first. Raises `NotFound`."""
        with self._database.read() as connection:
            run = _run(connection, run_id)
            rows = connection.execute(select(runs).where(_in_family(run)).order_by(runs.c.started_at)).all()
        return [Version(number, row.id, row.change or FIRST, row.state) for number, row in enumerate(rows, start=1)]

    def forget_deleted(self) -> None:
        """Delete the rulings of runs that no longer exist."""
        with self._database.write() as connection:
            connection.execute(delete(rulings).where(rulings.c.run_id.not_in(select(runs.c.id))))


def _run(connection: Connection, run_id: str) -> Row[Any]:
    row = connection.execute(select(runs).where(runs.c.id == run_id)).first()
    if row is None:
        raise NotFound("This answer is no longer there.")
    return row


def _root(run: Row[Any]) -> str:
    return str(run.version_of or run.id)


def _in_family(run: Row[Any]) -> ColumnElement[bool]:
    return or_(runs.c.id == _root(run), runs.c.version_of == _root(run))


def _family(run: Row[Any]) -> Select[tuple[str]]:
    return select(runs.c.id).where(_in_family(run))


def _show(connection: Connection, run: Row[Any], run_id: str, text: str) -> None:
    of_message = messages.c.run_id.in_(_family(run))
    connection.execute(update(messages).where(of_message).values(run_id=run_id, text=text))


def _ruling(run_id: str, trace: Trace, passage_id: int, ruling: Ruling) -> dict[str, Any]:
    passage, verdict = trace.passages[passage_id], trace.verdicts.get(passage_id)
    return {
        "run_id": run_id,
        "question": trace.condensed or trace.question,
        "passage_id": passage_id,
        "title": passage.title,
        "text": passage.text,
        "collection": trace.options.collection,
        "grader": trace.grader,
        "score": verdict.score if verdict else None,
        "ruling": ruling,
        "given_at": time.time(),
    }
