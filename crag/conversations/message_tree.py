"""Messages of a conversation as a tree. Editing a question starts a new branch; one branch is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import CTE, Connection, Row, func, literal, select, update

from crag.storage.tables import conversations, messages, runs

_ANY_DEPTH = 1_000_000


def read_head(connection: Connection, conversation_id: str) -> int | None:
    """Return the last message of the branch shown, or None if there are no messages."""
    found = select(conversations.c.head_id).where(conversations.c.id == conversation_id)
    return connection.execute(found).scalar()


def set_head(connection: Connection, conversation_id: str, message_id: int) -> None:
    """Show the branch that ends with this message."""
    connection.execute(update(conversations).where(conversations.c.id == conversation_id).values(head_id=message_id))


def read_branch(connection: Connection, message_id: int | None, last: int | None = None) -> Sequence[Row[Any]]:
    """Return a message and its ancestors with the states of their runs, oldest first.

    With `last`, return at most that many, counted from the message upwards.
    """
    walked = _walk_up(message_id, last or _ANY_DEPTH)
    query = (
        select(messages, runs.c.state)
        .join(walked, walked.c.id == messages.c.id)
        .outerjoin(runs, messages.c.run_id == runs.c.id)
        .order_by(messages.c.id)
    )
    return connection.execute(query).all()


def count_branch_messages(connection: Connection, message_id: int | None) -> int:
    """Return the number of messages from the root to this one, inclusive."""
    return connection.execute(select(func.count()).select_from(_walk_up(message_id, _ANY_DEPTH))).scalar_one()


def find_latest_descendant(connection: Connection, message_id: int) -> int:
    """Return the newest descendant of this message, or the message itself if it has none."""
    walked = select(messages.c.id).where(messages.c.id == message_id).cte("below", recursive=True)
    walked = walked.union_all(select(messages.c.id).join(walked, messages.c.parent_id == walked.c.id))
    return int(connection.execute(select(func.max(walked.c.id))).scalar_one())


def read_siblings(connection: Connection, rows: Sequence[Row[Any]]) -> dict[int, tuple[int, ...]]:
    """Return for each message the ids of all messages at its position, in order and including its own."""
    own, other = messages, messages.alias()
    same_place = own.c.parent_id.is_not_distinct_from(other.c.parent_id) & (
        own.c.conversation_id == other.c.conversation_id
    )
    query = (
        select(own.c.id, other.c.id)
        .join(other, same_place)
        .where(own.c.id.in_([row.id for row in rows]))
        .order_by(other.c.id)
    )
    found: dict[int, tuple[int, ...]] = {}
    for message_id, beside in connection.execute(query):
        found[message_id] = (*found.get(message_id, ()), beside)
    return found


def count_versions(connection: Connection, rows: Sequence[Row[Any]]) -> dict[str, int]:
    """Return the number of versions for each of these messages' runs that has other versions."""
    own = select(runs.c.id, runs.c.version_of).where(runs.c.id.in_([row.run_id for row in rows if row.run_id]))
    roots: dict[str, str] = {row.id: row.version_of or row.id for row in connection.execute(own)}
    counted = (
        select(runs.c.version_of, func.count().label("later"))
        .where(runs.c.version_of.in_(roots.values()))
        .group_by(runs.c.version_of)
    )
    later = {row.version_of: row.later for row in connection.execute(counted)}
    return {run_id: 1 + later[root] for run_id, root in roots.items() if root in later}


def _walk_up(message_id: int | None, most: int) -> CTE:
    walked = (
        select(messages.c.id, messages.c.parent_id, literal(1).label("depth"))
        .where(messages.c.id == message_id)
        .cte("above", recursive=True)
    )
    parents = select(messages.c.id, messages.c.parent_id, walked.c.depth + 1).where(
        messages.c.id == walked.c.parent_id, walked.c.depth < most
    )
    return walked.union_all(parents)
