"""Rows of sources and passages, written within the caller's transaction."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, delete, func, insert, select, text, update

from crag.database.tables import collections, epochs, passages, sources
from crag.library.adding.split import Chunk
from crag.library.spaces.rows import ensure_space
from crag.protocols import Vectors
from crag.types import AddStatus, Space

# Passed directly to the driver: SQLAlchemy's insert takes several times as long for this many rows.
_ADD_PASSAGE = (
    "INSERT INTO passages (id, source_id, ordinal, page, heading, text, context_start, context_end)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_ADD_TERMS = "INSERT INTO passage_terms (rowid, terms) VALUES (?, ?)"
_REMOVE_TERMS = "DELETE FROM passage_terms WHERE rowid IN (SELECT id FROM passages WHERE source_id = ?)"
_ADD_VECTOR = "INSERT INTO vectors (passage_id, space_id, vector) VALUES (?, ?, ?)"
_ROWS_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Identity:
    """What identifies a source before it is read.

    `located`: the location identifies the source, so that a new version replaces the old one. `source_id` is the id to
    use; an empty one means a new id.
    """

    collection: str
    location: str
    located: bool
    sha256: str
    size: int
    source_id: str = ""


@dataclass(frozen=True, slots=True)
class Description:
    """Metadata known after reading a source. `chunker` gives tokenizer, chunk size and overlap.

    `found_by` is the question whose web search found the source. A new version of a source keeps the first value.
    """

    title: str
    kind: str
    pages: int | None
    chunker: str
    author: str = ""
    published: str = ""
    found_by: str = ""


@dataclass(frozen=True, slots=True)
class Stored:
    """Result of storing a source: status, id, and the SHA-256 of the replaced version."""

    status: AddStatus
    id: str
    dropped: str | None


@dataclass(frozen=True, slots=True)
class NewPassages:
    """The passages of a new source, row by row: chunks, search terms, and vectors of `space`, verified by `canary`.

    `activation` is the number of the `ActiveSpace` for which they were embedded.
    """

    chunks: Sequence[Chunk]
    terms: Sequence[str]
    vectors: Vectors
    space: Space
    canary: Vectors
    activation: int


def read_epoch(connection: Connection) -> int:
    """Return a number that grows with every change of the searchable content, as seen by this connection."""
    return connection.scalar(select(func.max(epochs.c.number))) or 0


def move_epoch(connection: Connection, ids: Sequence[int] = ()) -> None:
    """Start a new epoch, in which the vectors of these passages were added or removed.

    The upper bits count up. The lower 32 bits are random, which distinguishes a database that was restored from a
    backup.
    """
    number = ((read_epoch(connection) >> 32) + 1 << 32) | secrets.randbits(32)
    values = {"number": number, "first_id": min(ids, default=0), "last_id": max(ids, default=0)}
    connection.execute(insert(epochs), values)


def read_changes(connection: Connection, since: int) -> list[tuple[int, int]] | None:
    """Return the id ranges whose vectors changed since an epoch, in order, each once.

    Returns None if the database never had that epoch.
    """
    if not connection.scalar(select(func.count()).where(epochs.c.number == since)):
        return None
    later = select(epochs.c.first_id, epochs.c.last_id).where(epochs.c.number > since, epochs.c.last_id > 0)
    return [(row.first_id, row.last_id) for row in connection.execute(later.distinct().order_by(epochs.c.first_id))]


def ensure_collection(connection: Connection, name: str) -> None:
    """Create the collection if it does not exist."""
    connection.execute(insert(collections).prefix_with("OR IGNORE"), {"name": name, "created_at": time.time()})


def find_first(connection: Connection, conditions: Sequence[ColumnElement[bool]]) -> Row[Any] | None:
    """Return the one source that meets the conditions, or None."""
    return connection.execute(select(sources).where(*conditions)).first()


def same_bytes(identity: Identity) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions for a source of the collection with the same bytes."""
    return sources.c.collection == identity.collection, sources.c.sha256 == identity.sha256


def same_location(identity: Identity) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions for the source of the collection at the same location."""
    return sources.c.collection == identity.collection, sources.c.location == identity.location


def write_source(connection: Connection, identity: Identity, description: Description, old: str | None) -> str:
    """Write the row of a source, replacing the old version if given, and return its id."""
    source_id = old or identity.source_id or secrets.token_hex(6)
    values = asdict(identity) | asdict(description) | {"added_at": time.time()}
    del values["located"], values["source_id"]
    if old:
        del values["found_by"]
        _delete_passages(connection, old)
        connection.execute(update(sources).where(sources.c.id == old).values(values))
    else:
        connection.execute(insert(sources), {"id": source_id} | values)
    return source_id


def write_passages(
    connection: Connection, source_id: str, content: NewPassages, check: Callable[[], None] = lambda: None
) -> None:
    """Add the passages of a source with their search terms and vectors, and start a new epoch.

    `check` is called regularly and may raise to abort.
    """
    last = connection.scalar(text("SELECT seq FROM sqlite_sequence WHERE name = 'passages'")) or 0
    ids = range(last + 1, last + 1 + len(content.chunks))
    for start in range(0, len(ids), _ROWS_AT_ONCE):
        check()
        rows = slice(start, start + _ROWS_AT_ONCE)
        chunks = zip(ids[rows], content.chunks[rows], strict=True)
        connection.exec_driver_sql(_ADD_PASSAGE, [(id_, source_id, *_columns(chunk)) for id_, chunk in chunks])
        connection.exec_driver_sql(_ADD_TERMS, list(zip(ids[rows], content.terms[rows], strict=True)))
    write_vectors(connection, ids, content.vectors, content.space, content.canary, check)


def _columns(chunk: Chunk) -> tuple[Any, ...]:
    return chunk.ordinal, chunk.page, chunk.heading, chunk.text, chunk.context_start, chunk.context_end


def write_vectors(
    connection: Connection,
    ids: Sequence[int],
    rows: Vectors,
    space: Space,
    canary: Vectors,
    check: Callable[[], None] = lambda: None,
) -> None:
    """Add one vector of `space` for each passage id, and start a new epoch. `check` works as in `write_passages`.

    Raises `ModelFault` if the canary differs from that of the space.
    """
    ensure_space(connection, space, canary)
    for start in range(0, len(ids), _ROWS_AT_ONCE):
        check()
        part = zip(ids[start : start + _ROWS_AT_ONCE], rows[start : start + _ROWS_AT_ONCE], strict=True)
        connection.exec_driver_sql(_ADD_VECTOR, [(id_, space.id, row.astype("<f4").tobytes()) for id_, row in part])
    move_epoch(connection, ids)


def delete_source(connection: Connection, source_id: str) -> None:
    """Remove a source and all its passages, and start a new epoch."""
    _delete_passages(connection, source_id)
    connection.execute(delete(sources).where(sources.c.id == source_id))


def _delete_passages(connection: Connection, source_id: str) -> None:
    """Delete the full-text rows first, because FTS has no foreign keys. Vectors are deleted with their passages."""
    ids = list(connection.scalars(select(passages.c.id).where(passages.c.source_id == source_id)))
    connection.exec_driver_sql(_REMOVE_TERMS, (source_id,))
    connection.execute(delete(passages).where(passages.c.source_id == source_id))
    move_epoch(connection, ids)
