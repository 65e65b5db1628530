"""Import of a shared conversation: validated as a whole, then stored in one transaction under new ids."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ValidationError
from sqlalchemy import Connection, insert, update

from crag.conversations.conversations import NEW_TITLE, title_of
from crag.errors import BadRequest
from crag.events import (
    AnswerWritten,
    ConsentAsked,
    EngineOpened,
    Event,
    NodeEnded,
    NodeStarted,
    PassageGraded,
    PassagesFound,
    PromptBuilt,
    QuestionShortened,
    RunEnded,
    RunStarted,
    StripsScored,
    SufficiencyJudged,
    ThoughtWritten,
    VersionBegun,
    encode_event,
)
from crag.options import OPTIONS, RunOptions, diff_options, dump_changes, load_changes
from crag.runs.records import save_summary
from crag.runs.trace import Trace
from crag.sharing.conversation_document import (
    FORMAT_NAME,
    FORMAT_VERSION,
    LATEST_TIMESTAMP,
    SharedConversation,
    SharedMessage,
    SharedRun,
    strip_folders,
)
from crag.storage.engine import Database, defer_foreign_keys
from crag.storage.tables import conversations, events, feedback, messages, runs
from crag.text.sanitization import normalize_user_text
from crag.translation import N_
from crag.types import Thresholds

BoundedValue = tuple[float, float, float]  # lowest, value, highest

_MAX_RUN_SECONDS = 1e9  # seconds
_MAX_PASSAGES = 100  # the maximum on the command line
_MAX_TOKENS = 10**9
_MAX_PAGES = 10**6
_MAX_ID = 2**53


def is_within_bounds(event: Event) -> bool:
    """Return whether every number of an event is plausible."""
    if isinstance(event, RunStarted) and not are_options_valid(event.options):
        return False
    return all(lowest <= value <= highest for lowest, value, highest in _event_bounds(event))


def are_options_valid(options: RunOptions) -> bool:
    """Return whether a question could be asked under these options."""
    changed = diff_options(RunOptions(), options)
    return all(OPTIONS[name].is_valid(value, for_run=True) for name, value in changed.items())


def _threshold_bounds(thresholds: Thresholds | None) -> Iterable[BoundedValue]:
    if thresholds is not None:
        yield 0, thresholds.lower, thresholds.upper
        yield thresholds.lower, thresholds.upper, 1


def _event_bounds(event: Event) -> Iterable[BoundedValue]:
    match event:
        case RunStarted():
            yield 0, event.started_at, LATEST_TIMESTAMP
        case EngineOpened():
            yield from _threshold_bounds(event.thresholds)
        case NodeStarted() | NodeEnded() | ThoughtWritten() | ConsentAsked() | RunEnded():
            yield 0, event.at, _MAX_RUN_SECONDS
        case QuestionShortened():
            yield 0, event.left_out, event.tokens
            yield 0, event.tokens, _MAX_TOKENS
        case PromptBuilt():
            yield from ((0, value, _MAX_TOKENS) for value in (event.tokens, event.window, event.left_out))
        case PassageGraded():
            yield 0, event.verdict.score or 0, 1
        case StripsScored():
            yield from ((0, strip.score or 0, 1) for strip in event.strips)
        case PassagesFound():
            yield from _passage_bounds(event)
        case AnswerWritten():
            yield from ((1, cited.n, _MAX_PASSAGES) for cited in event.citations)
            yield len(event.citations), len({cited.n for cited in event.citations}), _MAX_PASSAGES


def _passage_bounds(event: PassagesFound) -> Iterable[BoundedValue]:
    """Yield the bounds of passages. Library ids are positive, web ids negative; each occurs once."""
    library = event.origin == "library"
    for passage in event.passages:
        yield (1 if library else -_MAX_ID), passage.id, (_MAX_ID if library else -1)
        yield 0, passage.page or 0, _MAX_PAGES
        yield from ((0, page, _MAX_PAGES) for _, page in (*passage.page_starts, *passage.context_page_starts))
    yield 0, event.searched, _MAX_ID
    yield 0, event.scored, event.searched
    yield len(event.passages), len({passage.id for passage in event.passages}), _MAX_PASSAGES


_EXPORT_AGAIN_REMEDY = "Export the conversation again from its source."


def check_conversation(shared: SharedConversation) -> None:
    """Check the structure and the events of a document. Raises `BadRequest` with a description of the problem."""
    runs = {run.id: run for run in shared.runs}
    messages = {message.id: message for message in shared.messages}
    if len(runs) < len(shared.runs) or len(messages) < len(shared.messages):
        raise _damaged_file_error("the same number is used for two things")
    for message in shared.messages:
        _check_parent(message, messages.get(message.parent or 0))
    _check_answers(shared.messages)
    _check_versions(shared.messages, runs)
    head = messages.get(shared.head or 0)
    if bool(messages) != bool(head) or (head and head.role != "assistant"):
        raise _damaged_file_error("it does not say which answer is the latest")
    for run in shared.runs:
        _check_run(run, runs)


def _damaged_file_error(what: str) -> BadRequest:
    return BadRequest(f"This file is damaged or was changed: {what}. Nothing was imported.", _EXPORT_AGAIN_REMEDY)


def _check_parent(message: SharedMessage, parent: SharedMessage | None) -> None:
    """Check the parent of a message. Parents must have smaller numbers, which rules out cycles."""
    if (message.parent is not None and parent is None) or (parent and parent.id >= message.id):
        raise _damaged_file_error("a message follows one that is missing")
    if message.role == "user" and (message.run is not None or (parent and parent.role == "user")):
        raise _damaged_file_error("a question does not follow an answer")
    if message.role == "assistant" and (message.run is None or parent is None or parent.role == "assistant"):
        raise _damaged_file_error("an answer does not follow a question")


def _check_answers(messages: Sequence[SharedMessage]) -> None:
    answered = Counter(message.parent for message in messages if message.role == "assistant")
    if any(answered[message.id] != 1 for message in messages if message.role == "user"):
        raise _damaged_file_error("a question has no answer, or several")


def _check_versions(messages: Sequence[SharedMessage], runs: dict[int, SharedRun]) -> None:
    """Check that each answer, together with its versions, belongs to exactly one message."""
    for run in runs.values():
        root = runs.get(run.version_of or run.id)
        if root is None or root.version_of is not None:
            raise _damaged_file_error("a version belongs to an answer that is missing")
    shown = [message.run for message in messages if message.run is not None]
    if not runs.keys() >= set(shown):
        raise _damaged_file_error("an answer is missing")
    roots = Counter(runs[number].version_of or number for number in shown)
    if set(roots) != {run.version_of or run.id for run in runs.values()} or any(many > 1 for many in roots.values()):
        raise _damaged_file_error("an answer belongs to no question, or to several")


def _check_run(run: SharedRun, runs: dict[int, SharedRun]) -> None:
    passages: set[int] = set()
    for number, event in enumerate(run.events, start=1):
        if isinstance(event, PassagesFound):
            passages |= {passage.id for passage in event.passages}
        if not set(_referenced_passages(event)) <= passages:
            raise _damaged_file_error("an answer cites a passage that is missing")
        if isinstance(event, VersionBegun) and event.parent not in map(str, runs):
            raise _damaged_file_error("a version continues an answer that is missing")
        if isinstance(event, RunEnded) and (number < len(run.events) or event.state in ("running", "waiting")):
            raise _damaged_file_error("an answer continues after its end")
        if not is_within_bounds(event):
            raise _damaged_file_error("a number is out of range")


def _referenced_passages(event: Event) -> Iterable[int]:
    """Return the ids of earlier passages that an event refers to."""
    match event:
        case PassageGraded():
            return (event.verdict.passage_id,)
        case SufficiencyJudged():
            return [stated.passage_id for stated in event.assessment.statements]
        case StripsScored():
            return (event.passage_id,)
        case AnswerWritten():
            return [cited.passage_id for cited in event.citations]
    return ()


_CHOOSE_EXPORT_REMEDY = N_("Choose a file that was exported from here as JSON.")


class _FormatHeader(BaseModel):
    """Format name and version that a file declares."""

    format: str = ""
    version: int = 0


def read_shared_conversation(data: bytes) -> SharedConversation:
    """Parse and validate a file. Raises `BadRequest` with a description of the problem."""
    try:
        label = _FormatHeader.model_validate_json(data)
    except ValidationError as error:
        raise BadRequest("This file is not a conversation that was exported as JSON.", _CHOOSE_EXPORT_REMEDY) from error
    if label.format != FORMAT_NAME:
        raise BadRequest("This file is JSON, but not a conversation.", _CHOOSE_EXPORT_REMEDY)
    if label.version != FORMAT_VERSION:
        raise BadRequest(
            f"This conversation was written in version {label.version} of the format; "
            f"version {FORMAT_VERSION} can be read.",
            "Update the application, or export the conversation again.",
        )
    try:
        shared = SharedConversation.model_validate_json(data)
    except ValidationError as error:
        raise BadRequest(
            f"This file is damaged or was changed: {_error_location(error)} cannot be read. Nothing was imported.",
            "Export the conversation again from its source.",
        ) from error
    check_conversation(shared)
    return shared


def store_conversation(database: Database, shared: SharedConversation, user: str, file: str = "") -> str:
    """Store the document as a new conversation of a user, all or nothing, and return its id. Raises `HomeFault`."""
    conversation_id = uuid.uuid4().hex
    ids = {run.id: uuid.uuid4().hex for run in shared.runs}
    happened = {run.id: _completed_events(run, ids) for run in shared.runs}
    traces = {number: Trace().apply_all(of_run) for number, of_run in happened.items()}
    texts = {number: trace.text for number, trace in traces.items()}
    with database.write() as connection:
        connection.execute(insert(conversations).values(_conversation_row(conversation_id, shared, user, file)))
        defer_foreign_keys(connection)  # a version may precede its first answer
        for run in shared.runs:
            _insert_run(connection, run, ids, conversation_id, happened[run.id])
            save_summary(connection, ids[run.id], traces[run.id], traces[run.id].seconds or 0.0)
        _insert_messages(connection, shared, ids, texts, conversation_id)
    return conversation_id


def _error_location(error: ValidationError) -> str:
    """Return the location of the first error, such as “runs” no. 3 “events”, without any content of the file."""
    place = error.errors(include_url=False, include_context=False, include_input=False)[0]["loc"]
    return " ".join(f"no. {part + 1}" if isinstance(part, int) else f"“{part}”" for part in place[:4])


def _conversation_row(conversation_id: str, shared: SharedConversation, user: str, file: str) -> dict[str, Any]:
    changes = load_changes(dump_changes(shared.changes))
    if changes.get("web") == "auto":  # automatic searches need the consent of a user of this home
        changes["web"] = "ask"
    now = time.time()
    return {
        "id": conversation_id,
        "title": title_of(normalize_user_text(shared.title)) or NEW_TITLE,
        "created_at": shared.created_at,
        "updated_at": now,
        "options": dump_changes(changes),
        "person": user,
        "imported_at": now,
        "imported_from": normalize_user_text(file),
    }


def _completed_events(run: SharedRun, ids: Mapping[int, str]) -> list[Event]:
    """Return the events to store, with a final `RunEnded` if the exported run had none."""
    happened = [_imported_event(event, ids) for event in run.events]
    if not happened or not isinstance(happened[-1], RunEnded):
        steps = Trace().apply_all(happened).steps
        seconds = max((step.started + (step.seconds or 0) for step in steps), default=0.0)
        happened.append(RunEnded("interrupted", seconds))
    return happened


def _imported_event(event: Event, ids: Mapping[int, str]) -> Event:
    if isinstance(event, VersionBegun):
        return replace(event, parent=ids[int(event.parent)])
    if isinstance(event, RunStarted) and event.options.web == "auto":  # asking again would skip consent
        return replace(event, options=replace(event.options, web="ask"))
    return strip_folders(event)


def _insert_run(
    connection: Connection, run: SharedRun, ids: Mapping[int, str], conversation_id: str, happened: list[Event]
) -> None:
    end = happened[-1]
    row = {
        "id": ids[run.id],
        "conversation_id": conversation_id,
        "question": normalize_user_text(run.question),
        "state": end.state if isinstance(end, RunEnded) else "interrupted",
        "owner": "",
        "started_at": run.started_at,
        "version_of": ids[run.version_of] if run.version_of else None,
        "change": normalize_user_text(run.change),
        "gap_closed": int(run.gap_closed),
        "imported": 1,
    }
    connection.execute(insert(runs).values(row))
    numbered = enumerate(happened, start=1)
    bodies = [
        {"run_id": row["id"], "number": number, "body": encode_event(event).decode()} for number, event in numbered
    ]
    connection.execute(insert(events), bodies)
    if given := run.feedback:
        values = {
            "helpful": int(given.helpful),
            "reason": normalize_user_text(given.reason),
            "given_at": given.given_at,
        }
        connection.execute(insert(feedback).values(run_id=row["id"], **values))


def _insert_messages(
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
            "text": normalize_user_text(_message_text(message, texts)),
            "created_at": message.created_at,
            "run_id": ids[message.run] if message.run else None,
            "parent_id": new_ids[message.parent] if message.parent else None,
        }
        inserted = connection.execute(insert(messages).values(row).returning(messages.c.id))
        new_ids[message.id] = inserted.scalar_one()
    is_conversation = conversations.c.id == conversation_id
    connection.execute(update(conversations).where(is_conversation).values(head_id=new_ids.get(shared.head or 0)))


def _message_text(message: SharedMessage, texts: Mapping[int, str]) -> str:
    """Return the answer text as its displayed version's events give it, so that text and trace cannot differ."""
    return texts[message.run] if message.run else message.text
