"""Passages joined with their source and neighbours. The join never returns a removed passage."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Connection, Row, func, or_, select

from crag.storage.engine import Database
from crag.storage.row_security import visible_rows
from crag.storage.tables import passages, sources, vectors
from crag.types import HEADING_SEPARATOR, WORKBOOK_KIND, EmbeddingSpace, PageStarts, Passage, Source, Vectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ids = NDArray[np.int64]


_VECTORS_AT_ONCE = 2_000
_CONTEXT_SEPARATOR = "\n\n"


@dataclass(frozen=True, slots=True)
class SearchScope:
    """The documents that a search covers: those that a user (None: anyone) may read, of a collection or by id.

    An empty collection, or no ids, means no limit.
    """

    user: str | None
    collection: str = ""
    source_ids: tuple[str, ...] = ()

    def conditions(self) -> list[ColumnElement[bool]]:
        """Return the conditions on `sources`; none if the search covers everything."""
        conditions: list[ColumnElement[bool]] = []
        if self.user is not None:
            conditions.append(visible_rows(sources, self.user))
        if self.collection:
            conditions.append(sources.c.collection == self.collection)
        if self.source_ids:
            conditions.append(sources.c.id.in_(self.source_ids))
        return conditions


def read_passages(database: Database, ids: Sequence[int], user: str | None) -> dict[int, Passage]:
    """Return the passages that exist for a user (None: anyone), by id, each with its wider context.

    Pass at most a few hundred ids.
    """
    described = (sources.c.title, sources.c.location.label("source_location"), sources.c.kind)
    dated = (sources.c.published, sources.c.added_at)
    query = select(passages, *described, *dated).select_from(passages.join(sources))
    with database.snapshot() as connection:
        rows = connection.execute(query.where(passages.c.id.in_(ids), visible_rows(sources, user))).all()
        neighbours = _read_context_rows(connection, rows)
    return {row.id: _passage_from_row(row, neighbours) for row in rows}


def stream_passages(database: Database, scope: SearchScope, *, containing: str = "") -> Iterator[Passage]:
    """Yield all passages within these limits that contain a text, in document order, without the context around them.

    They are read in batches, to bound memory; a document that is removed meanwhile is left out.
    """
    described = (sources.c.title, sources.c.location.label("source_location"), sources.c.kind)
    query = (
        select(passages, *described, sources.c.published, sources.c.added_at)
        .select_from(passages.join(sources))
        .where(*scope.conditions(), func.instr(passages.c.text, containing) > 0)
        .order_by(passages.c.id)  # consecutive and in order within a document
        .limit(_PASSAGES_AT_ONCE)
    )
    last = 0
    while True:
        with database.read() as connection:
            rows = connection.execute(query.where(passages.c.id > last)).all()
        yield from (_passage_from_row(row, {}) for row in rows)
        if len(rows) < _PASSAGES_AT_ONCE:
            return
        last = rows[-1].id


_PASSAGES_AT_ONCE = 500
_PASSAGES_PER_PART = 20


def count_parts(source: Source) -> int:
    """Return the number of parts in which a document is read: its pages, or runs of 20 passages if it has none."""
    return source.pages or max(1, -(-source.passages // _PASSAGES_PER_PART))


def read_part(database: Database, source: Source, part: int, user: str | None) -> str:
    """Return the text of a part, from 1; empty if nothing was found on that page for this user (None: anyone)."""
    of_source, page = passages.c.source_id == source.id, passages.c.page
    first = (part - 1) * _PASSAGES_PER_PART
    wanted: ColumnElement[bool] = passages.c.ordinal.between(first, first + _PASSAGES_PER_PART - 1)
    if source.pages:  # a page may begin within the last passage of the pages before it
        before = select(func.max(passages.c.ordinal)).where(of_source, page < part).scalar_subquery()
        wanted = (page == part) | (passages.c.ordinal == before)
    ids = select(passages.c.id).where(of_source, wanted).order_by(passages.c.ordinal)
    with database.read() as connection:
        ordered = list(connection.scalars(ids))
    found = read_passages(database, ordered, user)
    texts = (found[one].text_on_page(part) if source.pages else found[one].text for one in ordered if one in found)
    return _CONTEXT_SEPARATOR.join(text for text in texts if text)


def read_passage_ids(database: Database, scope: SearchScope) -> Ids:
    """Return the ids of all passages within these limits.

    The ids of one source are consecutive, because they are written in one transaction. It is enough to read the first
    and the last.
    """
    import numpy as np

    ends = select(func.min(passages.c.id), func.max(passages.c.id)).select_from(passages.join(sources))
    query = ends.where(*scope.conditions()).group_by(passages.c.source_id)
    with database.read() as connection:
        ranges = [np.arange(first, last + 1) for first, last in connection.execute(query)]
    return np.concatenate(ranges) if ranges else _as_ids(())


def count_passages(database: Database, scope: SearchScope) -> int:
    """Return the number of passages within these limits."""
    limits = scope.conditions()
    query = select(func.count()).select_from(passages.join(sources) if limits else passages)
    with database.read() as connection:
        return connection.scalar(query.where(*limits)) or 0


def read_titles(database: Database, scope: SearchScope) -> list[str]:
    """Return the titles of the documents within these limits, newest first."""
    query = select(sources.c.title).where(*scope.conditions())
    with database.read() as connection:
        return list(connection.scalars(query.order_by(sources.c.added_at.desc(), sources.c.id)))


def read_vector_ids(connection: Connection, space_id: str, first: int, last: int) -> Ids:
    """Return the ids from `first` to `last` of all passages with a vector of this space."""
    of_space = (vectors.c.space_id == space_id) & vectors.c.passage_id.between(first, last)
    return _as_ids(connection.scalars(select(vectors.c.passage_id).where(of_space)))


def stream_vectors(connection: Connection, space_id: str, dimension: int, ids: Ids) -> Iterator[tuple[Ids, Vectors]]:
    """Yield the vectors of these passages in batches, to bound memory."""
    import numpy as np

    for start in range(0, len(ids), _VECTORS_AT_ONCE):
        part = ids[start : start + _VECTORS_AT_ONCE].tolist()
        query = select(vectors.c.passage_id, vectors.c.vector).where(
            vectors.c.space_id == space_id, vectors.c.passage_id.in_(part)
        )
        rows = connection.execute(query).all()
        matrix = np.frombuffer(b"".join(row.vector for row in rows), dtype="<f4").reshape(len(rows), dimension)
        yield _as_ids(row.passage_id for row in rows), matrix.astype(np.float32)


def read_cosines(database: Database, space: EmbeddingSpace, vector: Vectors, ids: Sequence[int]) -> dict[int, float]:
    """Return the cosine of each passage and a unit vector, by id, to six digits: processors differ in later ones.

    Passages without a vector of the space are omitted.
    """
    cosines: dict[int, float] = {}
    exact = vector.astype("float64")
    with database.read() as connection:
        for some, matrix in stream_vectors(connection, space.id, space.dimension, _as_ids(ids)):
            cosines |= zip(some.tolist(), (matrix @ exact).round(6).tolist(), strict=True)
    return cosines


def read_unembedded(database: Database, space_id: str, limit: int, after: int) -> list[tuple[int, str, str]]:
    """Return (id, heading, text) of passages above id `after` without a vector of this space, ordered by id."""
    query = select(passages.c.id, passages.c.heading, passages.c.text).where(
        passages.c.id > after, lacks_vector(space_id)
    )
    with database.read() as connection:
        return [
            (row.id, row.heading, row.text) for row in connection.execute(query.order_by(passages.c.id).limit(limit))
        ]


def count_unembedded(database: Database, space_id: str) -> int:
    """Return the number of passages without a vector of this space."""
    with database.read() as connection:
        return connection.scalar(select(func.count()).select_from(passages).where(lacks_vector(space_id))) or 0


def lacks_vector(space_id: str) -> ColumnElement[bool]:
    """Return the condition on `passages` for those without a vector of this space."""
    return (
        ~select(vectors.c.passage_id)
        .where(vectors.c.passage_id == passages.c.id, vectors.c.space_id == space_id)
        .exists()
    )


def _as_ids(values: Any) -> Ids:
    import numpy as np

    return np.fromiter(values, dtype=np.int64)


def encode_page_starts(starts: PageStarts | None) -> str | None:
    """Return the value of the column `page_starts`."""
    return None if starts is None else json.dumps(starts, separators=(",", ":"))


def decode_page_starts(stored: str | None) -> PageStarts | None:
    """Return the value that `encode_page_starts` encoded."""
    return None if stored is None else tuple((offset, page) for offset, page in json.loads(stored))


def _read_context_rows(connection: Connection, rows: Sequence[Row[Any]]) -> dict[tuple[str, int], Row[Any]]:
    """Return the passages that make up all contexts, by source and ordinal."""
    wanted = [
        (passages.c.source_id == row.source_id) & passages.c.ordinal.between(row.context_start, row.context_end)
        for row in rows
        if row.context_start < row.context_end
    ]
    if not wanted:
        return {}
    parts = connection.execute(select(passages).where(or_(*wanted))).all()
    return {(part.source_id, part.ordinal): part for part in parts}


def _passage_from_row(row: Row[Any], neighbours: dict[tuple[str, int], Row[Any]]) -> Passage:
    places = range(row.context_start, row.context_end + 1)
    parts = [neighbours[row.source_id, place] for place in places if (row.source_id, place) in neighbours] or [row]
    return Passage(
        id=row.id,
        source_id=row.source_id,
        title=row.title,
        location=row.source_location,
        text=row.text,
        context=_CONTEXT_SEPARATOR.join(part.text for part in parts),
        page=row.page,
        heading=row.heading,
        page_starts=decode_page_starts(row.page_starts) or (),
        context_page_starts=_context_page_starts(parts),
        sheet=row.heading.partition(HEADING_SEPARATOR)[0] if row.kind == WORKBOOK_KIND else "",
        published=row.published,
        added_at=row.added_at,
    )


def _context_page_starts(parts: Sequence[Row[Any]]) -> PageStarts:
    starts: list[tuple[int, int]] = []
    offset = 0
    for part in parts:
        if part.page is not None:
            own = ((0, part.page), *(decode_page_starts(part.page_starts) or ()))
            starts += [(offset + start, page) for start, page in own if not starts or starts[-1][1] != page]
        offset += len(part.text) + len(_CONTEXT_SEPARATOR)
    return tuple(starts)
