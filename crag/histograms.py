"""How many scores lie where, as the bars of a picture or the rows of a table."""

from __future__ import annotations

from collections.abc import Iterable


def histogram(scores: Iterable[float], bins: int) -> list[int]:
    """How many of the scores, in 0..1, lie within each of `bins` equal parts; 1 counts with the last."""
    counts = [0] * bins
    for score in scores:
        counts[min(int(score * bins), bins - 1)] += 1
    return counts
