"""Distributions of a grader's scores for two kinds that it should separate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crag.evaluate.scorers.routes import is_answerable
from crag.evaluate.values import Result


@dataclass(frozen=True, slots=True)
class Spread:
    """Scores, in 0..1, of two kinds that should be far apart; the first kind should score `high`."""

    names: tuple[str, str]
    high: tuple[float, ...]
    low: tuple[float, ...]

    @property
    def is_telling(self) -> bool:
        """Whether there are scores of both kinds."""
        return bool(self.high and self.low)


def once(results: Sequence[Result]) -> list[Result]:
    """Return the first repetition of each question under each variant; others would count it again."""
    first: dict[tuple[int, int], Result] = {}
    for result in sorted(results, key=lambda one: one.repetition):
        first.setdefault((result.variant, result.number), result)
    return list(first.values())


def by_answerable(results: Sequence[Result]) -> Spread:
    """Split the best passage score of each question by whether the question is answerable."""
    known = [(is_answerable(one.example), one.scored.best) for one in once(results)]
    return _spread(("answerable", "not answerable"), known)


def by_retrieval(results: Sequence[Result]) -> Spread:
    """Split the best passage score of each question by whether a right passage was retrieved."""
    known = [
        (one.scored.scores["recall"] > 0, one.scored.best) for one in once(results) if "recall" in one.scored.scores
    ]
    return _spread(("right passage found", "not found"), known)


def by_passage(results: Sequence[Result]) -> Spread:
    """Split passage scores into those of right and of wrong passages."""
    known = [(grade.right, grade.score) for one in once(results) for grade in one.scored.grades]
    return _spread(("right passage", "wrong passage"), known)


def _spread(names: tuple[str, str], known: Sequence[tuple[bool | None, float | None]]) -> Spread:
    high, low = (tuple(score for kind, score in known if kind is high and score is not None) for high in (True, False))
    return Spread(names, high, low)
