"""Trade-off of accuracy and time: each variant as a point, and the Pareto-optimal ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crag.evaluate.values import Figure

# The metric closest to what users want comes first; no metric applies to every dataset.
_ACCURACIES = ("answer_right", "refusal_right", "contained", "token_f1", "action_match", "steps_match", "recall")


@dataclass(frozen=True, slots=True)
class Point:
    """A variant by its number, with a figure and its time in seconds.

    `unbeaten`: no other is as good and faster, or better and as fast.
    """

    variant: int
    figure: Figure
    time: Figure
    unbeaten: bool = True


def accuracy(figures: Sequence[Mapping[str, Figure]]) -> str:
    """Return the metric that measures the quality of variants: the first that all of them have, or empty."""
    return next((name for name in _ACCURACIES if figures and all(name in own for own in figures)), "")


def points(figures: Mapping[int, Mapping[str, Figure]], metric: str) -> list[Point]:
    """Return every variant that has the metric and a time; higher values of the metric must be better."""
    known = [(number, own[metric], own["seconds"]) for number, own in figures.items() if {metric, "seconds"} <= {*own}]
    return [
        Point(number, figure, time, not any(_beats(other, (figure, time)) for _, *other in known))
        for number, figure, time in known
    ]


def _beats(one: Sequence[Figure], other: Sequence[Figure]) -> bool:
    """Return whether the first is at least as good in both, and better in one."""
    more, less = one[0].value - other[0].value, other[1].value - one[1].value
    return min(more, less) >= 0 and max(more, less) > 0
