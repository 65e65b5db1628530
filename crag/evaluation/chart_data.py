"""Data of the evaluation charts: passage scores, routes, risk and coverage, trade-offs (pure)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from crag.evaluation.metrics import score_truthfulness
from crag.evaluation.threshold_proposal import THRESHOLD_GRID
from crag.evaluation.types import Cutoffs, EvaluationResult, Example, Figure
from crag.types import Action


def first_repetitions(results: Sequence[EvaluationResult]) -> list[EvaluationResult]:
    """Return the first repetition of each question under each variant; others would count it again."""
    first: dict[tuple[int, int], EvaluationResult] = {}
    for result in sorted(results, key=lambda one: one.repetition):
        first.setdefault((result.variant, result.number), result)
    return list(first.values())


def passage_scores(results: Sequence[EvaluationResult]) -> tuple[list[float], list[float]]:
    """Return the scores of the expected passages and of all others."""
    graded = [grade for one in first_repetitions(results) for grade in one.scored.grades if grade.score is not None]
    right, others = ([grade.score or 0.0 for grade in graded if grade.right is kind] for kind in (True, False))
    return right, others


_ANSWERABLE, _NOT_ANSWERABLE = "answerable", "not answerable"
_ACTIONS: tuple[str, ...] = get_args(Action)
# The right actions for each expectation.
_RIGHT_ACTIONS = {action: (action,) for action in _ACTIONS} | {
    _ANSWERABLE: ("correct", "ambiguous"),
    _NOT_ANSWERABLE: ("incorrect",),
}


@dataclass(frozen=True, slots=True)
class RouteCount:
    """Number of answers that took a route; an empty `actual` means that no action was decided."""

    expected: str
    actual: str
    count: int

    @property
    def agrees(self) -> bool:
        """Whether the action is an expected one."""
        return self.actual in _RIGHT_ACTIONS[self.expected]


def count_routes(results: Sequence[EvaluationResult]) -> list[RouteCount]:
    """Count every pair of an occurring expectation and an action, including pairs that never occurred.

    Expectations are the actions named in the dataset if there are any, otherwise whether the question is answerable.
    Empty if neither is known.
    """
    named = any(result.example.action for result in results)
    pairs: list[tuple[str, str]] = [
        (expected, result.scored.action or "")
        for result in results
        if (expected := _expected_route(result.example, named))
    ]
    counts = Counter(pairs)
    rows = [expected for expected in _RIGHT_ACTIONS if any(expected == one for one, _ in pairs)]
    columns = [*_ACTIONS, *({""} & {actual for _, actual in pairs})]
    return [RouteCount(row, column, counts[row, column]) for row in rows for column in columns]


def _expected_route(example: Example, named: bool) -> str:
    if named:
        return example.action or ""
    answerable = example.can_be_answered
    return "" if answerable is None else _ANSWERABLE if answerable else _NOT_ANSWERABLE


@dataclass(frozen=True, slots=True)
class RiskPoint:
    """What declining below `threshold` would leave of an evaluation: `answered` of its questions, `wrong` among them.

    `truthfulness` is that of all its questions, in −1..1.
    """

    threshold: float
    answered: int
    wrong: int
    truthfulness: float

    @property
    def risk(self) -> float:
        """Share of wrong answers among those given."""
        return self.wrong / self.answered


@dataclass(frozen=True, slots=True)
class RiskCurve:
    """Risk against coverage (El-Yaniv and Wiener 2010): one point for each threshold that changes anything.

    The first point is the evaluation itself. `questions` are those whose answers can be called right or wrong.
    """

    questions: int
    points: tuple[RiskPoint, ...]


_MIN_COVERAGE = 0.05  # with fewer answers than that, a single one moves the curve far


def compute_risk_curve(results: Sequence[EvaluationResult], cutoffs: Cutoffs, lower: float) -> RiskCurve:
    """Compute the curve from the stored answers of one variant, which declined below `lower`.

    A question is declined if the best score of its passages is below the threshold. What an evaluation declined stays
    declined, since the answer is not known; what it answered without grading is answered under every threshold.
    """
    scored = [
        (one, truth) for one in first_repetitions(results) if (truth := score_truthfulness(one, cutoffs)) is not None
    ]
    given = [(one, truth) for one, truth in scored if one.state == "done" and one.scored.outcome != "not_answered"]
    kept_anyway = sum(truth for _, truth in scored) - sum(truth for _, truth in given)
    points: list[RiskPoint] = []
    for threshold in (lower, *(step for step in THRESHOLD_GRID if step > lower)):
        kept = [truth for one, truth in given if one.scored.best is None or one.scored.best >= threshold]
        if len(kept) < max(1, _MIN_COVERAGE * len(scored)):
            break
        if points and len(kept) == points[-1].answered:
            continue
        declined_rightly = sum(
            one.example.answerable is False
            for one, _ in given
            if one.scored.best is not None and one.scored.best < threshold
        )
        truthfulness = (kept_anyway + declined_rightly + sum(kept)) / len(scored)
        points.append(RiskPoint(threshold, len(kept), kept.count(-1), truthfulness))
    return RiskCurve(len(scored), tuple(points))


# The metric closest to what users want comes first; no metric applies to every dataset.
_ACCURACY_METRICS = ("truthfulness", "refusal_right", "contained", "token_f1", "action_match", "steps_match", "recall")


@dataclass(frozen=True, slots=True)
class TradeOffPoint:
    """A variant by its number, with a figure and its time in seconds.

    `is_pareto_optimal`: no other is as good and faster, or better and as fast.
    """

    variant: int
    figure: Figure
    time: Figure
    is_pareto_optimal: bool = True


def choose_accuracy_metric(figures: Sequence[Mapping[str, Figure]]) -> str:
    """Return the metric that measures the quality of variants: the first that all of them have, or empty."""
    return next((name for name in _ACCURACY_METRICS if figures and all(name in own for own in figures)), "")


def trade_off_points(figures: Mapping[int, Mapping[str, Figure]], metric: str) -> list[TradeOffPoint]:
    """Return every variant that has the metric and a time; higher values of the metric must be better."""
    known = [(number, own[metric], own["seconds"]) for number, own in figures.items() if {metric, "seconds"} <= {*own}]
    return [
        TradeOffPoint(number, figure, time, not any(_dominates(other, (figure, time)) for _, *other in known))
        for number, figure, time in known
    ]


def _dominates(first: Sequence[Figure], second: Sequence[Figure]) -> bool:
    """Return whether the first is at least as good in both, and better in one."""
    more, less = first[0].value - second[0].value, second[1].value - first[1].value
    return min(more, less) >= 0 and max(more, less) > 0
