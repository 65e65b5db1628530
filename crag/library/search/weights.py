"""Weight of vector similarity, per embedding space."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from sqlalchemy import select, update

from crag.database import Database
from crag.database.tables import spaces
from crag.types import Space

_DEFAULT = 0.5  # for an unknown model, words and vectors are trusted equally
_MEASURED = Path(__file__).with_name("vector_weights.json")


@dataclass(frozen=True, slots=True)
class Weight:
    """Share in 0..1 of vector similarity in a passage's score, and its origin.

    It is fitted on this library, measured in advance for this model, or a default.
    """

    share: float
    origin: Literal["fitted", "measured", "default"]


def read_weight(database: Database, space: Space) -> Weight:
    """Return the weight of this space, which may have no vectors yet."""
    with database.read() as connection:
        fitted = connection.scalar(select(spaces.c.vector_weight).where(spaces.c.id == space.id))
    if fitted is not None:
        return Weight(float(fitted), "fitted")
    measured = _measured().get(space.label)
    return Weight(_DEFAULT, "default") if measured is None else Weight(measured, "measured")


def write_weight(database: Database, space: Space, share: float) -> None:
    """Store a fitted share with the space."""
    with database.write() as connection:
        connection.execute(update(spaces).where(spaces.c.id == space.id).values(vector_weight=share))


@cache
def _measured() -> dict[str, float]:
    """Load the shares by space label, fitted on questions with known answers (docs/measurements.md)."""
    shares: dict[str, float] = json.loads(_MEASURED.read_text("utf-8"))
    return shares
