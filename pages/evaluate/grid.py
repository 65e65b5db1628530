"""A grid: the values that are tried, and what came of each combination."""

from __future__ import annotations

from collections.abc import Sequence

from crag.evaluate.values import Cutoffs, Evaluation, Result, Variant
from crag.options import RunOptions


def draw_axes(base: RunOptions, questions: int) -> list[Variant]:
    """The form that chooses the values to try; gives a variant for each combination of them."""
    raise NotImplementedError


def draw_table(evaluation: Evaluation, results: Sequence[Result], cutoffs: Cutoffs) -> None:
    """Every variant with its figures, the best first, the picture of one metric, and the way to keep the best."""
