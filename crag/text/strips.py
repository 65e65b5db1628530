"""Strips: how many of them an answer rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from crag.types import Strip

MAX_STRIPS_PER_ANSWER = 5  # from the paper; as good as keeping all strips above the floor (docs/measurements.md)


def limit_strips(
    strips: Mapping[int, tuple[Strip, ...]], limit: int = MAX_STRIPS_PER_ANSWER
) -> dict[int, tuple[Strip, ...]]:
    """Keep the best `limit` of the scored strips of all passages; strips without a score stay as they are."""
    scores = {
        (passage_id, at): strip.score
        for passage_id, cut in strips.items()
        for at, strip in enumerate(cut)
        if strip.kept and strip.score is not None
    }
    struck = sorted(scores, key=lambda place: -scores[place])[limit:]
    return {
        passage_id: tuple(
            replace(strip, kept=strip.kept and (passage_id, at) not in struck) for at, strip in enumerate(cut)
        )
        for passage_id, cut in strips.items()
    }
