"""Samples of passages from a collection and from all others, to make questions of."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, select

from crag.database import Database
from crag.database.tables import passages, sources

_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Drawn:
    """A passage to make questions of."""

    id: int
    source_id: str
    title: str
    text: str


def draw_passages(database: Database, collection: str, count: int, chance: random.Random) -> list[Drawn]:
    """Sample at most `count` passages from a collection, or from the whole library if it is empty."""
    return _draw(database, [sources.c.collection == collection] if collection else [], count, chance)


def draw_elsewhere(database: Database, collection: str, count: int, chance: random.Random) -> list[Drawn]:
    """Sample at most `count` passages from the other collections; none for the whole library."""
    return _draw(database, [sources.c.collection != collection], count, chance) if collection else []


def _draw(database: Database, limits: Sequence[ColumnElement[bool]], count: int, chance: random.Random) -> list[Drawn]:
    of_them = select(passages.c.id).select_from(passages.join(sources)).where(*limits).order_by(passages.c.id)
    with database.read() as connection:
        ids = connection.scalars(of_them).all()
        wanted = chance.sample(ids, min(count, len(ids)))
        query = select(passages.c.id, passages.c.source_id, sources.c.title, passages.c.text)
        found: dict[int, Drawn] = {}
        for start in range(0, len(wanted), _AT_ONCE):
            some = query.select_from(passages.join(sources)).where(passages.c.id.in_(wanted[start : start + _AT_ONCE]))
            found |= {row.id: Drawn(row.id, row.source_id, row.title, row.text) for row in connection.execute(some)}
    return [found[id_] for id_ in wanted if id_ in found]
