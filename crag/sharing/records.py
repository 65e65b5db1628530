"""Construction of the shared document from the database, for a conversation or a single run."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, select

from crag.database import Database
from crag.database.tables import conversations, events, feedback, messages, runs
from crag.errors import NotFound
from crag.events import Event, VersionBegun, decode
from crag.options import dump_changes, load_changes
from crag.sharing.document import SharedConversation, SharedFeedback, SharedMessage, SharedRun
from crag.sharing.places import without_folders


def read_conversation(database: Database, conversation_id: str) -> SharedConversation:
    """Read the whole conversation in its current state. Raises `NotFound`, also for a deleted one."""
    is_available = (conversations.c.id == conversation_id) & conversations.c.deleted_at.is_(None)
    with database.snapshot() as connection:
        row = connection.execute(select(conversations).where(is_available)).first()
        if row is None:
            raise NotFound("This conversation is no longer there.", "Start a new one.")
        answers = _runs(connection, runs.c.conversation_id == conversation_id)
        query = select(messages).where(messages.c.conversation_id == conversation_id).order_by(messages.c.id)
        message_rows = connection.execute(query).all()
    numbers = {message.id: number for number, message in enumerate(message_rows, start=1)}
    return SharedConversation.model_construct(
        exported_at=time.time(),
        title=row.title,
        created_at=row.created_at,
        updated_at=row.updated_at,
        changes=_plain(row.options),
        head=numbers.get(row.head_id),
        messages=[_message(message, numbers, answers) for message in message_rows],
        runs=list(answers.values()),
    )


def read_run(database: Database, run_id: str) -> tuple[SharedRun, list[SharedRun]]:
    """Return one run and all versions of its answer. Raises `NotFound`."""
    with database.snapshot() as connection:
        row = connection.execute(select(runs).where(runs.c.id == run_id)).first()
        if row is None:
            raise NotFound("This answer is no longer there.")
        root = row.version_of or row.id
        answers = _runs(connection, (runs.c.id == root) | (runs.c.version_of == root))
    return answers[run_id], list(answers.values())


def _runs(connection: Connection, which: ColumnElement[bool]) -> dict[str, SharedRun]:
    """Load the matching runs by id, numbered by start time."""
    rows = connection.execute(select(runs).where(which).order_by(runs.c.started_at, runs.c.id)).all()
    numbers = {row.id: number for number, row in enumerate(rows, start=1)}
    events_by_run = _events(connection, which)
    feedback_rows = connection.execute(select(feedback).join(runs, feedback.c.run_id == runs.c.id).where(which)).all()
    feedback_by_run = {row.run_id: _feedback(row) for row in feedback_rows}
    return {
        row.id: SharedRun.model_construct(
            id=numbers[row.id],
            question=row.question,
            state=row.state,
            started_at=row.started_at,
            version_of=numbers.get(row.version_of),
            change=row.change,
            gap_closed=bool(row.gap_closed),
            events=[_shared(event, numbers) for event in events_by_run.get(row.id, ())],
            feedback=feedback_by_run.get(row.id),
        )
        for row in rows
    }


def _events(connection: Connection, which: ColumnElement[bool]) -> dict[str, list[Event]]:
    query = select(events.c.run_id, events.c.body).join(runs, events.c.run_id == runs.c.id).where(which)
    events_by_run: dict[str, list[Event]] = {}
    for row in connection.execute(query.order_by(events.c.run_id, events.c.number)):
        events_by_run.setdefault(row.run_id, []).append(decode(row.body))
    return events_by_run


def _shared(event: Event, numbers: Mapping[str, int]) -> Event:
    """Return the event without values that have a meaning on this machine only."""
    if isinstance(event, VersionBegun):
        return replace(event, parent=str(numbers.get(event.parent, "")))
    return without_folders(event)


def _message(row: Row[Any], numbers: Mapping[int, int], answers: Mapping[str, SharedRun]) -> SharedMessage:
    answer = answers.get(row.run_id) if row.run_id else None
    return SharedMessage.model_construct(
        id=numbers[row.id],
        parent=numbers.get(row.parent_id),
        role=row.role,
        text=row.text,
        created_at=row.created_at,
        run=answer.id if answer else None,
    )


def _feedback(row: Row[Any]) -> SharedFeedback:
    return SharedFeedback.model_construct(helpful=bool(row.helpful), reason=row.reason, given_at=row.given_at)


def _plain(options: str) -> dict[str, Any]:
    """Return the changed options of a conversation as JSON values."""
    plain: dict[str, Any] = json.loads(dump_changes(load_changes(options)))
    return plain
