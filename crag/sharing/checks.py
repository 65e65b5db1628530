"""Checks of a shared document beyond its types: one tree of questions and answers, consistent events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from crag.errors import BadRequest
from crag.events import AnswerWritten, Event, PassageGraded, PassagesFound, RunEnded, StripsScored, VersionBegun
from crag.sharing.bounds import within_bounds
from crag.sharing.document import SharedConversation, SharedMessage, SharedRun

_REMEDY = "Export the conversation again where it came from."


def check(shared: SharedConversation) -> None:
    """Check the structure and the events of a document. Raises `BadRequest` with a description of the problem."""
    runs = {run.id: run for run in shared.runs}
    messages = {message.id: message for message in shared.messages}
    if len(runs) < len(shared.runs) or len(messages) < len(shared.messages):
        raise _broken("the same number stands for two things")
    for message in shared.messages:
        _check_place(message, messages.get(message.parent or 0))
    _check_answers(shared.messages)
    _check_families(shared.messages, runs)
    head = messages.get(shared.head or 0)
    if bool(messages) != bool(head) or (head and head.role != "assistant"):
        raise _broken("it does not say which answer is the last one")
    for run in shared.runs:
        _check_run(run, runs)


def _broken(what: str) -> BadRequest:
    return BadRequest(f"This file is damaged or was changed: {what}. Nothing was imported.", _REMEDY)


def _check_place(message: SharedMessage, parent: SharedMessage | None) -> None:
    """Check the parent of a message. Parents must have smaller numbers, which rules out cycles."""
    if (message.parent is not None and parent is None) or (parent and parent.id >= message.id):
        raise _broken("a message follows one that is not there before it")
    if message.role == "user" and (message.run is not None or (parent and parent.role == "user")):
        raise _broken("a question does not follow an answer")
    if message.role == "assistant" and (message.run is None or parent is None or parent.role == "assistant"):
        raise _broken("an answer does not follow a question")


def _check_answers(messages: Sequence[SharedMessage]) -> None:
    answered = Counter(message.parent for message in messages if message.role == "assistant")
    if any(answered[message.id] != 1 for message in messages if message.role == "user"):
        raise _broken("a question has no answer, or several")


def _check_families(messages: Sequence[SharedMessage], runs: dict[int, SharedRun]) -> None:
    """Check that each answer, together with its versions, belongs to exactly one message."""
    for run in runs.values():
        root = runs.get(run.version_of or run.id)
        if root is None or root.version_of is not None:
            raise _broken("a version belongs to an answer that is not there")
    shown = [message.run for message in messages if message.run is not None]
    if not runs.keys() >= set(shown):
        raise _broken("an answer is missing")
    roots = Counter(runs[number].version_of or number for number in shown)
    if set(roots) != {run.version_of or run.id for run in runs.values()} or any(many > 1 for many in roots.values()):
        raise _broken("an answer belongs to no question, or to several")


def _check_run(run: SharedRun, runs: dict[int, SharedRun]) -> None:
    passages: set[int] = set()
    for number, event in enumerate(run.events, start=1):
        if isinstance(event, PassagesFound):
            passages |= {passage.id for passage in event.passages}
        if not set(_named(event)) <= passages:
            raise _broken("an answer names a passage that is not there")
        if isinstance(event, VersionBegun) and event.parent not in map(str, runs):
            raise _broken("a version goes on from an answer that is not there")
        if isinstance(event, RunEnded) and (number < len(run.events) or event.state in ("running", "waiting")):
            raise _broken("an answer goes on after its end")
        if not within_bounds(event):
            raise _broken("a number is out of all bounds")


def _named(event: Event) -> Iterable[int]:
    """Return the ids of earlier passages that an event refers to."""
    match event:
        case PassageGraded():
            return (event.verdict.passage_id,)
        case StripsScored():
            return (event.passage_id,)
        case AnswerWritten():
            return [cited.passage_id for cited in event.citations]
    return ()
