"""Data of the evaluation charts: score distributions, routes, threshold costs, trade-offs (pure)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from crag.evaluation.metrics import is_answer_right
from crag.evaluation.scorers import is_answerable
from crag.evaluation.types import Cutoffs, EvaluationResult, Example, Figure
from crag.options import PolicyName
from crag.types import Action


@dataclass(frozen=True, slots=True)
class ScoreSpread:
    """Scores, in 0..1, of two kinds that should be far apart; the first kind should score `high`."""

    names: tuple[str, str]
    high: tuple[float, ...]
    low: tuple[float, ...]

    @property
    def has_both_kinds(self) -> bool:
        """Whether there are scores of both kinds."""
        return bool(self.high and self.low)


def first_repetitions(results: Sequence[EvaluationResult]) -> list[EvaluationResult]:
    """Return the first repetition of each question under each variant; others would count it again."""
    first: dict[tuple[int, int], EvaluationResult] = {}
    for result in sorted(results, key=lambda one: one.repetition):
        first.setdefault((result.variant, result.number), result)
    return list(first.values())


def spread_by_answerable(results: Sequence[EvaluationResult]) -> ScoreSpread:
    """Split the best passage score of each question by whether the question is answerable."""
    known = [(is_answerable(one.example), one.scored.best) for one in first_repetitions(results)]
    return _split_by_kind(("answerable", "not answerable"), known)


def spread_by_retrieval(results: Sequence[EvaluationResult]) -> ScoreSpread:
    """Split the best passage score of each question by whether a right passage was retrieved."""
    known = [
        (one.scored.scores["recall"] > 0, one.scored.best)
        for one in first_repetitions(results)
        if "recall" in one.scored.scores
    ]
    return _split_by_kind(("expected passage found", "not found"), known)


def spread_by_passage(results: Sequence[EvaluationResult]) -> ScoreSpread:
    """Split passage scores into those of right and of wrong passages."""
    known = [(grade.right, grade.score) for one in first_repetitions(results) for grade in one.scored.grades]
    return _split_by_kind(("expected passage", "other passage"), known)


def _split_by_kind(names: tuple[str, str], known: Sequence[tuple[bool | None, float | None]]) -> ScoreSpread:
    high, low = (tuple(score for kind, score in known if kind is high and score is not None) for high in (True, False))
    return ScoreSpread(names, high, low)


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
    answerable = is_answerable(example)
    return "" if answerable is None else _ANSWERABLE if answerable else _NOT_ANSWERABLE


@dataclass(frozen=True, slots=True)
class ThresholdCosts:
    """The scores, in 0..1, that decide the route of each question.

    `better_answered` and `better_refused` hold the best score of each question of that kind: a question is refused if
    its best score is below the lower threshold. A question is answered from the documents alone if its score in
    `deciding` reaches the upper threshold; otherwise a web search is wanted. That is the best score, or the lowest
    under the policy `any`.
    """

    better_answered: tuple[float, ...]
    better_refused: tuple[float, ...]
    deciding: tuple[float, ...]

    def refused_wrongly(self, lower: float) -> float | None:
        """Return the share of the questions better answered that are refused; None without any."""
        return _share_below(self.better_answered, lower)

    def answered_wrongly(self, lower: float) -> float | None:
        """Return the share of the questions better refused that are answered; None without any."""
        below = _share_below(self.better_refused, lower)
        return None if below is None else 1 - below

    def sent_to_web(self, upper: float) -> float | None:
        """Return the share of all questions for which a web search is wanted; None without any."""
        return _share_below(self.deciding, upper)


def compute_threshold_costs(
    results: Sequence[EvaluationResult], policy: PolicyName, cutoffs: Cutoffs
) -> ThresholdCosts:
    """Compute the costs from the results of one variant under this policy.

    Better refused are unanswerable questions and those answered wrongly. All other graded questions count as better
    answered.
    """
    graded = [one for one in first_repetitions(results) if one.scored.best is not None]
    refusable = [_should_be_refused(one, cutoffs) for one in graded]
    best = [one.scored.best or 0.0 for one in graded]
    return ThresholdCosts(
        tuple(score for score, refuse in zip(best, refusable, strict=True) if not refuse),
        tuple(score for score, refuse in zip(best, refusable, strict=True) if refuse),
        tuple(_lowest_score(one) for one in graded) if policy == "any" else tuple(best),
    )


def _should_be_refused(result: EvaluationResult, cutoffs: Cutoffs) -> bool:
    if is_answerable(result.example) is False:
        return True
    return result.scored.outcome != "not_answered" and is_answer_right(result, cutoffs) is False


def _lowest_score(result: EvaluationResult) -> float:
    """Return the lowest score among the passages; one that could not be graded is never relevant."""
    return min((grade.score or 0.0 for grade in result.scored.grades), default=result.scored.best or 0.0)


def _share_below(scores: Sequence[float], threshold: float) -> float | None:
    return sum(score < threshold for score in scores) / len(scores) if scores else None


# The metric closest to what users want comes first; no metric applies to every dataset.
_ACCURACY_METRICS = ("answer_right", "refusal_right", "contained", "token_f1", "action_match", "steps_match", "recall")


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
