"""Import of a shared conversation: read and validated as a whole, then stored in one transaction under new ids."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ValidationError
from sqlalchemy import Connection, insert, update

from crag.conversations.conversations import NEW_TITLE, title_of
from crag.database import Database
from crag.database.tables import conversations, events, feedback, messages, runs
from crag.errors import BadRequest
from crag.events import Event, RunEnded, RunStarted, VersionBegun, encode
from crag.options import dump_changes, load_changes
from crag.runs import Trace
from crag.runs.texts import storable
from crag.sharing.checks import check
from crag.sharing.document import FORMAT, VERSION, SharedConversation, SharedMessage, SharedRun
from crag.sharing.places import without_folders

_NOT_OURS = "Choose a file that was exported from here as JSON."


class _Label(BaseModel):
    """Format name and version that a file declares."""

    format: str = ""
    version: int = 0


def read_file(data: bytes) -> SharedConversation:
    """Parse and validate a file. Raises `BadRequest` with a description of the problem."""
    try:
        label = _Label.model_validate_json(data)
    except ValidationError as error:
        raise BadRequest("This file is not a conversation that was exported as JSON.", _NOT_OURS) from error
    if label.format != FORMAT:
        raise BadRequest("This file is JSON, but not a conversation.", _NOT_OURS)
    if label.version != VERSION:
        raise BadRequest(
            f"This conversation was written in version {label.version} of the format; version {VERSION} can be read.",
            "Update the application, or export the conversation again.",
        )
    try:
        shared = SharedConversation.model_validate_json(data)
    except ValidationError as error:
        raise BadRequest(
            f"This file is damaged or was changed: {_where(error)} cannot be read. Nothing was imported.",
            "Export the conversation again where it came from.",
        ) from error
    check(shared)
    return shared


def keep(database: Database, shared: SharedConversation, person: str) -> str:
    """Store the document as a new conversation of a user, all or nothing, and return its id. Raises `HomeFault`."""
    conversation_id = uuid.uuid4().hex
    ids = {run.id: uuid.uuid4().hex for run in shared.runs}
    traces = {run.id: _ended(run, ids) for run in shared.runs}
    texts = {number: Trace().apply_all(happened).text for number, happened in traces.items()}
    with database.write() as connection:
        connection.execute(insert(conversations).values(_conversation_row(conversation_id, shared, person)))
        for run in sorted(shared.runs, key=lambda run: run.version_of is not None):  # first answers first
            _keep_run(connection, run, ids, conversation_id, traces[run.id])
        _keep_messages(connection, shared, ids, texts, conversation_id)
    return conversation_id


def _where(error: ValidationError) -> str:
    """Return the location of the first error, such as “runs” no. 3 “events”, without any content of the file."""
    place = error.errors(include_url=False, include_context=False, include_input=False)[0]["loc"]
    return " ".join(f"no. {part + 1}" if isinstance(part, int) else f"“{part}”" for part in place[:4]) or "it"


def _conversation_row(conversation_id: str, shared: SharedConversation, person: str) -> dict[str, Any]:
    changes = load_changes(dump_changes(shared.changes))
    if changes.get("web") == "auto":  # automatic searches need the consent of a user of this home
        changes["web"] = "ask"
    return {
        "id": conversation_id,
        "title": title_of(storable(shared.title)) or NEW_TITLE,
        "created_at": shared.created_at,
        "updated_at": time.time(),
        "options": dump_changes(changes),
        "person": person,
    }


def _ended(run: SharedRun, ids: Mapping[int, str]) -> list[Event]:
    """Return the events to store, with a final `RunEnded` if the exported run had none."""
    happened = [_own(event, ids) for event in run.events]
    if not happened or not isinstance(happened[-1], RunEnded):
        steps = Trace().apply_all(happened).steps
        seconds = max((step.started + (step.seconds or 0) for step in steps), default=0.0)
        happened.append(RunEnded("interrupted", seconds))
    return happened


def _own(event: Event, ids: Mapping[int, str]) -> Event:
    if isinstance(event, VersionBegun):
        return replace(event, parent=ids[int(event.parent)])
    if isinstance(event, RunStarted) and event.options.web == "auto":  # asking again would skip consent
        return replace(event, options=replace(event.options, web="ask"))
    return without_folders(event)


def _keep_run(
    connection: Connection, run: SharedRun, ids: Mapping[int, str], conversation_id: str, happened: list[Event]
) -> None:
    end = happened[-1]
    row = {
        "id": ids[run.id],
        "conversation_id": conversation_id,
        "question": storable(run.question),
        "state": end.state if isinstance(end, RunEnded) else "interrupted",
        "owner": "",
        "started_at": run.started_at,
        "version_of": ids[run.version_of] if run.version_of else None,
        "change": storable(run.change),
        "gap_closed": int(run.gap_closed),
    }
    connection.execute(insert(runs).values(row))
    numbered = enumerate(happened, start=1)
    bodies = [{"run_id": row["id"], "number": number, "body": encode(event).decode()} for number, event in numbered]
    connection.execute(insert(events), bodies)
    if given := run.feedback:
        values = {"helpful": int(given.helpful), "reason": storable(given.reason), "given_at": given.given_at}
        connection.execute(insert(feedback).values(run_id=row["id"], **values))


def _keep_messages(
    connection: Connection,
    shared: SharedConversation,
    ids: Mapping[int, str],
    texts: Mapping[int, str],
    conversation_id: str,
) -> None:
    new_ids: dict[int, int] = {}
    for message in sorted(shared.messages, key=lambda message: message.id):
        row = {
            "conversation_id": conversation_id,
            "role": message.role,
            "text": storable(_text(message, texts)),
            "created_at": message.created_at,
            "run_id": ids[message.run] if message.run else None,
            "parent_id": new_ids[message.parent] if message.parent else None,
        }
        inserted = connection.execute(insert(messages).values(row).returning(messages.c.id))
        new_ids[message.id] = inserted.scalar_one()
    is_conversation = conversations.c.id == conversation_id
    connection.execute(update(conversations).where(is_conversation).values(head_id=new_ids.get(shared.head or 0)))


def _text(message: SharedMessage, texts: Mapping[int, str]) -> str:
    """Return the answer text as its displayed version's events give it, so that text and trace cannot differ."""
    return texts[message.run] if message.run else message.text
