"""What one user of a home may see: the rows they own, and the services limited to these rows.

Conversations, datasets, evaluations and outbound records name their owner, the key of a browser. Everything else that
belongs to a user leads to one of these through foreign keys.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from copy import copy
from functools import cache
from typing import Any, Generic, Self, TypeVar

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    ForeignKey,
    Select,
    Table,
    bindparam,
    false,
    or_,
    select,
    true,
)

from crag.errors import NotFound
from crag.storage.engine import Database
from crag.storage.tables import conversations, evaluations, messages, queued_questions, runs

_MISSING = {
    conversations: ("This conversation no longer exists.", "Start a new one."),
    evaluations: ("This evaluation no longer exists.", "Choose another one."),
    messages: ("This question no longer exists.", ""),
    queued_questions: ("This question is no longer waiting.", "It was asked or removed meanwhile."),
    runs: ("This answer no longer exists.", ""),
}


class UserScoped:
    """Base class of services that can be limited to one user; an unlimited one serves the owner of the home.

    Every statement of a subclass on the rows of users goes through `visible_rows` or `check_visible`.
    """

    _user: str | None = None
    _unlimited: UserScoped | None = None

    def for_user(self, user: str | None) -> Self:
        """Return this service and its parts, limited to a user (None: not limited). A limit cannot be changed."""
        if user == self._user:
            return self
        if self._user is not None:
            raise ValueError("This service is limited to another user.")
        limited = copy(self)
        limited._user, limited._unlimited = user, self  # noqa: SLF001 — of the same class
        for name, part in list(vars(self).items()):
            if isinstance(part, UserScoped):
                setattr(limited, name, part.for_user(user))
        return limited

    def _visible(self, table: Table) -> ColumnElement[bool]:
        return visible_rows(table, self._user)


Part = TypeVar("Part")


class DeferredPart(Generic[Part]):
    """Decorator of a method that builds a part of a service when it is first read, then an attribute. Thread-safe.

    The part is built once for all users. A service that is limited to a user has it limited to that user, too.
    """

    def __init__(self, build: Callable[[Any], Part]) -> None:
        self._build = build
        self._lock = threading.RLock()

    def __get__(self, service: UserScoped, _: type[UserScoped]) -> Part:
        """Return the part, and keep it as an attribute of the service, which is what later reads find."""
        name, user = self._build.__name__, service._user  # noqa: SLF001 — of the same module
        whole = service._unlimited or service  # noqa: SLF001
        with self._lock:
            part: Part = vars(whole).get(name) or vars(whole).setdefault(name, self._build(whole))
        if isinstance(part, UserScoped):
            part = part.for_user(user)
        vars(service)[name] = part
        return part


def visible_rows(table: Table, user: str | BindParameter[str] | None) -> ColumnElement[bool]:
    """Match the rows that a user (None: anyone) may read and change, including those of deleted conversations.

    Where the owner is empty, conversations belong to nobody yet, and other rows to everyone.
    """
    if user is None:
        return true()
    if "person" in table.c:
        return table.c.person.in_((user,) if table is conversations else (user, ""))
    keys = sorted(table.foreign_keys, key=lambda key: key.parent.name)
    return or_(false(), *(_leads_to_visible_row(key, user) for key in keys if key.column.table is not table))


def _leads_to_visible_row(key: ForeignKey, user: str | BindParameter[str]) -> ColumnElement[bool]:
    parent = key.column.table
    found = select(key.column).where(key.column == key.parent, visible_rows(parent, user))
    return found.correlate_except(parent).exists()


def visible_questions(connection: Connection, questions: Collection[str], user: str | None) -> set[str]:
    """Return those of these questions that a user (None: anyone) may read, because they asked them."""
    if user is None or not questions:
        return set(questions)
    asked = select(runs.c.question).where(runs.c.question.in_(questions), visible_rows(runs, user))
    return set(connection.scalars(asked))


def check_visible(database: Database, table: Table, row_id: Any, user: str | None) -> None:
    """Raise `NotFound` unless this user may see the row with this id. Does nothing for an unlimited user."""
    if user is None:
        return
    with database.read() as connection:
        found = connection.execute(_find_visible(table), {"row": row_id, "user": user}).first()
    if found is None:
        raise NotFound(*_MISSING[table])


@cache
def _find_visible(table: Table) -> Select[Any]:
    """Return the statement that looks up one visible row; built once, since every redraw runs it for each message."""
    (key,) = table.primary_key
    return select(key).where(key == bindparam("row"), visible_rows(table, bindparam("user")))
