"""How much meaning counts beside words, for each space: fitted on this library, measured before, or a default."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from sqlalchemy import select, update

from crag.database import Database
from crag.database.tables import spaces
from crag.types import Space

_DEFAULT = 0.5  # the model may know more than the words or less: neither is trusted more
_MEASURED = Path(__file__).with_name("vector_weights.json")


def read_weight(database: Database, space: Space) -> float:
    """The share in 0..1 that the vectors of this space have in a passage's score."""
    with database.read() as connection:
        fitted = connection.scalar(select(spaces.c.vector_weight).where(spaces.c.id == space.id))
    return _measured().get(space.label, _DEFAULT) if fitted is None else float(fitted)


def write_weight(database: Database, space: Space, weight: float) -> None:
    """Keeps a fitted share with the space."""
    with database.write() as connection:
        connection.execute(update(spaces).where(spaces.c.id == space.id).values(vector_weight=weight))


@cache
def _measured() -> dict[str, float]:
    """Shares by the label of the space, fitted on questions with known answers (docs/measurements.md)."""
    shares: dict[str, float] = json.loads(_MEASURED.read_text("utf-8"))
    return shares
