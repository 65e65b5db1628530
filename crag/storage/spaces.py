"""Embedding spaces: the active one, the others kept, and the user's choice of embedder."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from sqlalchemy import Connection, Row, delete, exists, func, insert, select, update

from crag.errors import ModelFault
from crag.storage.engine import owner_name
from crag.storage.passages import lacks_vector
from crag.storage.tables import active_spaces, embedder_choices, passages, spaces, vectors
from crag.types import EmbeddingSpace, Vectors

# Vectors of one sentence from one model differ only by rounding, far less than this; those of two models far more.
MIN_CANARY_COSINE = 0.999
_SPACE_FIELDS = ("provider", "model", "digest", "dimension", "document_prefix", "query_prefix")
_GENERATION_SEPARATOR = "+"
_DROPPED_AT_ONCE = 5_000

SwitchOutcome = Literal["done", "lacking", "overtaken"]


@dataclass(frozen=True, slots=True)
class ActiveSpace:
    """The active space, None while there are no passages. `number` changes with every switch (0: none yet)."""

    number: int
    space: EmbeddingSpace | None
    owner: str = ""


@dataclass(frozen=True, slots=True)
class EmbedderChoices:
    """The user's choice of embedder. `chosen` is empty if they leave it to the settings."""

    chosen: str = ""
    refused: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class SpaceUsage:
    """An embedding space and the number of passages that have a vector in it."""

    space: EmbeddingSpace
    vectors: int


def read_active_space(connection: Connection) -> ActiveSpace:
    """Return the active space as seen by this connection. A library without passages has none that it must keep."""
    query = select(active_spaces.c.number, active_spaces.c.owner, spaces).join(spaces)
    row = connection.execute(query.order_by(active_spaces.c.number.desc()).limit(1)).first()
    if row is None:
        return ActiveSpace(0, None)
    held = connection.scalar(select(exists().select_from(passages)))
    return ActiveSpace(row.number, _space_from_row(row) if held else None, row.owner)


def read_previous_space(connection: Connection) -> EmbeddingSpace | None:
    """Return the space that was active before the present one, unless its vectors were dropped."""
    query = select(spaces).join(active_spaces).order_by(active_spaces.c.number.desc())
    found = [_space_from_row(row) for row in connection.execute(query)]
    return next((space for space in found if space != found[0]), None)


def activate_space(connection: Connection, space: EmbeddingSpace) -> None:
    """Make this space, whose row must exist, the active one."""
    values = {"space_id": space.id, "activated_at": time.time(), "owner": owner_name(connection)}
    connection.execute(insert(active_spaces), values)


def switch_space(connection: Connection, space: EmbeddingSpace, since: int | None = None) -> SwitchOutcome:
    """Activate this space if every passage has a vector in it. The caller must advance the epoch.

    `since`: switch only while the active space still has this number.
    """
    active = read_active_space(connection)
    if since is not None and active.number != since:
        return "overtaken"
    if connection.scalar(select(exists().select_from(passages).where(lacks_vector(space.id)))):
        return "lacking"
    if active.space != space:
        activate_space(connection, space)
    return "done"


def ensure_space(connection: Connection, space: EmbeddingSpace, canary: Vectors | None) -> None:
    """Insert the row of a space, or add its missing canary.

    Raises `ModelFault` if the space has a different canary: these vectors must not be mixed with its own.
    """
    body = None if canary is None else canary.astype("<f4").tobytes()
    row = connection.execute(select(spaces.c.canary).where(spaces.c.id == space.id)).first()
    if row is None:
        values = {field: getattr(space, field) for field in _SPACE_FIELDS}
        connection.execute(insert(spaces), values | {"id": space.id, "canary": body})
    elif row.canary is None:
        connection.execute(update(spaces).where(spaces.c.id == space.id).values(canary=body))
    elif canary is not None and not _matches_canary(row.canary, canary):
        raise ModelFault.make("embedder.embedder_changed", label=space.label, name=space.name)


def recognize_space(connection: Connection, space: EmbeddingSpace, canary: Vectors) -> EmbeddingSpace:
    """Return the space of these vectors: the known one with this fingerprint and canary, else a new one.

    A new space gets a counter after the digest: `DIGEST+2` is the second model seen under one fingerprint.
    """
    alike = [getattr(spaces.c, field) == getattr(space, field) for field in _SPACE_FIELDS if field != "digest"]
    known = {
        row.digest: row
        for row in connection.execute(select(spaces).where(*alike))
        if row.digest.partition(_GENERATION_SEPARATOR)[0] == space.digest
    }
    for digest, row in known.items():
        if row.canary is not None and _matches_canary(row.canary, canary):
            return replace(space, digest=digest)
    first = known.get(space.digest)
    if first is None or first.canary is None:
        return space
    generations = (int(digest.partition(_GENERATION_SEPARATOR)[2] or 1) for digest in known)
    return replace(space, digest=f"{space.digest}{_GENERATION_SEPARATOR}{max(generations) + 1}")


def read_space_usage(connection: Connection) -> list[SpaceUsage]:
    """Return every space that was started and not dropped, those with the most vectors first."""
    count = func.count(vectors.c.passage_id)
    query = select(spaces, count.label("held")).select_from(spaces.outerjoin(vectors)).group_by(spaces.c.id)
    rows = connection.execute(query.order_by(count.desc(), spaces.c.id))
    return [SpaceUsage(_space_from_row(row), row.held) for row in rows]


def drop_vector_batch(connection: Connection, space_id: str) -> int:
    """Delete one batch of vectors of a space and return its size. After the last vector, delete the space itself."""
    of_space = vectors.c.space_id == space_id
    some = select(vectors.c.passage_id).where(of_space).limit(_DROPPED_AT_ONCE)
    removed = connection.execute(delete(vectors).where(of_space, vectors.c.passage_id.in_(some))).rowcount
    if not removed:
        connection.execute(delete(active_spaces).where(active_spaces.c.space_id == space_id))
        connection.execute(delete(spaces).where(spaces.c.id == space_id))
    return removed


def read_embedder_choices(connection: Connection) -> EmbedderChoices:
    """Return the user's choice of embedder."""
    rows = connection.execute(select(embedder_choices)).all()
    chosen = next((row.name for row in rows if row.chosen), "")
    return EmbedderChoices(chosen, frozenset(row.name for row in rows if not row.chosen))


def write_embedder_choices(connection: Connection, chosen: str, refused: Iterable[str]) -> None:
    """Replace the user's choice of embedder. Empty arguments delete it."""
    connection.execute(delete(embedder_choices))
    names = dict.fromkeys(refused, 0) | ({chosen: 1} if chosen else {})
    if names:
        connection.execute(insert(embedder_choices), [{"name": name, "chosen": n} for name, n in names.items()])


def _space_from_row(row: Row[Any]) -> EmbeddingSpace:
    return EmbeddingSpace(*(getattr(row, field) for field in _SPACE_FIELDS))


def _matches_canary(stored: bytes, canary: Vectors) -> bool:
    import numpy as np

    vector = np.frombuffer(stored, dtype="<f4")
    return vector.shape == canary.shape and float(vector @ canary) >= MIN_CANARY_COSINE
