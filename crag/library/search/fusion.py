"""Fusion of word scores and vector similarity."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median


def fuse(words: Mapping[int, float], cosines: Mapping[int, float], weight: float) -> dict[int, float]:
    """Return a score in 0..1 for each id in `words`; `weight` in 0..1 is the share of the cosines.

    A weighted mean of both scores, each scaled to 0..1 among the candidates. Unlike ranks, a mean preserves the
    distance between candidates: Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval" (ACM TOIS
    2023).

    An id without a cosine has no vector yet and gets the median. Without any cosine, the word scores alone decide.
    """
    most = max(words.values(), default=0.0) or 1.0
    if not cosines:
        return {id_: value / most for id_, value in words.items()}
    lowest, highest = min(cosines.values()), max(cosines.values())
    unknown, spread = median(cosines.values()), highest - lowest

    def nearness(id_: int) -> float:
        return (cosines.get(id_, unknown) - lowest) / spread if spread else 1.0

    return {id_: (1 - weight) * value / most + weight * nearness(id_) for id_, value in words.items()}


def ranks(scores: Mapping[int, float]) -> dict[int, int]:
    """Return the rank of each id from 1, highest score first; scores of 0 get no rank."""
    best = sorted((id_ for id_, score in scores.items() if score), key=lambda id_: (-scores[id_], id_))
    return {id_: rank for rank, id_ in enumerate(best, start=1)}
