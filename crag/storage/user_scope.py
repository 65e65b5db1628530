"""What one user of a home may see: the rows they own, and the services limited to these rows.

Conversations, datasets, evaluations and outbound records name their owner: an account, or the key of a browser.
Documents belong to their collection, and a collection to an account or to everyone. Everything else that belongs to a
user leads to one of these through foreign keys.
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
    func,
    or_,
    select,
    true,
)

from crag.errors import BadRequest, NotFound
from crag.storage.engine import Database
from crag.storage.tables import (
    calibrations,
    collection_members,
    collections,
    conversations,
    evaluations,
    jobs,
    messages,
    queued_questions,
    removed_sources,
    rulings,
    runs,
    users,
    watched_folders,
)
from crag.types import ACCOUNT_PREFIX, is_account

_OF_DOCUMENTS = (jobs, removed_sources, rulings, watched_folders)  # of an account, or of all browsers together

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
        """Return the part, and cache it as an attribute of the service."""
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

    Where the owner is empty, collections belong to everyone, conversations to nobody yet, and other rows to all
    browsers but to no account.
    """
    if user is None:
        return true()
    if table is users:
        return users.c.id == user
    if table is collections:
        return or_(collections.c.person.in_((user, "")), collections.c.public == 1, _is_shared_with(user))
    if table is calibrations:
        named = select(collections.c.name).where(visible_rows(collections, user))
        return or_(calibrations.c.collection == "", calibrations.c.collection.in_(named))
    if table in _OF_DOCUMENTS:
        return table.c.person == document_owner(user)
    if "person" in table.c:
        shared = false() if table is conversations else (table.c.person == "") & _is_browser(user)
        return or_(table.c.person == user, shared)
    keys = sorted(table.foreign_keys, key=lambda key: key.parent.name)
    return or_(false(), *(_leads_to_visible_row(key, user) for key in keys if key.column.table is not table))


def _leads_to_visible_row(key: ForeignKey, user: str | BindParameter[str]) -> ColumnElement[bool]:
    parent = key.column.table
    found = select(key.column).where(key.column == key.parent, visible_rows(parent, user))
    return found.correlate_except(parent).exists()


def document_owner(user: str | BindParameter[str] | None) -> str:
    """Return the owner of documents that a user adds: an account, or empty, since browsers share all documents."""
    return user if isinstance(user, str) and is_account(user) else ""


def changeable_collections(user: str | None) -> ColumnElement[bool]:
    """Match the collections that a user (None: anyone) may rename, share and delete, and remove documents from.

    Of accounts, only administrators may change what belongs to everyone.
    """
    if user is None:
        return true()
    if not is_account(user):
        return collections.c.person == ""
    admin = select(users.c.id).where(users.c.id == user, users.c.role == "admin").exists()
    return or_(collections.c.person == user, (collections.c.person == "") & admin)


def extensible_collections(user: str | None) -> ColumnElement[bool]:
    """Match the collections that a user (None: anyone) may add documents to."""
    if user is None or not is_account(user):
        return changeable_collections(user)
    return or_(changeable_collections(user), _is_shared_with(user, collection_members.c.may_add == 1))


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


def _is_browser(user: str | BindParameter[str]) -> ColumnElement[bool]:
    if isinstance(user, str):
        return false() if is_account(user) else true()
    return ~user.startswith(ACCOUNT_PREFIX)


def _is_shared_with(user: str | BindParameter[str], *conditions: ColumnElement[bool]) -> ColumnElement[bool]:
    shared = select(collection_members.c.collection).join(users, users.c.email == collection_members.c.email)
    return collections.c.name.in_(shared.where(users.c.id == user, *conditions))


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
