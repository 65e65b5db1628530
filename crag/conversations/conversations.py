"""Conversations, their owners, and delayed deletion."""

from __future__ import annotations

import logging
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    Update,
    bindparam,
    delete,
    func,
    insert,
    literal,
    select,
    true,
    update,
)

from crag.cancellation import Cancellation
from crag.concurrency.workers import BackgroundWorker
from crag.conversations import conversation_list, message_tree
from crag.conversations.conversation_list import FoundConversations
from crag.errors import BadRequest, CragError, NotFound, StillAnswering
from crag.options import OptionChanges, dump_changes, load_changes
from crag.storage.engine import Database, is_owner_alive
from crag.storage.outbound_log import SERVER_KEY
from crag.storage.tables import (
    collections,
    conversations,
    datasets,
    departures,
    evaluations,
    feedback,
    messages,
    metadata,
    runs,
)
from crag.storage.user_scope import UserScoped, check_visible
from crag.translation import N_, _
from crag.types import Conversation, Feedback, Import, Message, RunState, is_user_key

NEW_TITLE = N_("New conversation")
_TITLE_LENGTH = 80


class Conversations(UserScoped):
    """The conversations of one home or of one user."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, changes: OptionChanges | None = None) -> Conversation:
        """Create an empty conversation. `changes` are its options that differ from the home's."""
        now, user = time.time(), self._user or ""
        made = Conversation(uuid.uuid4().hex, NEW_TITLE, now, now, changes or {}, user)
        values = {"id": made.id, "title": made.title, "created_at": now, "updated_at": now, "person": user}
        with self._database.write() as connection:
            connection.execute(insert(conversations).values(options=dump_changes(made.changes), **values))
        return made

    def list(self, search: str = "") -> list[Conversation]:
        """Return the conversations with at least one message, pinned ones first, then the latest.

        With `search`, return those whose title or messages contain it.
        """
        query = conversation_list.select_listed(select(conversations), search.strip(), self._user)
        with self._database.read() as connection:
            return [_conversation_from_row(row) for row in connection.execute(query)]

    def list_deleted(self, limit: int) -> Sequence[Conversation]:
        """Return the conversations whose deletion can still be undone, at most `limit`, last deleted first."""
        deleted_at = conversations.c.deleted_at
        query = select(conversations).where(deleted_at > time.time() - UNDO_SECONDS, self._visible(conversations))
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(deleted_at.desc()).limit(limit))
            return [_conversation_from_row(row) for row in rows]

    def find(self, search: str, limit: int) -> FoundConversations:
        """Return the first `limit` conversations of `list`, the total, and a snippet of each match."""
        listed = conversation_list.select_listed(select(conversations.c.id), search.strip(), self._user)
        with self._database.read() as connection:
            ids = connection.execute(listed).scalars().all()
            shown = ids[:limit]
            rows = connection.execute(select(conversations).where(conversations.c.id.in_(shown)))
            by_id = {row.id: _conversation_from_row(row) for row in rows}
            snippets = conversation_list.find_snippets(connection, shown, search.strip())
        return FoundConversations([by_id[one] for one in shown if one in by_id], len(ids), snippets)

    def get(self, conversation_id: str) -> Conversation:
        """Return one conversation. Raises `NotFound`, also if it belongs to another user or was deleted."""
        values = {"conversation": conversation_id, "user": self._user}
        with self._database.read() as connection:
            row = connection.execute(_select_one(limited=self._user is not None), values).first()
        if row is None:
            raise NotFound("This conversation no longer exists.", "Start a new one.")
        return _conversation_from_row(row)

    def find_by_run(self, run_id: str) -> Conversation | None:
        """Return the conversation of a run, None for a run of an evaluation or a command.

        Raises `NotFound`, also for a run of another user or of a deleted conversation.
        """
        query = select(runs.c.conversation_id).where(runs.c.id == run_id, self._visible(runs))
        with self._database.read() as connection:
            row = connection.execute(query).first()
        if row is None:
            raise NotFound("This answer no longer exists.")
        return self.get(row.conversation_id) if row.conversation_id else None

    def revision(self, conversation_id: str | None) -> tuple[object, ...]:
        """Return a value that changes with the number and order of the conversations, and with the branch shown.

        That is the branch of the conversation named, if any, with its title, its options and the state of its answer.
        """
        values = {"conversation": conversation_id, "user": self._user}
        with self._database.read() as connection:
            return tuple(connection.execute(_select_revision(limited=self._user is not None), values).one())

    def rename(self, conversation_id: str, title: str) -> None:
        """Change the title. Raises `BadRequest` if it is empty, `NotFound`."""
        if not title.strip():
            raise BadRequest("A conversation needs a title.", "Write one and try again.")
        self._update(conversation_id, title=title.strip()[:_TITLE_LENGTH])

    def set_changes(self, conversation_id: str, changes: OptionChanges) -> None:
        """Save the conversation's options that differ from the home's. Raises `NotFound`."""
        self._update(conversation_id, options=dump_changes(changes))

    def rename_collection(self, name: str, new_name: str) -> None:
        """Update the conversations of all users that use a collection when it is renamed."""
        with self._database.whole.write() as connection:
            for row in connection.execute(select(conversations)).all():
                kept = load_changes(row.options)
                if kept.get("collection") == name:
                    options = dump_changes({**kept, "collection": new_name})
                    connection.execute(
                        update(conversations).where(conversations.c.id == row.id).values(options=options)
                    )

    def pin(self, conversation_id: str, *, pinned: bool) -> None:
        """Pin the conversation to the top of the list, or unpin it. Raises `NotFound`."""
        self._update(conversation_id, pinned=int(pinned))

    def delete(self, conversation_id: str) -> None:
        """Hide the conversation from every list; it can be restored until it is purged. Ignores an unknown id."""
        self._mark(conversation_id, time.time())

    def restore(self, conversation_id: str) -> None:
        """Undo a deletion. A purged conversation stays deleted."""
        self._mark(conversation_id, None)

    def purge(self, older_than: float = 0.0) -> int:
        """Purge conversations deleted more than `older_than` seconds ago, with their messages and runs.

        Also what was deleted by a clock that was that far ahead. Return the number.
        """
        gone = func.abs(time.time() - conversations.c.deleted_at) >= older_than
        with self._database.write() as connection:
            return connection.execute(delete(conversations).where(gone, self._visible(conversations))).rowcount

    def messages(self, conversation_id: str, last: int | None = None) -> Sequence[Message]:
        """Return the messages of the branch shown, oldest first; with `last`, only that many of the newest.

        Raises `NotFound` for another user's conversation.
        """
        check_visible(self._database, conversations, conversation_id, self._user)
        with self._database.read() as connection:
            rows = message_tree.read_branch(connection, message_tree.read_head(connection, conversation_id), last)
            beside = message_tree.read_siblings(connection, [row for row in rows if row.role == "user"])
            versions = message_tree.count_versions(connection, rows)
        return [_message_from_row(row, beside.get(row.id, ()), versions.get(row.run_id, 1)) for row in rows]

    def count(self, conversation_id: str) -> int:
        """Return the number of messages of the branch shown. Raises `NotFound` for another user's conversation."""
        check_visible(self._database, conversations, conversation_id, self._user)
        with self._database.read() as connection:
            return message_tree.count_branch_messages(connection, message_tree.read_head(connection, conversation_id))

    def show_branch(self, conversation_id: str, message_id: int) -> None:
        """Show the branch of this question, up to its latest message.

        Raises `NotFound`, and `BadRequest` while an answer of the conversation is being written or waits for the user.
        """
        check_visible(self._database, conversations, conversation_id, self._user)
        with self._database.write() as connection:
            in_it = (messages.c.id == message_id) & (messages.c.conversation_id == conversation_id)
            if connection.execute(select(messages.c.id).where(in_it)).first() is None:
                raise NotFound("This question no longer exists.")
            check_not_answering(connection, conversation_id)
            message_tree.set_head(
                connection, conversation_id, message_tree.find_latest_descendant(connection, message_id)
            )

    def find_answer_run(self, question_id: int) -> str | None:
        """Return the id of the run whose answer to the question is shown, or None if there is no answer."""
        answer = select(messages.c.run_id).where(messages.c.parent_id == question_id, messages.c.role == "assistant")
        with self._database.read() as connection:
            return connection.execute(answer.where(self._visible(messages))).scalar()

    def give_feedback(self, run_id: str, helpful: bool, reason: str = "") -> None:
        """Save a rating and its reason for one answer, replacing an earlier one. Raises `NotFound`."""
        rated = select(runs.c.id).where(runs.c.id == run_id, self._visible(runs))
        with self._database.write() as connection:
            if connection.execute(rated).first() is None:
                raise NotFound("This answer no longer exists.")
            connection.execute(delete(feedback).where(feedback.c.run_id == run_id))
            connection.execute(
                insert(feedback).values(
                    run_id=run_id, helpful=int(helpful), reason=reason.strip(), given_at=time.time()
                )
            )

    def withdraw_feedback(self, run_id: str) -> None:
        """Delete the rating of an answer, if any."""
        with self._database.write() as connection:
            connection.execute(delete(feedback).where(feedback.c.run_id == run_id, self._visible(feedback)))

    def feedback(self, run_id: str) -> Feedback | None:
        """Return the rating of an answer, or None."""
        return self.feedback_by_run([run_id]).get(run_id)

    def feedback_by_run(self, run_ids: Sequence[str]) -> Mapping[str, Feedback]:
        """Return the ratings of these answers by run id, without those that have none."""
        with self._database.read() as connection:
            given = select(feedback).where(feedback.c.run_id.in_(run_ids), self._visible(feedback))
            rows = connection.execute(given)
            return {row.run_id: Feedback(bool(row.helpful), row.reason) for row in rows}

    def _named(self, conversation_id: str) -> ColumnElement[bool]:
        return (conversations.c.id == conversation_id) & self._visible(conversations)

    def _mark(self, conversation_id: str, deleted_at: float | None) -> None:
        with self._database.write() as connection:
            connection.execute(update(conversations).where(self._named(conversation_id)).values(deleted_at=deleted_at))

    def _update(self, conversation_id: str, **values: Any) -> None:
        with self._database.write() as connection:
            changed = connection.execute(update(conversations).where(self._named(conversation_id)).values(**values))
        if changed.rowcount == 0:
            raise NotFound("This conversation no longer exists.", "Start a new one.")


# Statements of every redraw are built once: building one takes longer than running it.
_ACTIVE = select(runs.c.id, runs.c.state, runs.c.owner).where(
    runs.c.conversation_id == bindparam("conversation"), runs.c.state.in_(("running", "waiting"))
)


@cache
def _select_one(*, limited: bool) -> Select[Any]:
    return select(conversations).where(conversations.c.id == bindparam("conversation"), _is_seen(limited=limited))


@cache
def _select_revision(*, limited: bool) -> Select[Any]:
    seen, its = _is_seen(limited=limited), conversations.c
    listed = select(func.count(), func.max(its.updated_at)).where(seen).subquery()
    opened = (
        select(its.title, its.options, its.head_id, runs.c.state)
        .outerjoin(messages, messages.c.id == its.head_id)
        .outerjoin(runs, runs.c.id == messages.c.run_id)
        .where(its.id == bindparam("conversation"), seen)
        .subquery()
    )
    return select(listed, opened).outerjoin(opened, true())


def _is_seen(*, limited: bool) -> ColumnElement[bool]:
    return conversation_list.visible_to(bindparam("user") if limited else None)


def title_of(question: str) -> str:
    """Return the title of a conversation made from its first question."""
    line = " ".join(question.split())
    return line if len(line) <= _TITLE_LENGTH else line[: _TITLE_LENGTH - 1].rstrip() + "…"


def set_first_title(connection: Connection, conversation_id: str, question: str) -> None:
    """Name a conversation that has no title yet after a question."""
    is_unnamed = conversations.c.title == NEW_TITLE
    named = update(conversations).where(conversations.c.id == conversation_id, is_unnamed)
    connection.execute(named.values(title=title_of(question)))


def check_not_deleted(connection: Connection, conversation_id: str) -> None:
    """Raise `NotFound` for a deleted conversation, even while the deletion can be undone."""
    query = select(conversations.c.id).where(conversations.c.id == conversation_id, conversation_list.visible_to(None))
    if connection.execute(query).first() is None:
        raise NotFound("This conversation no longer exists.", "Start a new one.")


def check_not_answering(connection: Connection, conversation_id: str) -> None:
    """Raise `StillAnswering` while an answer of this conversation is being written or waits for the user."""
    if found := find_active_run(connection, conversation_id):
        if found.state == "waiting":
            raise StillAnswering("The previous answer is waiting for you.", "Allow or decline its web search first.")
        raise StillAnswering("The previous answer is still being written.", "Wait for it, or stop it.")


def find_active_run(connection: Connection, conversation_id: str) -> Any:
    """Return (id, state, owner) of the conversation's run that is running or waiting for the user, or None."""
    rows = connection.execute(_ACTIVE, {"conversation": conversation_id}).all()
    return next((row for row in rows if row.state == "waiting" or is_owner_alive(connection, row.owner)), None)


def _conversation_from_row(row: Row[Any]) -> Conversation:
    changes = load_changes(row.options)
    imported = None if row.imported_at is None else Import(row.imported_at, row.imported_from)
    title = _(NEW_TITLE) if row.title == NEW_TITLE else row.title
    return Conversation(row.id, title, row.created_at, row.updated_at, changes, row.person, bool(row.pinned), imported)


def _message_from_row(row: Row[Any], branches: tuple[int, ...], versions: int) -> Message:
    state: RunState = row.state if row.run_id else "done"
    imported = bool(row.imported)
    return Message(
        row.id, row.conversation_id, row.role, row.text, row.created_at, row.run_id, state, branches, versions, imported
    )


_QUESTION_KINDS = ("web search", "model", "embedding")  # kinds of outbound records that contain questions


class ConversationOwners(UserScoped):
    """Owners of conversations in one home, each identified by the key of a browser.

    Changes of owner are made without the limit of a user: the new owner is another user.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def has_others(self) -> bool:
        """Return whether this home holds anything of another user."""
        owned = (collections, conversations, datasets, evaluations, departures)
        queries = [
            select(literal(1)).where(table.c.person.not_in(("", SERVER_KEY)), ~self._visible(table)) for table in owned
        ]
        with self._database.whole.read() as connection:
            return any(connection.execute(query.limit(1)).first() for query in queries)

    def claim_unowned(self, user: str) -> None:
        """Give this user all conversations without an owner. Does nothing once any conversation has an owner."""
        anybodys = select(conversations.c.id).limit(1)
        somebodys = select(conversations.c.id).where(conversations.c.person != "").limit(1)
        with self._database.whole.read() as connection:  # on each visit, which should rarely wait for writers
            if connection.execute(anybodys).first() is None or connection.execute(somebodys).first():
                return
        with self._database.whole.write() as connection:
            if connection.execute(somebodys).first() is None:
                connection.execute(update(conversations).values(person=user))
                asked = departures.c.kind.in_(_QUESTION_KINDS) & (departures.c.person == "")
                connection.execute(update(departures).where(asked).values(person=user))

    def adopt(self, former: str, user: str) -> None:
        """Give this user everything that belongs to a former key, which owns nothing afterwards."""
        owned = [table for table in metadata.sorted_tables if "person" in table.c]
        asked = [select(literal(1)).where(table.c.person == former).limit(1) for table in owned]
        with self._database.whole.read() as connection:
            if not any(connection.execute(query).first() for query in asked):
                return
        with self._database.whole.write() as connection:
            for table in owned:
                connection.execute(update(table).values(person=user).where(table.c.person == former))

    def transfer(self, user: str, conversation_ids: Sequence[str]) -> int:
        """Transfer conversations to the user with this key, and return how many.

        Raises `BadRequest` if it is not a key.
        """
        with self._database.whole.write() as connection:
            given = conversations.c.id.in_(conversation_ids) & self._visible(conversations)
            return connection.execute(_set_owner(user).where(given)).rowcount

    def transfer_all(self, user: str) -> int:
        """Transfer all conversations and their outbound records; return the number of conversations.

        Raises `BadRequest`.
        """
        sent = update(departures).where(departures.c.person != "", self._visible(departures)).values(person=user)
        with self._database.whole.write() as connection:
            connection.execute(sent)
            return connection.execute(_set_owner(user).where(self._visible(conversations))).rowcount


def _set_owner(user: str) -> Update:
    if not is_user_key(user):
        raise BadRequest("This is not a browser key.", "Copy the key from Settings, Privacy in that browser.")
    return update(conversations).values(person=user)


UNDO_SECONDS = 600.0

_logger = logging.getLogger(__name__)


class DelayedDeletion:
    """Calls `purge` once some seconds have passed after a `schedule`, until it is closed."""

    def __init__(self, purge: Callable[[], None], seconds: float = UNDO_SECONDS) -> None:
        self._purge = purge
        self._seconds = seconds
        self._due: deque[float] = deque()
        self._worker = BackgroundWorker("delayed-deletion", self._purge_when_due)
        self._worker.start()

    def schedule(self) -> None:
        """Schedule a purge. Call it after each deletion."""
        self._due.append(time.monotonic() + self._seconds)
        self._worker.wake()

    def close(self) -> None:
        """Cancel scheduled purges and wait for one in progress."""
        self._worker.close()

    def _purge_when_due(self, stop: Cancellation) -> None:
        while self._due and not stop.wait(max(0.0, self._due[0] - time.monotonic())):
            self._due.popleft()
            try:
                self._purge()
            except CragError as error:  # the next start purges again
                _logger.warning("Could not delete for good what was removed: %s", error.message)
