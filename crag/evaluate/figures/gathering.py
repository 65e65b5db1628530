"""What each example adds to each metric: what figures, differences and their intervals are made of."""

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
Part = tuple[float, float]  # of a whole; a plain value is a part of 1


@dataclass(slots=True)
class Shares:
    """What the repetitions of one example add to one metric: a part each, or passages as they were graded."""

    parts: list[Part] = field(default_factory=list)
    grades: list[Graded] = field(default_factory=list)

    @property
    def tells(self) -> bool:
        """Whether there is anything in it to figure with."""
        return bool(self.grades) or any(whole for _, whole in self.parts)

    @property
    def mean(self) -> Part:
        """Its part and whole over its repetitions, so that every example weighs the same however often it was asked."""
        n = max(1, len(self.parts))
        return sum(part for part, _ in self.parts) / n, sum(whole for _, whole in self.parts) / n


Gathered = dict[str, dict[str, Shares]]


def gather(results: Iterable[Result], cutoffs: Cutoffs) -> Gathered:
    """By metric, then by key of the example; only what applies.

    An answer that failed is a wrong one, and neither a right answer nor a right refusal; nothing else counts of it.
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
    """How a metric is figured from these examples; None where it is undefined."""
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
    """Pooled over passages: their numbers are added up, not the shares of each question."""
    if not grades:
        return {}
    both = sum(grade.relevant and grade.right for grade in grades)
    taken, right_ones = sum(grade.relevant for grade in grades), sum(grade.right for grade in grades)
    return {"grader_precision": (both, taken), "grader_recall": (both, right_ones)}
