"""Histograms of scores, for charts and tables."""

from __future__ import annotations

from collections.abc import Iterable


def histogram(scores: Iterable[float], bins: int) -> list[int]:
    """Count the scores, in 0..1, in each of `bins` equal parts; 1 belongs to the last."""
    counts = [0] * bins
    for score in scores:
        counts[min(int(score * bins), bins - 1)] += 1
    return counts
