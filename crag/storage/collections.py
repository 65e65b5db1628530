"""Collections of the library: create, rename, delete, and move documents between them."""

from __future__ import annotations

import time
from collections.abc import Sequence

from sqlalchemy import Connection, func, select, update

from crag.errors import BadRequest, NotFound
from crag.storage.engine import Database
from crag.storage.removed_sources import remove_source
from crag.storage.sources import advance_epoch, delete_source, ensure_collection, is_path_or_url
from crag.storage.tables import collections, jobs, passages, removed_sources, sources
from crag.types import DEFAULT_COLLECTION, Collection, MoveResult, strip_unstorable

_MAX_COLLECTION_NAME_LENGTH = 80
_WITH_COUNTS = (  # built once, since every redraw runs it
    select(collections.c.name, func.count(sources.c.id.distinct()), func.count(passages.c.id))
    .select_from(collections.outerjoin(sources).outerjoin(passages))
    .group_by(collections.c.name)
    .order_by(collections.c.name != DEFAULT_COLLECTION, func.lower(collections.c.name))
)


class Collections:
    """The collections of one home. The default collection always exists and keeps its name."""

    def __init__(self, database: Database) -> None:
        self._database = database
        if not self._exists(DEFAULT_COLLECTION):
            self.create(DEFAULT_COLLECTION)

    def all(self) -> list[Collection]:
        """Return every collection with its counts, the default one first, then by name."""
        with self._database.read() as connection:
            return [Collection(*row) for row in connection.execute(_WITH_COUNTS)]

    def create(self, name: str) -> str:
        """Create the collection if necessary and return its normalized name.

        Raises `BadRequest` for an invalid name.
        """
        name = normalize_collection_name(name)
        with self._database.write() as connection:
            ensure_collection(connection, name)
        return name

    def rename(self, name: str, new_name: str) -> str:
        """Rename a collection and return the normalized name. It must have no jobs, because they would not follow.

        Raises `BadRequest` if the name is invalid or taken, or while a job adds to the collection, and `NotFound`.
        """
        new_name = normalize_collection_name(new_name)
        if name == DEFAULT_COLLECTION:
            raise BadRequest(f"“{DEFAULT_COLLECTION}” keeps its name.", "Move its documents to another collection.")
        with self._database.write() as connection:
            _check_collection_exists(connection, name)
            _check_no_jobs(connection, name)
            if new_name != name and _collection_exists(connection, new_name):
                raise BadRequest(f"A collection “{new_name}” already exists.", "Move the documents there instead.")
            connection.execute(update(collections).where(collections.c.name == name).values(name=new_name))
            of_it = removed_sources.c.collection == name
            connection.execute(update(removed_sources).where(of_it).values(collection=new_name))
            advance_epoch(connection)  # caches remember the limits of a search by name
        return new_name

    def move(self, source_ids: Sequence[str], name: str) -> list[MoveResult]:
        """Move documents into a collection in one commit, and return the result for each existing document.

        The collection is created if necessary. A document whose bytes already exist there is deleted (*merged*). One
        whose location has another version there stays where it is (*kept*). Raises `BadRequest` for an invalid name.
        """
        name = normalize_collection_name(name)
        with self._database.write() as connection:
            ensure_collection(connection, name)
            known = set(connection.scalars(select(sources.c.id).where(sources.c.id.in_(source_ids))))
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
            _check_collection_exists(connection, name)
            _check_no_jobs(connection, name)
            ids = list(connection.scalars(select(sources.c.id).where(sources.c.collection == name)))
            for source_id in ids:
                remove_source(connection, source_id, now)
            connection.execute(collections.delete().where(collections.c.name == name))
        return ids

    def _exists(self, name: str) -> bool:
        with self._database.read() as connection:
            return _collection_exists(connection, name)


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


def _check_collection_exists(connection: Connection, name: str) -> None:
    if not _collection_exists(connection, name):
        raise NotFound(f"There is no collection “{name}”.")


def _check_no_jobs(connection: Connection, name: str) -> None:
    """Raise `BadRequest` while a job adds to the collection: it would recreate it under its old name."""
    unfinished = jobs.c.state.in_(("waiting", "working"))
    if connection.scalar(select(func.count()).where(jobs.c.collection == name, unfinished)):
        raise BadRequest(
            f"Documents are being added to “{name}”.", "Wait until they have been added, or cancel that first."
        )


def _collection_exists(connection: Connection, name: str) -> bool:
    return connection.scalar(select(func.count()).where(collections.c.name == name)) == 1
