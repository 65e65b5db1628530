"""Two or more variants compared: what became better or worse, how sure that is, and which questions went otherwise."""

from __future__ import annotations

from collections.abc import Sequence

from crag.evaluate.values import Cutoffs
from pages.evaluate.sides import Side


def draw(sides: Sequence[Side], cutoffs: Cutoffs) -> None:
    """Each of the sides against the first."""
