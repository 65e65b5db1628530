"""Services limited to one user of a home.

Their statements match only rows that `row_security` lets the user read or change. Their database is limited, too: where
it has row-level security, it hides the rows of others even from a statement without conditions.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from copy import copy
from functools import cache
from typing import Any, Generic, Self, TypeVar

from sqlalchemy import ColumnElement, Connection, Select, Table, bindparam, func, select

from crag.errors import BadRequest, NotFound
from crag.storage.engine import Database
from crag.storage.row_security import visible_rows
from crag.storage.tables import collections, conversations, evaluations, messages, queued_questions, runs, users
from crag.types import is_account

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
    _unlimited: Self | None = None

    def for_user(self, user: str | None) -> Self:
        """Return this service and its parts, limited to a user (None: not limited). A limit cannot be changed."""
        if user == self._user:
            return self
        if self._user is not None:
            raise ValueError("This service is limited to another user.")
        limited = copy(self)
        limited._user, limited._unlimited = user, self  # noqa: SLF001 — of the same class
        for name, part in list(vars(self).items()):
            if isinstance(part, UserScoped | Database):
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
        """Return the part, and cache it as an attribute of the service."""
        name, user = self._build.__name__, service._user  # noqa: SLF001 — of the same module
        whole = service._unlimited or service  # noqa: SLF001
        with self._lock:
            part: Part = vars(whole).get(name) or vars(whole).setdefault(name, self._build(whole))
        if isinstance(part, UserScoped):
            part = part.for_user(user)
        vars(service)[name] = part
        return part


def check_admin(database: Database, user: str | None) -> None:
    """Raise `BadRequest` for an account that may not change what concerns everyone."""
    if not is_account(user):
        return
    role = select(users.c.role).where(users.c.id == user)
    with database.read() as connection:
        if connection.scalar(role) != "admin":
            raise BadRequest("Only administrators may change this.", "Ask one of them.")


def hides_documents(connection: Connection, user: str | None) -> bool:
    """Return whether there are documents that this user may not read."""
    hidden = select(func.count()).select_from(collections).where(~visible_rows(collections, user))
    return user is not None and (connection.scalar(hidden) or 0) > 0


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
