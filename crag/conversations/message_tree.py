"""Messages of a conversation as a tree. Editing a question starts a new branch; one branch is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import CTE, Connection, Row, bindparam, func, literal, select, update

from crag.storage.tables import conversations, messages, runs

_ANY_DEPTH = 1_000_000


def _walk_up() -> CTE:
    """Return a message and its ancestors; takes `message_id` and `most`, the number of messages at most."""
    walked = (
        select(messages.c.id, messages.c.parent_id, literal(1).label("depth"))
        .where(messages.c.id == bindparam("message_id"))
        .cte("above", recursive=True)
    )
    parents = select(messages.c.id, messages.c.parent_id, walked.c.depth + 1).where(
        messages.c.id == walked.c.parent_id, walked.c.depth < bindparam("most")
    )
    return walked.union_all(parents)


# Built once: every redraw of a conversation runs these, and building one takes longer than running it.
_ABOVE = _walk_up()
_BRANCH = (
    select(messages, runs.c.state, runs.c.imported)
    .join(_ABOVE, _ABOVE.c.id == messages.c.id)
    .outerjoin(runs, messages.c.run_id == runs.c.id)
    .order_by(messages.c.id)
)
_COUNT = select(func.count()).select_from(_ABOVE)
_HEAD = select(conversations.c.head_id).where(conversations.c.id == bindparam("conversation"))
_OTHER = messages.alias()
_SIBLINGS = (
    select(messages.c.id, _OTHER.c.id)
    .join(
        _OTHER,
        messages.c.parent_id.is_not_distinct_from(_OTHER.c.parent_id)
        & (messages.c.conversation_id == _OTHER.c.conversation_id),
    )
    .where(messages.c.id.in_(bindparam("ids", expanding=True)))
    .order_by(_OTHER.c.id)
)
_ROOTS = select(runs.c.id, runs.c.version_of).where(runs.c.id.in_(bindparam("ids", expanding=True)))
_LATER = (
    select(runs.c.version_of, func.count().label("later"))
    .where(runs.c.version_of.in_(bindparam("roots", expanding=True)))
    .group_by(runs.c.version_of)
)


def read_head(connection: Connection, conversation_id: str) -> int | None:
    """Return the last message of the branch shown, or None if there are no messages."""
    return connection.execute(_HEAD, {"conversation": conversation_id}).scalar()


def set_head(connection: Connection, conversation_id: str, message_id: int) -> None:
    """Show the branch that ends with this message."""
    connection.execute(update(conversations).where(conversations.c.id == conversation_id).values(head_id=message_id))


def read_branch(connection: Connection, message_id: int | None, last: int | None = None) -> Sequence[Row[Any]]:
    """Return a message and its ancestors with state and origin of their runs, oldest first.

    With `last`, return at most that many, counted from the message upwards.
    """
    return connection.execute(_BRANCH, {"message_id": message_id, "most": last or _ANY_DEPTH}).all()


def count_branch_messages(connection: Connection, message_id: int | None) -> int:
    """Return the number of messages from the root to this one, inclusive."""
    return connection.execute(_COUNT, {"message_id": message_id, "most": _ANY_DEPTH}).scalar_one()


def find_latest_descendant(connection: Connection, message_id: int) -> int:
    """Return the newest descendant of this message, or the message itself if it has none."""
    walked = select(messages.c.id).where(messages.c.id == message_id).cte("below", recursive=True)
    walked = walked.union_all(select(messages.c.id).join(walked, messages.c.parent_id == walked.c.id))
    return int(connection.execute(select(func.max(walked.c.id))).scalar_one())


def read_siblings(connection: Connection, rows: Sequence[Row[Any]]) -> dict[int, tuple[int, ...]]:
    """Return for each message the ids of all messages at its position, in order and including its own."""
    found: dict[int, tuple[int, ...]] = {}
    for message_id, beside in connection.execute(_SIBLINGS, {"ids": [row.id for row in rows]}):
        found[message_id] = (*found.get(message_id, ()), beside)
    return found


def count_versions(connection: Connection, rows: Sequence[Row[Any]]) -> dict[str, int]:
    """Return the number of versions for each of these messages' runs that has other versions."""
    run_ids = [row.run_id for row in rows if row.run_id]
    roots: dict[str, str] = {row.id: row.version_of or row.id for row in connection.execute(_ROOTS, {"ids": run_ids})}
    later = {row.version_of: row.later for row in connection.execute(_LATER, {"roots": [*roots.values()]})}
    return {run_id: 1 + later[root] for run_id, root in roots.items() if root in later}
