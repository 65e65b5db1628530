"""Sources in the database. Every change to the searchable content advances the epoch in the same commit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, func, select

from crag.database import Database
from crag.database.tables import passages, sources, spaces, vectors
from crag.library.rows import (
    Description,
    Identity,
    NewPassages,
    Stored,
    delete_source,
    ensure_collection,
    find_first,
    read_epoch,
    same_bytes,
    same_location,
    write_passages,
    write_source,
    write_vectors,
)
from crag.library.spaces.rows import activate_space, read_active_space
from crag.protocols import Vectors
from crag.types import Source, Space


class SpaceSwitched(Exception):
    """The active space changed after the passages were embedded. Used within the library only, never shown."""


class Store:
    """Sources in the database, read and written in short transactions."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def epoch(self) -> int:
        """Return a number that changes with every change of the library, by any process."""
        with self.database.read() as connection:
            return read_epoch(connection)

    def sources(self, *conditions: ColumnElement[bool]) -> list[Source]:
        """Return the sources that meet all conditions, newest first."""
        passage_count = (
            select(func.count()).where(passages.c.source_id == sources.c.id).correlate(sources).scalar_subquery()
        )
        labels = (
            select(func.group_concat(spaces.c.provider + ":" + spaces.c.model))
            .select_from(passages.join(vectors).join(spaces))
            .where(passages.c.source_id == sources.c.id, passages.c.ordinal == 0)
            .correlate(sources)
            .scalar_subquery()
        )
        query = select(sources, passage_count.label("passages"), labels.label("space")).where(*conditions)
        with self.database.read() as connection:
            return [_source(row) for row in connection.execute(query.order_by(sources.c.added_at.desc(), sources.c.id))]

    def source(self, source_id: str) -> Source | None:
        """Return the source with this id, or None."""
        return next(iter(self.sources(sources.c.id == source_id)), None)

    def unchanged(self, identity: Identity) -> Source | None:
        """Return the source of this collection with the same bytes.

        Returns None if there is none, or if the location still has a different version.
        """
        twin = next(iter(self.sources(*same_bytes(identity))), None)
        if twin and identity.located:
            old = next(iter(self.sources(*same_location(identity))), None)
            return twin if old is None or old.id == twin.id else None
        return twin

    def put(
        self,
        identity: Identity,
        description: Description,
        content: NewPassages,
        prepare: Callable[[], None],
        check: Callable[[], None] = lambda: None,
    ) -> Stored:
        """Make a source visible in one commit. `prepare` runs within it, as the last step that may fail.

        `check` is called regularly meanwhile and may raise to abort. Status *unchanged* comes with the id of the twin
        that another worker stored meanwhile, *replaced* with the existing id of the location. Raises `SpaceSwitched` if
        another space is active by now.
        """
        with self.database.write() as connection:
            active = read_active_space(connection)
            if active.number != content.activation:
                raise SpaceSwitched
            twin = find_first(connection, same_bytes(identity))
            old = find_first(connection, same_location(identity)) if identity.located else None
            if twin:
                return _keep_twin(connection, twin, old)
            ensure_collection(connection, identity.collection)
            source_id = write_source(connection, identity, description, old.id if old else None)
            write_passages(connection, source_id, content, check)
            if active.space is None:
                activate_space(connection, content.space)
            prepare()
        return Stored("replaced", source_id, old.sha256) if old else Stored("added", source_id, None)

    def add_vectors(self, ids: Sequence[int], rows: Vectors, space: Space, canary: Vectors) -> int:
        """Give existing passages vectors of another space. Return how many of them still exist and had none."""
        with self.database.write() as connection:
            exist = set(connection.scalars(select(passages.c.id).where(passages.c.id.in_(ids))))
            held = select(vectors.c.passage_id).where(vectors.c.space_id == space.id, vectors.c.passage_id.in_(ids))
            have = set(connection.scalars(held))
            wanted = [place for place, id_ in enumerate(ids) if id_ in exist - have]
            if wanted:
                write_vectors(connection, [ids[place] for place in wanted], rows[wanted], space, canary)
        return len(wanted)

    def remove(self, source_ids: Sequence[str]) -> list[Source]:
        """Remove sources and return those that existed."""
        gone = self.sources(sources.c.id.in_(source_ids))
        with self.database.write() as connection:
            for source in gone:
                delete_source(connection, source.id)
        return gone

    def release(self, digests: Iterable[str], remove: Callable[[str], None]) -> None:
        """Call `remove` for each SHA-256 that no source uses, while no source can be added."""
        with self.database.write() as connection:
            for digest in set(digests):
                if not connection.scalar(select(func.count()).where(sources.c.sha256 == digest)):
                    remove(digest)

    def sweep(self, keep_only: Callable[[Sequence[str]], None]) -> None:
        """Call `keep_only` with every SHA-256 in use, while no source can be added."""
        with self.database.write() as connection:
            keep_only(list(connection.scalars(select(sources.c.sha256))))

    def counts(self) -> tuple[int, int]:
        """Return the numbers of sources and passages."""
        with self.database.read() as connection:
            number_of_sources = connection.scalar(select(func.count()).select_from(sources)) or 0
            number_of_passages = connection.scalar(select(func.count()).select_from(passages)) or 0
        return number_of_sources, number_of_passages

    def originals_size(self) -> int:
        """Return the total size in bytes of all originals, each counted once."""
        files = select(sources.c.sha256, sources.c.size).distinct().subquery()
        with self.database.read() as connection:
            return connection.scalar(select(func.sum(files.c.size))) or 0


def _keep_twin(connection: Connection, twin: Row[Any], old: Row[Any] | None) -> Stored:
    """Keep the twin with the same bytes, and delete the old version at the location."""
    if old is None or old.id == twin.id:
        return Stored("unchanged", twin.id, None)
    delete_source(connection, old.id)
    return Stored("unchanged", twin.id, old.sha256)


def _source(row: Row[Any]) -> Source:
    return Source(
        id=row.id,
        title=row.title,
        kind=row.kind,
        location=row.location,
        collection=row.collection,
        sha256=row.sha256,
        size=row.size,
        pages=row.pages,
        passages=row.passages,
        added_at=row.added_at,
        space=row.space or "",
        author=row.author,
        published=row.published,
        found_by=row.found_by,
    )
