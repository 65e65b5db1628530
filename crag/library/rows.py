"""The rows of the library, written within a transaction of the caller's."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, delete, func, insert, select, text, update

from crag.database.tables import collections, epochs, passages, sources, vectors
from crag.library.spaces import ensure_space
from crag.library.split import Chunk
from crag.protocols import Vectors
from crag.types import AddStatus, Space


@dataclass(frozen=True, slots=True)
class Identity:
    """What a source is known by before it is read.

    `located`: its location names it, so that a new version takes the place of the old one.
    """

    collection: str
    location: str
    located: bool
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Description:
    """What reading a source has told. `chunker` says how it was cut: tokenizer, size and overlap."""

    title: str
    kind: str
    pages: int | None
    chunker: str
    author: str = ""
    published: str = ""


@dataclass(frozen=True, slots=True)
class Stored:
    """What became of a source, its id, and the SHA-256 of the version that went."""

    status: AddStatus
    id: str
    dropped: str | None


@dataclass(frozen=True, slots=True)
class NewPassages:
    """The passages of a new source, row by row: chunk, search terms, vector of `space`, which `canary` vouches for.

    `standing` is the number of the standing under which the space was chosen.
    """

    chunks: Sequence[Chunk]
    terms: Sequence[str]
    vectors: Vectors
    space: Space
    canary: Vectors
    standing: int


def read_epoch(connection: Connection) -> int:
    """A number that grows with every change of what can be searched, as this connection sees it."""
    return connection.scalar(select(func.max(epochs.c.number))) or 0


def move_epoch(connection: Connection, ids: Sequence[int] = ()) -> None:
    """Begins a new epoch, in which the vectors of these passages came or went.

    Counts up, and adds chance below, so that a copy of a database since put back from a backup is told apart.
    """
    number = ((read_epoch(connection) >> 32) + 1 << 32) | secrets.randbits(32)
    values = {"number": number, "first_id": min(ids, default=0), "last_id": max(ids, default=0)}
    connection.execute(insert(epochs), values)


def read_changes(connection: Connection, since: int) -> list[tuple[int, int]] | None:
    """Between which ids vectors came or went since that epoch, in order, each pair once; None if it never was here."""
    if not connection.scalar(select(func.count()).where(epochs.c.number == since)):
        return None
    later = select(epochs.c.first_id, epochs.c.last_id).where(epochs.c.number > since, epochs.c.last_id > 0)
    return [(row.first_id, row.last_id) for row in connection.execute(later.distinct().order_by(epochs.c.first_id))]


def ensure_collection(connection: Connection, name: str) -> None:
    """Makes the collection unless it is there."""
    connection.execute(insert(collections).prefix_with("OR IGNORE"), {"name": name, "created_at": time.time()})


def find_first(connection: Connection, conditions: Sequence[ColumnElement[bool]]) -> Row[Any] | None:
    """The one source that meets the conditions, or None."""
    return connection.execute(select(sources).where(*conditions)).first()


def same_bytes(identity: Identity) -> tuple[ColumnElement[bool], ...]:
    """The conditions for a source of the collection with these very bytes."""
    return sources.c.collection == identity.collection, sources.c.sha256 == identity.sha256


def same_location(identity: Identity) -> tuple[ColumnElement[bool], ...]:
    """The conditions for the source of the collection at this place."""
    return sources.c.collection == identity.collection, sources.c.location == identity.location


def write_source(connection: Connection, identity: Identity, description: Description, old: str | None) -> str:
    """Writes the row, over the old version if there is one; the source's id."""
    source_id = old or secrets.token_hex(6)
    values = asdict(identity) | asdict(description) | {"added_at": time.time()}
    del values["located"]
    if old:
        _delete_passages(connection, old)
        connection.execute(update(sources).where(sources.c.id == old).values(values))
    else:
        connection.execute(insert(sources), {"id": source_id} | values)
    return source_id


def write_passages(connection: Connection, source_id: str, content: NewPassages) -> None:
    """Adds the passages of a source with their search terms and vectors, and begins a new epoch."""
    fields = ("ordinal", "page", "heading", "text", "context_start", "context_end")
    rows = [{"source_id": source_id} | {name: getattr(chunk, name) for name in fields} for chunk in content.chunks]
    returning = insert(passages).returning(passages.c.id, sort_by_parameter_order=True)
    ids = list(connection.scalars(returning, rows))
    connection.execute(
        text("INSERT INTO passage_terms (rowid, terms) VALUES (:id, :terms)"),
        [{"id": id_, "terms": terms} for id_, terms in zip(ids, content.terms, strict=True)],
    )
    write_vectors(connection, ids, content.vectors, content.space, content.canary)


def write_vectors(connection: Connection, ids: Sequence[int], rows: Vectors, space: Space, canary: Vectors) -> None:
    """Adds one vector of `space` for each passage id, and begins a new epoch.

    Raises `ModelFault` when the canary is not that of the space.
    """
    ensure_space(connection, space, canary)
    bodies = (row.astype("<f4").tobytes() for row in rows)
    connection.execute(
        insert(vectors),
        [{"passage_id": id_, "space_id": space.id, "vector": body} for id_, body in zip(ids, bodies, strict=True)],
    )
    move_epoch(connection, ids)


def delete_source(connection: Connection, source_id: str) -> None:
    """Removes a source and all its passages, and begins a new epoch."""
    _delete_passages(connection, source_id)
    connection.execute(delete(sources).where(sources.c.id == source_id))


def _delete_passages(connection: Connection, source_id: str) -> None:
    """The full-text index knows no foreign keys: its rows go first, the vectors go with their passages."""
    ids = list(connection.scalars(select(passages.c.id).where(passages.c.source_id == source_id)))
    if ids:
        connection.execute(text("DELETE FROM passage_terms WHERE rowid = :id"), [{"id": id_} for id_ in ids])
    connection.execute(delete(passages).where(passages.c.source_id == source_id))
    move_epoch(connection, ids)
