"""Collections of the library: create, rename, delete, share, and move documents between them.

The collections of an account are named after it, as in *ann/Papers*, so that two people may choose the same name and
nobody learns of a collection that they may not read.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Select, delete, func, insert, select, update

from crag.errors import BadRequest, NotFound
from crag.storage.engine import Database, see_everything
from crag.storage.removed_sources import remove_source
from crag.storage.row_security import changeable_collections, visible_rows
from crag.storage.sources import (
    OWNER_SEPARATOR,
    advance_epoch,
    check_changeable,
    delete_source,
    ensure_collection,
    is_path_or_url,
    may_extend,
    read_name_prefix,
)
from crag.storage.tables import collection_members, collections, jobs, passages, removed_sources, sources
from crag.storage.user_scope import UserScoped
from crag.types import (
    DEFAULT_COLLECTION,
    Collection,
    CollectionAccess,
    CollectionSharing,
    MoveResult,
    fold_email,
    is_account,
    strip_unstorable,
)

_MAX_COLLECTION_NAME_LENGTH = 80
_EMAIL = re.compile(r"[^@\s,]+@[^@\s,]+")
_WITH_COUNTS = (  # built once, since every redraw runs it
    select(collections.c.name, func.count(sources.c.id.distinct()), func.count(passages.c.id))
    .select_from(collections.outerjoin(sources).outerjoin(passages))
    .group_by(collections.c.name)
    .order_by(collections.c.name != DEFAULT_COLLECTION, func.lower(collections.c.name))
)


class Collections(UserScoped):
    """The collections of one home. The default collection of everyone always exists and keeps its name."""

    def __init__(self, database: Database) -> None:
        self._database = database
        with self._database.read() as connection:
            exists = _collection_exists(connection, DEFAULT_COLLECTION, None)
        if not exists:
            self.create(DEFAULT_COLLECTION)

    @property
    def default(self) -> str:
        """The name of the collection to which documents are added unless another is chosen."""
        with self._database.read() as connection:
            return read_name_prefix(connection, self._user) + DEFAULT_COLLECTION

    def all(self) -> list[Collection]:
        """Return every collection with its counts, the default one first, then by name."""
        with self._database.read() as connection:
            found = [Collection(*row) for row in connection.execute(_WITH_COUNTS.where(self._visible(collections)))]
        default = self.default if is_account(self._user) else DEFAULT_COLLECTION
        return sorted(found, key=lambda one: one.name != default)

    def create(self, name: str) -> str:
        """Create the collection if necessary and return its name.

        Raises `BadRequest` for an invalid name.
        """
        with self._database.write() as connection:
            name = _own_name(connection, name, self._user)
            ensure_collection(connection, name, self._user)
        return name

    def find_target(self, name: str) -> str:
        """Return the collection to which documents are added that shall go to this one, which need not exist yet.

        An empty name means the default. Raises `BadRequest` for an invalid name, or if the user may only read it.
        """
        if not name:
            return self.default
        with self._database.read() as connection:
            normalized = normalize_collection_name(name)
            if not is_account(self._user) or may_extend(connection, normalized, self._user):
                return normalized
            if _collection_exists(connection, normalized, self._user):
                raise BadRequest(f"You may only read “{normalized}”.", "Choose another collection.")
            return _own_name(connection, normalized, self._user)

    def access(self, name: str) -> CollectionAccess:
        """Return what the user may do with a collection. Raises `NotFound`."""
        with self._database.read() as connection:
            _check_exists(connection, name, self._user)
            changeable = _is(name).where(changeable_collections(self._user))
            if connection.scalar(changeable):
                return "change"
            return "add" if may_extend(connection, name, self._user) else "read"

    def sharing(self, name: str) -> CollectionSharing:
        """Return with whom a collection is shared. Raises `NotFound`, or `BadRequest` if the user may not change it."""
        members = select(collection_members.c.email, collection_members.c.may_add)
        of_it = members.where(collection_members.c.collection == name).order_by(collection_members.c.email)
        with self._database.read() as connection:
            _check_changeable(connection, name, self._user)
            public = connection.scalar(select(collections.c.public).where(collections.c.name == name))
            return CollectionSharing(bool(public), {row.email: bool(row.may_add) for row in connection.execute(of_it)})

    def share(self, name: str, sharing: CollectionSharing) -> None:
        """Share a collection with these people only. Raises `BadRequest`, `NotFound`."""
        rows = _member_rows(name, sharing.members)
        with self._database.write() as connection:
            _check_changeable(connection, name, self._user)
            if not connection.scalar(select(collections.c.person).where(collections.c.name == name)):
                raise BadRequest(f"“{name}” belongs to everyone.", "Move documents to a collection of your own.")
            public = update(collections).where(collections.c.name == name).values(public=int(sharing.public))
            connection.execute(public)
            connection.execute(delete(collection_members).where(collection_members.c.collection == name))
            if rows:
                connection.execute(insert(collection_members), rows)
            advance_epoch(connection)  # caches remember what a user may search

    def rename(self, name: str, new_name: str) -> str:
        """Rename a collection and return the normalized name. It must have no jobs, because they would not follow.

        Raises `BadRequest` if the name is invalid or taken, or while a job adds to the collection, and `NotFound`.
        """
        if name == DEFAULT_COLLECTION:
            raise BadRequest(f"“{DEFAULT_COLLECTION}” cannot be renamed.", "Move its documents to another collection.")
        with self._database.write() as connection:
            _check_changeable(connection, name, self._user)
            _check_no_jobs(connection, name)
            owner = connection.scalar(select(collections.c.person).where(collections.c.name == name))
            new_name = _own_name(connection, new_name, owner)
            with see_everything(connection):
                is_taken = new_name != name and _collection_exists(connection, new_name, None)
            if is_taken:
                raise BadRequest(f"A collection “{new_name}” already exists.", "Move the documents there instead.")
            connection.execute(update(collections).where(collections.c.name == name).values(name=new_name))
            of_it = removed_sources.c.collection == name
            with see_everything(connection):
                connection.execute(update(removed_sources).where(of_it).values(collection=new_name))
            advance_epoch(connection)  # caches remember the limits of a search by name
        return new_name

    def move(self, source_ids: Sequence[str], name: str) -> list[MoveResult]:
        """Move documents into a collection in one commit, and return the result for each existing document.

        The collection is created if necessary. A document whose bytes already exist there is deleted (*merged*). One
        whose location has another version there stays where it is (*kept*). Raises `BadRequest` for an invalid name, or
        if the user may not change both collections.
        """
        name = self.find_target(name)
        with self._database.write() as connection:
            known = set(check_changeable(connection, source_ids, self._user))
            ensure_collection(connection, name, self._user)
            moved = [_move_source(connection, id_, name) for id_ in dict.fromkeys(source_ids) if id_ in known]
            advance_epoch(connection)
        return moved

    def delete(self, name: str) -> list[str]:
        """Delete a collection, remove its documents as `RemovedSources.add` does, and return their ids; in one commit.

        Raises as `rename` does.
        """
        if name == DEFAULT_COLLECTION:
            raise BadRequest(f"“{DEFAULT_COLLECTION}” cannot be deleted.", "Remove its documents instead.")
        now = time.time()
        with self._database.write() as connection:
            _check_changeable(connection, name, self._user)
            _check_no_jobs(connection, name)
            ids = list(connection.scalars(select(sources.c.id).where(sources.c.collection == name)))
            for source_id in ids:
                remove_source(connection, source_id, now, self._user)
            connection.execute(collections.delete().where(collections.c.name == name))
        return ids


def normalize_collection_name(name: str) -> str:
    """Normalize a collection name. Raises `BadRequest` if it is empty or too long."""
    name = " ".join(strip_unstorable(name).split())
    if not name or len(name) > _MAX_COLLECTION_NAME_LENGTH:
        raise BadRequest(
            f"A collection needs a name of 1 to {_MAX_COLLECTION_NAME_LENGTH} characters.", "Choose a short name."
        )
    return name


def _move_source(connection: Connection, source_id: str, name: str) -> MoveResult:
    source = connection.execute(select(sources).where(sources.c.id == source_id)).one()
    if source.collection == name:
        return MoveResult(source_id, source.title, "moved")
    there = select(sources.c.id).where(sources.c.collection == name)
    if connection.scalar(there.where(sources.c.sha256 == source.sha256)):
        delete_source(connection, source_id)
        return MoveResult(source_id, source.title, "merged")
    if is_path_or_url(source.location) and connection.scalar(there.where(sources.c.location == source.location)):
        return MoveResult(source_id, source.title, "kept")
    connection.execute(update(sources).where(sources.c.id == source_id).values(collection=name))
    return MoveResult(source_id, source.title, "moved")


def _own_name(connection: Connection, name: str, owner: str | None) -> str:
    """Return the whole name of a collection that an account, or everyone (None), calls so."""
    prefix = read_name_prefix(connection, owner)
    name = normalize_collection_name(name.removeprefix(prefix))
    if prefix and OWNER_SEPARATOR in name:
        raise BadRequest(f"A name cannot contain “{OWNER_SEPARATOR}”.", "It separates the owner from the name.")
    return prefix + name


def _member_rows(name: str, members: Mapping[str, bool]) -> list[dict[str, object]]:
    """Return the rows of `collection_members`. Raises `BadRequest` for anything but an e-mail address."""
    if wrong := next((one for one in members if not _EMAIL.fullmatch(one.strip())), None):
        raise BadRequest(f"“{strip_unstorable(wrong)}” is not an e-mail address.", "Write one such as ann@example.org.")
    by_email = {fold_email(email): int(may_add) for email, may_add in members.items()}
    return [{"collection": name, "email": email, "may_add": may_add} for email, may_add in by_email.items()]


def _is(name: str) -> Select[Any]:
    return select(func.count()).select_from(collections).where(collections.c.name == name)


def _check_exists(connection: Connection, name: str, user: str | None) -> None:
    if not _collection_exists(connection, name, user):
        raise NotFound(f"There is no collection “{name}”.")


def _check_changeable(connection: Connection, name: str, user: str | None) -> None:
    """Raise `NotFound` if there is no such collection for this user, `BadRequest` if they may not change it."""
    _check_exists(connection, name, user)
    if not connection.scalar(_is(name).where(changeable_collections(user))):
        raise BadRequest(f"You may not change “{name}”.", "Ask its owner, or an administrator.")


def _check_no_jobs(connection: Connection, name: str) -> None:
    """Raise `BadRequest` while a job adds to the collection: it would recreate it under its old name."""
    unfinished = jobs.c.state.in_(("waiting", "working"))
    with see_everything(connection):
        count = connection.scalar(select(func.count()).where(jobs.c.collection == name, unfinished))
    if count:
        raise BadRequest(
            f"Documents are being added to “{name}”.", "Wait until they have been added, or cancel that first."
        )


def _collection_exists(connection: Connection, name: str, user: str | None) -> bool:
    return bool(connection.scalar(_is(name).where(visible_rows(collections, user))))
