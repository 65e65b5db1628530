"""Strips: how many of them an answer rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from crag.types import Strip

MAX_STRIPS_PER_ANSWER = 5  # from the paper; as good as keeping all strips above the floor (docs/measurements.md)


def limit_strips(
    strips: Mapping[int, tuple[Strip, ...]], limit: int = MAX_STRIPS_PER_ANSWER, *, floor: float | None = None
) -> dict[int, tuple[Strip, ...]]:
    """Keep the best `limit` of the scored strips of all passages; strips without a score stay as they are.

    Candidates are the strips kept so far, or instead all that score more than `floor`.
    """

    def is_candidate(strip: Strip) -> bool:
        return strip.kept if floor is None or strip.score is None else strip.score > floor

    scores = {
        (passage_id, at): strip.score
        for passage_id, cut in strips.items()
        for at, strip in enumerate(cut)
        if is_candidate(strip) and strip.score is not None
    }
    struck = sorted(scores, key=lambda place: -scores[place])[limit:]
    return {
        passage_id: tuple(
            replace(strip, kept=is_candidate(strip) and (passage_id, at) not in struck) for at, strip in enumerate(cut)
        )
        for passage_id, cut in strips.items()
    }
