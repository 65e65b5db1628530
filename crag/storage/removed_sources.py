"""Removed sources, kept whole in tables that nothing else reads until the removal is final."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Column, Connection, Table, delete, func, insert, literal, select

from crag.storage.engine import Database
from crag.storage.row_security import document_owner
from crag.storage.sources import advance_epoch, check_changeable, delete_source, ensure_collection, is_path_or_url
from crag.storage.tables import (
    passage_terms,
    passages,
    removed_passages,
    removed_sources,
    removed_vectors,
    sources,
    spaces,
    vectors,
)
from crag.storage.user_scope import UserScoped
from crag.types import RemovedSource


class RemovedSources(UserScoped):
    """Sources whose removal can be undone, with their passages, search terms and vectors."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, source_ids: Iterable[str], kept_seconds: float = 0.0) -> None:
        """Move sources from the library to here in one commit; `purge` leaves them for at least `kept_seconds`.

        Raises `BadRequest` if the user may only read one.
        """
        now = time.time()
        with self._database.write() as connection:
            for source_id in check_changeable(connection, source_ids, self._user):
                remove_source(connection, source_id, now, self._user, kept_seconds)

    def all(self) -> list[RemovedSource]:
        """Return what can be restored, the last removed first."""
        names = ("id", "title", "removed_at", "kept_seconds")
        query = (
            select(*(removed_sources.c[name] for name in names))
            .where(self._visible(removed_sources))
            .order_by(removed_sources.c.removed_at.desc(), removed_sources.c.title)
        )
        with self._database.read() as connection:
            return [RemovedSource(*row) for row in connection.execute(query)]

    def restore(self, source_ids: Sequence[str]) -> list[str]:
        """Move sources back with their ids, in one commit; return the ids of those whose removal is not final yet.

        One that was added again meanwhile stays as it is now. Raises `SourceRefused` if the user may no longer add to
        its collection.
        """
        wanted = select(removed_sources).where(removed_sources.c.id.in_(source_ids), self._visible(removed_sources))
        with self._database.write() as connection:
            rows = connection.execute(wanted).all()
            for row in rows:
                same = (sources.c.sha256 == row.sha256) | (sources.c.id == row.id)
                if is_path_or_url(row.location):
                    same |= sources.c.location == row.location
                there = select(func.count()).where(sources.c.collection == row.collection, same)
                if not connection.scalar(there):
                    ensure_collection(connection, row.collection, self._user)
                    _put_back(connection, row.id)
                connection.execute(delete(removed_sources).where(removed_sources.c.id == row.id))
        return [row.id for row in rows]

    def purge(self, older_than: float, *, with_kept: bool = False) -> list[str]:
        """Delete for good what was removed more than `older_than` seconds ago; return the SHA-256 of each.

        Also what was removed by a clock that was that far ahead; and `with_kept`, what was to be kept for longer.
        """
        age = func.abs(time.time() - removed_sources.c.removed_at)
        gone = delete(removed_sources).where(age >= older_than)
        if not with_kept:
            gone = gone.where(age >= removed_sources.c.kept_seconds)
        with self._database.whole.write() as connection:
            return list(connection.scalars(gone.returning(removed_sources.c.sha256)))


def remove_source(
    connection: Connection, source_id: str, now: float, user: str | None, kept_seconds: float = 0.0
) -> None:
    """Move a source with everything that belongs to it out of the library, for a user."""
    own = passages.c.source_id == source_id
    added = literal(now), literal(document_owner(user)), literal(kept_seconds)
    source = select(*sources.c, *added).where(sources.c.id == source_id)
    pieces = (
        select(*passages.c, passage_terms.c.terms)
        .join(passage_terms, passage_terms.c.rowid == passages.c.id)
        .where(own)
    )
    embedded = select(*vectors.c).join(passages).where(own)
    for place, rows in ((removed_sources, source), (removed_passages, pieces), (removed_vectors, embedded)):
        connection.execute(insert(place).from_select(place.c.keys(), rows))
    delete_source(connection, source_id)


def _put_back(connection: Connection, source_id: str) -> None:
    """Copy a source with everything that belongs to it back into the library, and start a new epoch."""
    kept = removed_passages.c
    own = kept.source_id == source_id
    source = select(*_columns_of(sources, removed_sources)).where(removed_sources.c.id == source_id)
    connection.execute(insert(sources).from_select(sources.c.keys(), source))
    pieces = select(*_columns_of(passages, removed_passages)).where(own)
    connection.execute(insert(passages).from_select(passages.c.keys(), pieces))
    connection.execute(insert(passage_terms).from_select(["rowid", "terms"], select(kept.id, kept.terms).where(own)))
    embedded = select(*removed_vectors.c).join(removed_passages).where(own)
    known = removed_vectors.c.space_id.in_(select(spaces.c.id))
    connection.execute(insert(vectors).from_select(vectors.c.keys(), embedded.where(known)))
    advance_epoch(connection, list(connection.scalars(select(kept.id).where(own))))


def _columns_of(table: Table, copy: Table) -> list[Column[Any]]:
    return [copy.c[one.name] for one in table.c]
