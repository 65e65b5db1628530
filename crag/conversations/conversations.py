"""Conversations and their messages: made, listed, renamed, deleted; the runs write the answers."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, delete, func, insert, or_, select, update

from crag.database import Database
from crag.database.tables import conversations, feedback, messages, runs
from crag.errors import BadRequest, NotFound
from crag.options import Changes, dump_changes, load_changes
from crag.types import Conversation, Message

NEW_TITLE = "New conversation"
_TITLE_LENGTH = 80


class Conversations:
    """All conversations of one home."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, changes: Changes | None = None) -> Conversation:
        """A new, empty conversation whose questions differ so from what holds for the home."""
        now = time.time()
        made = Conversation(uuid.uuid4().hex, NEW_TITLE, now, now, changes or {})
        with self._database.write() as connection:
            connection.execute(
                insert(conversations).values(
                    id=made.id, title=made.title, created_at=now, updated_at=now, options=dump_changes(made.changes)
                )
            )
        return made

    def list(self, search: str = "") -> list[Conversation]:
        """Those with at least one message, the latest first; with `search`, those whose title or text holds it."""
        used = select(messages.c.conversation_id).where(messages.c.conversation_id == conversations.c.id)
        query = select(conversations).where(used.exists()).order_by(conversations.c.updated_at.desc())
        if search.strip():
            held = used.where(messages.c.text.icontains(search.strip(), autoescape=True)).exists()
            query = query.where(or_(conversations.c.title.icontains(search.strip(), autoescape=True), held))
        with self._database.read() as connection:
            return [_conversation(row) for row in connection.execute(query)]

    def get(self, conversation_id: str) -> Conversation:
        """One conversation. Raises `NotFound`."""
        with self._database.read() as connection:
            row = connection.execute(select(conversations).where(conversations.c.id == conversation_id)).first()
        if row is None:
            raise NotFound("This conversation is no longer there.", "Start a new one.")
        return _conversation(row)

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

    def delete(self, conversation_id: str) -> None:
        """Deletes it with its messages and runs; one that is not there is left alone."""
        with self._database.write() as connection:
            connection.execute(delete(conversations).where(conversations.c.id == conversation_id))

    def messages(self, conversation_id: str, last: int | None = None) -> Sequence[Message]:
        """Its messages, oldest first; with `last`, only so many of the newest."""
        query = (
            select(messages, runs.c.state)
            .outerjoin(runs, messages.c.run_id == runs.c.id)
            .where(messages.c.conversation_id == conversation_id)
            .order_by(messages.c.id.desc())
            .limit(last)
        )
        with self._database.read() as connection:
            rows = connection.execute(query).all()
        return [_message(row) for row in reversed(rows)]

    def count(self, conversation_id: str) -> int:
        """How many messages it has."""
        query = select(func.count()).where(messages.c.conversation_id == conversation_id)
        with self._database.read() as connection:
            return connection.execute(query).scalar_one()

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

    def feedback(self, run_id: str) -> bool | None:
        """Whether the answer was found helpful; None when nobody said."""
        with self._database.read() as connection:
            value = connection.execute(select(feedback.c.helpful).where(feedback.c.run_id == run_id)).scalar()
        return None if value is None else bool(value)

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


def _conversation(row: Row[Any]) -> Conversation:
    return Conversation(row.id, row.title, row.created_at, row.updated_at, load_changes(row.options))


def _message(row: Row[Any]) -> Message:
    return Message(
        row.id, row.conversation_id, row.role, row.text, row.created_at, row.run_id, row.state if row.run_id else "done"
    )
