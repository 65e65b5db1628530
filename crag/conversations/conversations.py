"""Conversations and their messages: made, listed, renamed, deleted; the runs write the answers."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from crag.conversations import listing, tree
from crag.conversations.listing import Found
from crag.database import Database
from crag.database.tables import conversations, evaluations, feedback, messages, runs
from crag.errors import BadRequest, NotFound
from crag.options import Changes, dump_changes, load_changes
from crag.processes import is_alive
from crag.types import Conversation, Feedback, Message, RunState

NEW_TITLE = "New conversation"
_TITLE_LENGTH = 80


class Conversations:
    """All conversations of one home."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, changes: Changes | None = None, person: str = "") -> Conversation:
        """A new, empty conversation of a person, whose questions differ so from what holds for the home."""
        now = time.time()
        made = Conversation(uuid.uuid4().hex, NEW_TITLE, now, now, changes or {}, person)
        values = {"id": made.id, "title": made.title, "created_at": now, "updated_at": now, "person": person}
        with self._database.write() as connection:
            connection.execute(insert(conversations).values(options=dump_changes(made.changes), **values))
        return made

    def list(self, search: str = "", person: str | None = None) -> list[Conversation]:
        """Those with at least one message, pinned ones first, then the latest; of one person, or of all (None).

        With `search`, those whose title or text holds it.
        """
        query = listing.ordered(select(conversations), search.strip(), person)
        with self._database.read() as connection:
            return [_conversation(row) for row in connection.execute(query)]

    def find(self, search: str, person: str | None, limit: int) -> Found:
        """The first `limit` of `list`, with how many there are and where what was sought is."""
        with self._database.read() as connection:
            ids = (
                connection.execute(listing.ordered(select(conversations.c.id), search.strip(), person)).scalars().all()
            )
            shown = ids[:limit]
            rows = connection.execute(select(conversations).where(conversations.c.id.in_(shown)))
            by_id = {row.id: _conversation(row) for row in rows}
            snippets = listing.snippets(connection, shown, search.strip())
        return Found([by_id[one] for one in shown if one in by_id], len(ids), snippets)

    def get(self, conversation_id: str, person: str | None = None) -> Conversation:
        """One conversation. Raises `NotFound`, also for one of another person or one that was deleted."""
        query = select(conversations).where(conversations.c.id == conversation_id, listing.visible(person))
        with self._database.read() as connection:
            row = connection.execute(query).first()
        if row is None:
            raise NotFound("This conversation is no longer there.", "Start a new one.")
        return _conversation(row)

    def of_run(self, run_id: str, person: str | None = None) -> Conversation | None:
        """The conversation that a run belongs to; None for one of no conversation, which only None may see.

        Those of an evaluation may be seen by whose it is, or by everybody. Raises `NotFound`, also for a run of another
        person or of a conversation that was deleted.
        """
        joined = runs.outerjoin(evaluations, evaluations.c.id == runs.c.evaluation_id)
        query = select(runs.c.conversation_id, evaluations.c.person).select_from(joined)
        with self._database.read() as connection:
            row = connection.execute(query.where(runs.c.id == run_id)).first()
        if row is None or (row.conversation_id is None and person is not None and row.person not in ("", person)):
            raise NotFound("This answer is no longer there.")
        return self.get(row.conversation_id, person) if row.conversation_id else None

    def rename(self, conversation_id: str, title: str) -> None:
        """Gives it another title. Raises `BadRequest` for an empty one, `NotFound`."""
        if not title.strip():
            raise BadRequest("A conversation needs a title.", "Write one and try again.")
        self._update(conversation_id, title=title.strip()[:_TITLE_LENGTH])

    def set_changes(self, conversation_id: str, changes: Changes) -> None:
        """Keeps in what its next questions differ from what holds for the home. Raises `NotFound`."""
        self._update(conversation_id, options=dump_changes(changes))

    def follow_collection(self, name: str, new_name: str) -> None:
        """Keeps the conversations that ask a collection with it when it gets another name."""
        with self._database.write() as connection:
            for row in connection.execute(select(conversations)).all():
                kept = load_changes(row.options)
                if kept.get("collection") == name:
                    options = dump_changes({**kept, "collection": new_name})
                    connection.execute(
                        update(conversations).where(conversations.c.id == row.id).values(options=options)
                    )

    def pin(self, conversation_id: str, *, pinned: bool) -> None:
        """Keeps it at the top of the list, or no longer. Raises `NotFound`."""
        self._update(conversation_id, pinned=int(pinned))

    def delete(self, conversation_id: str) -> None:
        """Takes it out of every list; it can be restored until it is purged. One that is not there is left alone."""
        self._mark(conversation_id, time.time())

    def restore(self, conversation_id: str) -> None:
        """Takes a deletion back; one that was purged stays gone."""
        self._mark(conversation_id, None)

    def purge(self, older_than: float = 0.0) -> int:
        """Deletes for good, with messages and runs, what was deleted more than so many seconds ago; how many."""
        gone = conversations.c.deleted_at <= time.time() - older_than
        with self._database.write() as connection:
            return connection.execute(delete(conversations).where(gone)).rowcount

    def messages(self, conversation_id: str, last: int | None = None) -> Sequence[Message]:
        """The messages of the branch that is shown, oldest first; with `last`, only so many of the newest."""
        with self._database.read() as connection:
            rows = tree.up_from(connection, tree.head(connection, conversation_id), last)
            beside = tree.siblings(connection, [row for row in rows if row.role == "user"])
            versions = tree.version_counts(connection, rows)
        return [_message(row, beside.get(row.id, ()), versions.get(row.run_id, 1)) for row in rows]

    def count(self, conversation_id: str) -> int:
        """How many messages the branch has that is shown."""
        with self._database.read() as connection:
            return tree.length(connection, tree.head(connection, conversation_id))

    def show_branch(self, conversation_id: str, message_id: int) -> None:
        """Shows the branch that goes on from this question, to where it was last written to.

        Raises `NotFound`, `BadRequest` while an answer of the conversation is written or waits for a person.
        """
        with self._database.write() as connection:
            in_it = (messages.c.id == message_id) & (messages.c.conversation_id == conversation_id)
            if connection.execute(select(messages.c.id).where(in_it)).first() is None:
                raise NotFound("This question is no longer there.")
            refuse_while_answering(connection, conversation_id)
            tree.set_head(connection, conversation_id, tree.latest_below(connection, message_id))

    def run_of(self, question_id: int) -> str | None:
        """The run whose answer to a question is shown; None where there is no answer."""
        answer = select(messages.c.run_id).where(messages.c.parent_id == question_id, messages.c.role == "assistant")
        with self._database.read() as connection:
            return connection.execute(answer).scalar()

    def give_feedback(self, run_id: str, helpful: bool, reason: str = "") -> None:
        """Keeps a thumb and its reason for one answer, in place of an earlier one. Raises `NotFound`."""
        with self._database.write() as connection:
            if connection.execute(select(runs.c.id).where(runs.c.id == run_id)).first() is None:
                raise NotFound("This answer is no longer there.")
            connection.execute(delete(feedback).where(feedback.c.run_id == run_id))
            connection.execute(
                insert(feedback).values(
                    run_id=run_id, helpful=int(helpful), reason=reason.strip(), given_at=time.time()
                )
            )

    def withdraw_feedback(self, run_id: str) -> None:
        """Takes back what was said of one answer; where nothing was said nothing happens."""
        with self._database.write() as connection:
            connection.execute(delete(feedback).where(feedback.c.run_id == run_id))

    def feedback(self, run_id: str) -> Feedback | None:
        """What was said of the answer; None when nobody said anything."""
        with self._database.read() as connection:
            row = connection.execute(select(feedback).where(feedback.c.run_id == run_id)).first()
        return None if row is None else Feedback(bool(row.helpful), row.reason)

    def _mark(self, conversation_id: str, deleted_at: float | None) -> None:
        with self._database.write() as connection:
            named = conversations.c.id == conversation_id
            connection.execute(update(conversations).where(named).values(deleted_at=deleted_at))

    def _update(self, conversation_id: str, **values: Any) -> None:
        with self._database.write() as connection:
            changed = connection.execute(
                update(conversations).where(conversations.c.id == conversation_id).values(**values)
            )
        if changed.rowcount == 0:
            raise NotFound("This conversation is no longer there.", "Start a new one.")


def title_of(question: str) -> str:
    """The title that a first question gives its conversation."""
    line = " ".join(question.split())
    return line if len(line) <= _TITLE_LENGTH else line[: _TITLE_LENGTH - 1].rstrip() + "…"


def refuse_deleted(connection: Connection, conversation_id: str) -> None:
    """Raises `NotFound` for a conversation that was deleted, also while that can be taken back."""
    query = select(conversations.c.id).where(conversations.c.id == conversation_id, listing.visible(None))
    if connection.execute(query).first() is None:
        raise NotFound("This conversation is no longer there.", "Start a new one.")


def refuse_while_answering(connection: Connection, conversation_id: str) -> None:
    """Raises `BadRequest` while an answer of this conversation is written, or waits for a person."""
    if found := answering(connection, conversation_id):
        if found.state == "waiting":
            raise BadRequest("The answer before this one waits for you.", "Say first whether its query may be sent.")
        raise BadRequest("The answer before this one is still being written.", "Wait for it, or stop it.")


def answering(connection: Connection, conversation_id: str) -> Any:
    """The run that is answering in this conversation or waits for a person, with its state; None where none is."""
    active = runs.c.state.in_(("running", "waiting"))
    query = select(runs.c.id, runs.c.state, runs.c.owner).where(runs.c.conversation_id == conversation_id, active)
    rows = connection.execute(query).all()
    return next((row for row in rows if row.state == "waiting" or is_alive(row.owner)), None)


def _conversation(row: Row[Any]) -> Conversation:
    changes = load_changes(row.options)
    return Conversation(row.id, row.title, row.created_at, row.updated_at, changes, row.person, pinned=bool(row.pinned))


def _message(row: Row[Any], branches: tuple[int, ...], versions: int) -> Message:
    state: RunState = row.state if row.run_id else "done"
    return Message(
        row.id, row.conversation_id, row.role, row.text, row.created_at, row.run_id, state, branches, versions
    )
