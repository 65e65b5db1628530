"""Contribution of each example to each metric, the input of figures, differences and intervals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crag.evaluate.figures.statistics import area, ratio
from crag.evaluate.figures.verdicts import right
from crag.evaluate.scorers.routes import is_answerable
from crag.evaluate.values import Cutoffs, Graded, Result

if TYPE_CHECKING:
    from crag.evaluate.figures.statistics import Statistic

_AREA = "grader_auc"
Part = tuple[float, float]  # part and whole; a plain value is a part of 1


@dataclass(slots=True)
class Shares:
    """The repetitions of one example in one metric: a part of a whole each, or graded passages."""

    parts: list[Part] = field(default_factory=list)
    grades: list[Graded] = field(default_factory=list)

    @property
    def tells(self) -> bool:
        """Whether it contains anything to compute with."""
        return bool(self.grades) or any(whole for _, whole in self.parts)

    @property
    def mean(self) -> Part:
        """Mean part and whole over the repetitions, so that every example has equal weight."""
        n = max(1, len(self.parts))
        return sum(part for part, _ in self.parts) / n, sum(whole for _, whole in self.parts) / n


Gathered = dict[str, dict[str, Shares]]


def gather(results: Iterable[Result], cutoffs: Cutoffs) -> Gathered:
    """Group results by metric, then by example key; only metrics that apply.

    A failed answer counts as a wrong answer and a wrong refusal, and in no other metric.
    """
    gathered: Gathered = defaultdict(lambda: defaultdict(Shares))
    for result in results:
        for metric, part in _parts(result, cutoffs).items():
            gathered[metric][result.example.key].parts.append(part)
        judged = [grade for grade in result.scored.grades if grade.score is not None]
        if judged and result.state == "done":
            gathered[_AREA][result.example.key].grades.extend(judged)
    return gathered


def statistic(metric: str, shares: Sequence[Shares]) -> Statistic | None:
    """Return the statistic of a metric over these examples; None if undefined."""
    if metric == _AREA:
        return _area(shares)
    if not any(one.tells for one in shares):
        return None
    parts, wholes = zip(*(one.mean for one in shares), strict=True)
    return ratio(parts, wholes)


def _area(shares: Sequence[Shares]) -> Statistic | None:
    items = [(grade.score or 0.0, grade.right, owner) for owner, one in enumerate(shares) for grade in one.grades]
    if len({is_right for _, is_right, _ in items}) < 2:
        return None
    scores, labels, owners = zip(*items, strict=True)
    return area(scores, labels, owners)


def _parts(result: Result, cutoffs: Cutoffs) -> dict[str, Part]:
    verdict = right(result, cutoffs)
    values = {} if verdict is None else {"answer_right": float(verdict)}
    if result.state != "done":
        return _plain(values | _failed(result))
    scored = result.scored
    values |= {**scored.scores, "seconds": scored.seconds, "tokens": float(scored.tokens)}
    if result.judged and result.judged.score is not None:
        values["judged"] = result.judged.score
    return _plain(values) | _grading(scored.grades)


def _plain(values: dict[str, float]) -> dict[str, Part]:
    return {metric: (value, 1.0) for metric, value in values.items()}


def _failed(result: Result) -> dict[str, float]:
    answerable = is_answerable(result.example)
    if answerable is None:
        return {}
    return {"refusal_right": 0.0, "answered" if answerable else "refused": 0.0}


def _grading(grades: Sequence[Graded]) -> dict[str, Part]:
    """Return the grader's counts, to be pooled over passages instead of averaging the shares of questions."""
    if not grades:
        return {}
    both = sum(grade.relevant and grade.right for grade in grades)
    taken, right_ones = sum(grade.relevant for grade in grades), sum(grade.right for grade in grades)
    return {"grader_precision": (both, taken), "grader_recall": (both, right_ones)}
