"""Chart of two score distributions: answered questions above the axis, unanswered ones below."""

from __future__ import annotations

from collections.abc import Sequence

from crag.calibration.proposal import histograms
from crag.calibration.values import Scored
from crag.options import Thresholds
from pages.parts import score_bars, words

_KINDS = ("answered", "not answered")


def draw(scored: Sequence[Scored], thresholds: Thresholds) -> None:
    """Draw the chart with both thresholds as rules."""
    alt = (
        "Bars of how often each score was given to answered and to unanswered questions;"
        f" rules at {words.score(thresholds.lower)} and {words.score(thresholds.upper)}"
    )
    score = "best score of a question's passages"
    score_bars.draw(_KINDS, histograms(scored, score_bars.BINS), thresholds, score=score, alt=alt)
