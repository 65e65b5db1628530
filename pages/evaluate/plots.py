"""Where a picture says more than a table: scores, routes, thresholds, and accuracy against time."""

from __future__ import annotations

from collections.abc import Sequence

from crag.evaluate.values import Cutoffs, Evaluation, Result


def draw(evaluation: Evaluation, variant: int, results: Sequence[Result], cutoffs: Cutoffs) -> None:
    """The plots of one variant; `results` of the whole evaluation, so that its variants can be set side by side."""
