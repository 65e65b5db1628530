"""JSON format of a shared conversation, and its construction from the database.

It holds all branches, versions and events under file-local numbers. It holds nothing that belongs to one machine or
one user: no ids, no browser keys, no folders.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import ColumnElement, Connection, Row, select

from crag.errors import NotFound
from crag.events import AnswerWritten, Event, PassagesFound, VersionBegun, decode_event
from crag.options import dump_changes, load_changes
from crag.runs.trace import Trace, retitle
from crag.storage.engine import Database
from crag.storage.sources import read_source_titles
from crag.storage.tables import RUN_ORDER, conversations, events, feedback, messages, runs
from crag.text.sanitization import MAX_QUESTION_LENGTH, has_web_scheme
from crag.types import RunState

FORMAT_NAME = "crag-conversation"
FORMAT_VERSION = 1
_MAX_RUNS = 20_000
_MAX_EVENTS = 50_000
_MAX_LINE_LENGTH = 2_000
LATEST_TIMESTAMP = 4_102_444_800.0  # the year 2100

FileNumber = Annotated[int, Field(ge=1, le=10**9)]
Timestamp = Annotated[float, Field(ge=0, le=LATEST_TIMESTAMP)]  # seconds since the epoch


class _SharedModel(BaseModel):
    """Base of all parts: strict types, no extra fields, no infinite numbers."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False, frozen=True)


class SharedFeedback(_SharedModel):
    """Feedback on an answer."""

    helpful: bool
    reason: Annotated[str, Field(max_length=_MAX_LINE_LENGTH)]
    given_at: Timestamp


class SharedRun(_SharedModel):
    """One version of an answer with all of its events.

    `version_of` is the number of the first answer to the same question.
    """

    id: FileNumber
    question: Annotated[str, Field(min_length=1, max_length=MAX_QUESTION_LENGTH)]
    state: RunState
    started_at: Timestamp
    version_of: FileNumber | None
    change: Annotated[str, Field(max_length=_MAX_LINE_LENGTH)]
    gap_closed: bool
    events: Annotated[list[Annotated[Event, Field(discriminator="type")]], Field(max_length=_MAX_EVENTS)]
    feedback: SharedFeedback | None


class SharedMessage(_SharedModel):
    """A question or an answer.

    An answer holds the text of the displayed version, `run`. `parent` is the message it follows.
    """

    id: FileNumber
    parent: FileNumber | None
    role: Literal["user", "assistant"]
    text: str
    created_at: Timestamp
    run: FileNumber | None


class SharedConversation(_SharedModel):
    """The whole file. `head` is the last message of the displayed branch; parents precede their children."""

    format: Literal["crag-conversation"] = "crag-conversation"
    version: Literal[1] = 1
    exported_at: Timestamp
    title: Annotated[str, Field(max_length=_MAX_LINE_LENGTH)]
    created_at: Timestamp
    updated_at: Timestamp
    changes: dict[str, Any]
    head: FileNumber | None
    messages: Annotated[list[SharedMessage], Field(max_length=2 * _MAX_RUNS)]
    runs: Annotated[list[SharedRun], Field(max_length=_MAX_RUNS)]

    def shown_messages(self) -> list[SharedMessage]:
        """Return the messages of the displayed branch, oldest first."""
        by_id = {message.id: message for message in self.messages}
        branch: list[SharedMessage] = []
        at = self.head
        while at is not None and at in by_id:
            branch.append(by_id[at])
            at = by_id[at].parent
        return branch[::-1]

    def versions(self, run: SharedRun) -> list[SharedRun]:
        """Return all versions of the answer that this run belongs to, oldest first."""
        root = run.version_of or run.id
        return [one for one in self.runs if root in (one.id, one.version_of)]


_ARCHIVE_SEPARATOR = "!/"


def shareable_location(location: str) -> str:
    """Return a web address unchanged, or a file name without its folders; keep the path inside an archive."""
    if has_web_scheme(location):
        return location
    outer, found, inner = location.partition(_ARCHIVE_SEPARATOR)
    return re.split(r"[/\\]", outer)[-1] + found + inner


def strip_folders(event: Event) -> Event:
    """Return the event with shareable locations only."""
    match event:
        case PassagesFound():
            found = (replace(passage, location=shareable_location(passage.location)) for passage in event.passages)
            return replace(event, passages=tuple(found))
        case AnswerWritten():
            cited = (replace(one, location=shareable_location(one.location)) for one in event.citations)
            return replace(event, citations=tuple(cited))
    return event


def _retitle_event(event: Event, titles: Mapping[str, str]) -> Event:
    match event:
        case PassagesFound():
            return replace(event, passages=tuple(retitle(one, titles) for one in event.passages))
        case AnswerWritten():
            return replace(event, citations=tuple(retitle(one, titles) for one in event.citations))
    return event


def read_conversation(database: Database, conversation_id: str, user: str | None = None) -> SharedConversation:
    """Read the whole conversation in its current state, with the titles that its documents have for a user.

    Raises `NotFound`, also for a deleted conversation.
    """
    is_available = (conversations.c.id == conversation_id) & conversations.c.deleted_at.is_(None)
    with database.snapshot() as connection:
        row = connection.execute(select(conversations).where(is_available)).first()
        if row is None:
            raise NotFound("This conversation no longer exists.", "Start a new one.")
        answers = _load_runs(connection, runs.c.conversation_id == conversation_id, user)
        query = select(messages).where(messages.c.conversation_id == conversation_id).order_by(messages.c.id)
        message_rows = connection.execute(query).all()
    numbers = {message.id: number for number, message in enumerate(message_rows, start=1)}
    return SharedConversation.model_construct(
        exported_at=time.time(),
        title=row.title,
        created_at=row.created_at,
        updated_at=row.updated_at,
        changes=_plain_changes(row.options),
        head=numbers.get(row.head_id),
        messages=[_shared_message(message, numbers, answers) for message in message_rows],
        runs=list(answers.values()),
    )


def read_run(database: Database, run_id: str, user: str | None = None) -> tuple[SharedRun, list[SharedRun]]:
    """Return one run and all versions of its answer, as `read_conversation` does. Raises `NotFound`."""
    with database.snapshot() as connection:
        row = connection.execute(select(runs).where(runs.c.id == run_id)).first()
        if row is None:
            raise NotFound("This answer no longer exists.")
        root = row.version_of or row.id
        answers = _load_runs(connection, (runs.c.id == root) | (runs.c.version_of == root), user)
    return answers[run_id], list(answers.values())


def _load_runs(connection: Connection, condition: ColumnElement[bool], user: str | None) -> dict[str, SharedRun]:
    """Load the matching runs by id, numbered in the order in which they were asked."""
    rows = connection.execute(select(runs).where(condition).order_by(RUN_ORDER)).all()
    numbers = {row.id: number for number, row in enumerate(rows, start=1)}
    events_by_run = _load_events(connection, condition)
    documents = set[str]().union(*(Trace().apply_all(told).source_ids() for told in events_by_run.values()))
    titles = read_source_titles(connection, documents, user)
    feedback_rows = connection.execute(
        select(feedback).join(runs, feedback.c.run_id == runs.c.id).where(condition)
    ).all()
    feedback_by_run = {row.run_id: _shared_feedback(row) for row in feedback_rows}
    return {
        row.id: SharedRun.model_construct(
            id=numbers[row.id],
            question=row.question,
            state=row.state,
            started_at=row.started_at,
            version_of=numbers.get(row.version_of),
            change=row.change,
            gap_closed=bool(row.gap_closed),
            events=[
                _retitle_event(_shareable_event(event, numbers), titles) for event in events_by_run.get(row.id, ())
            ],
            feedback=feedback_by_run.get(row.id),
        )
        for row in rows
    }


def _load_events(connection: Connection, condition: ColumnElement[bool]) -> dict[str, list[Event]]:
    query = select(events.c.run_id, events.c.body).join(runs, events.c.run_id == runs.c.id).where(condition)
    events_by_run: dict[str, list[Event]] = {}
    for row in connection.execute(query.order_by(events.c.run_id, events.c.number)):
        events_by_run.setdefault(row.run_id, []).append(decode_event(row.body))
    return events_by_run


def _shareable_event(event: Event, numbers: Mapping[str, int]) -> Event:
    """Return the event without values that have a meaning on this machine only."""
    if isinstance(event, VersionBegun):
        return replace(event, parent=str(numbers.get(event.parent, "")))
    return strip_folders(event)


def _shared_message(row: Row[Any], numbers: Mapping[int, int], answers: Mapping[str, SharedRun]) -> SharedMessage:
    answer = answers.get(row.run_id) if row.run_id else None
    return SharedMessage.model_construct(
        id=numbers[row.id],
        parent=numbers.get(row.parent_id),
        role=row.role,
        text=row.text,
        created_at=row.created_at,
        run=answer.id if answer else None,
    )


def _shared_feedback(row: Row[Any]) -> SharedFeedback:
    return SharedFeedback.model_construct(helpful=bool(row.helpful), reason=row.reason, given_at=row.given_at)


def _plain_changes(options: str) -> dict[str, Any]:
    """Return the changed options of a conversation as JSON values."""
    plain: dict[str, Any] = json.loads(dump_changes(load_changes(options)))
    return plain
