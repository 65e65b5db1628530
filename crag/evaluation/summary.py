"""Figures of one variant with their intervals, and paired differences between two variants."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import TYPE_CHECKING

from crag.evaluation.metrics import METRICS, is_answer_right, score_truthfulness
from crag.evaluation.statistics import auc_statistic, bootstrap_interval, compute_statistic, ratio_statistic
from crag.evaluation.types import (
    ChangedExample,
    Cutoffs,
    EvaluationResult,
    Figure,
    GradedPassage,
    MetricDifference,
    NodeCost,
)

if TYPE_CHECKING:
    from crag.evaluation.statistics import Array, Statistic


_AUC_METRIC = "grader_auc"
PartOfWhole = tuple[float, float]  # part and whole; a plain value is a part of 1


@dataclass(slots=True)
class ExampleShares:
    """The repetitions of one example in one metric: a part of a whole each, or graded passages."""

    parts: list[PartOfWhole] = field(default_factory=list)
    grades: list[GradedPassage] = field(default_factory=list)

    @property
    def has_data(self) -> bool:
        """Whether it contains anything to compute with."""
        return bool(self.grades) or any(whole for _, whole in self.parts)

    @property
    def mean(self) -> PartOfWhole:
        """Mean part and whole over the repetitions, so that every example has equal weight."""
        n = max(1, len(self.parts))
        return sum(part for part, _ in self.parts) / n, sum(whole for _, whole in self.parts) / n


SharesByMetric = dict[str, dict[str, ExampleShares]]


def gather_shares(results: Iterable[EvaluationResult], cutoffs: Cutoffs) -> SharesByMetric:
    """Group results by metric, then by example key; only metrics that apply.

    A failed answer is no right answer and a wrong refusal, and counts in no other metric. Where no right answer is
    known at all, always declining would look truthful, so truthfulness is left out.
    """
    gathered: SharesByMetric = defaultdict(lambda: defaultdict(ExampleShares))
    for result in results:
        for metric, part in _result_parts(result, cutoffs).items():
            gathered[metric][result.example.key].parts.append(part)
        judged = [grade for grade in result.scored.grades if grade.score is not None]
        if judged and result.state == "done":
            gathered[_AUC_METRIC][result.example.key].grades.extend(judged)
    if "answer_right" not in gathered:
        gathered.pop("truthfulness", None)
    return gathered


def metric_statistic(metric: str, shares: Sequence[ExampleShares]) -> Statistic | None:
    """Return the statistic of a metric over these examples; None if undefined."""
    if metric == _AUC_METRIC:
        return _pooled_auc_statistic(shares)
    if not any(one.has_data for one in shares):
        return None
    parts, wholes = zip(*(one.mean for one in shares), strict=True)
    return ratio_statistic(parts, wholes)


def _pooled_auc_statistic(shares: Sequence[ExampleShares]) -> Statistic | None:
    items = [(grade.score or 0.0, grade.right, group) for group, one in enumerate(shares) for grade in one.grades]
    if len({is_right for _, is_right, _ in items}) < 2:
        return None
    scores, labels, owners = zip(*items, strict=True)
    return auc_statistic(scores, labels, owners)


def _result_parts(result: EvaluationResult, cutoffs: Cutoffs) -> dict[str, PartOfWhole]:
    known = {"truthfulness": score_truthfulness(result, cutoffs), "answer_right": is_answer_right(result, cutoffs)}
    values = {name: float(value) for name, value in known.items() if value is not None}
    if result.state != "done":
        return _parts_of_one(values | _failed_scores(result))
    scored = result.scored
    values |= {**scored.scores, "seconds": scored.seconds, "tokens": float(scored.tokens)}
    if result.judged and result.judged.score is not None:
        values["judged"] = result.judged.score
    return _parts_of_one(values) | _grader_parts(scored.grades)


def _parts_of_one(values: dict[str, float]) -> dict[str, PartOfWhole]:
    return {metric: (value, 1.0) for metric, value in values.items()}


def _failed_scores(result: EvaluationResult) -> dict[str, float]:
    answerable = result.example.can_be_answered
    if answerable is None:
        return {}
    return {"refusal_right": 0.0, "answered" if answerable else "refused": 0.0}


def _grader_parts(grades: Sequence[GradedPassage]) -> dict[str, PartOfWhole]:
    """Return the grader's counts, to be pooled over passages instead of averaging the shares of questions."""
    if not grades:
        return {}
    both = sum(grade.relevant and grade.right for grade in grades)
    taken, right_ones = sum(grade.relevant for grade in grades), sum(grade.right for grade in grades)
    return {"grader_precision": (both, taken), "grader_recall": (both, right_ones)}


@dataclass(frozen=True, slots=True)
class VariantSummary:
    """Figures in the order of `METRICS`, without those that cannot be computed, and counts.

    `nodes` holds the mean cost of an answer by node. `answers` is the number of results, `failed` of them without an
    answer and `labelled` judged by a user; `examples` is the number of distinct questions.
    """

    figures: Mapping[str, Figure] = field(default_factory=dict)
    nodes: Mapping[str, NodeCost] = field(default_factory=dict)
    examples: int = 0
    answers: int = 0
    failed: int = 0
    labelled: int = 0
    repetitions: int = 0


def summarise_results(results: Sequence[EvaluationResult], cutoffs: Cutoffs = Cutoffs()) -> VariantSummary:
    """Summarize the results of one variant.

    The intervals resample examples: repetitions of one question add little information, so `n` is the number of
    examples. Grader metrics are pooled over all passages. A failed answer counts as wrong among answers and refusals,
    and is left out of everything else.
    """
    gathered = gather_shares(results, cutoffs)
    figures = ((name, _compute_figure(name, list(gathered[name].values()))) for name in METRICS if name in gathered)
    done = [result for result in results if result.state == "done"]
    return VariantSummary(
        figures={name: figure for name, figure in figures if figure},
        nodes=_mean_node_costs(done),
        examples=len({result.example.key for result in results}),
        answers=len(results),
        failed=len(results) - len(done),
        labelled=sum(result.is_labelled for result in done),
        repetitions=max((result.repetition for result in results), default=0),
    )


def _compute_figure(metric: str, examples: Sequence[ExampleShares]) -> Figure | None:
    """Return the metric with its interval, or None if no example has data for it."""
    with_data = [one for one in examples if one.has_data]
    statistic = metric_statistic(metric, with_data)
    if statistic is None:
        return None
    lowest = METRICS[metric].lowest
    interval = bootstrap_interval(statistic, len(with_data), (lowest, 1.0) if METRICS[metric].unit == "share" else None)
    return Figure(metric, interval.value, len(with_data), interval.low, interval.high)


def _mean_node_costs(done: Sequence[EvaluationResult]) -> dict[str, NodeCost]:
    """Return mean costs over all answers, including those a node had no part in, so that the means add up."""
    costs: dict[str, list[NodeCost]] = defaultdict(list)
    for result in done:
        for node, cost in result.scored.nodes.items():
            costs[node].append(cost)
    return {node: _mean_cost(held, len(done)) for node, held in costs.items()}


def _mean_cost(costs: Sequence[NodeCost], answers: int) -> NodeCost:
    return NodeCost(
        sum(cost.seconds for cost in costs) / answers,
        round(sum(cost.prompt_tokens for cost in costs) / answers),
        round(sum(cost.answer_tokens for cost in costs) / answers),
    )


@dataclass(frozen=True, slots=True)
class Comparison:
    """`differences` in the order of `METRICS`; `changed` lists broken questions first, the greatest change first.

    `examples` is the number of shared questions. `unjudged` says that judgements were ignored, because the two sides
    had different judges.
    """

    differences: Sequence[MetricDifference] = ()
    changed: Sequence[ChangedExample] = ()
    examples: int = 0
    unjudged: bool = False


def compare_results(
    before: Sequence[EvaluationResult], after: Sequence[EvaluationResult], cutoffs: Cutoffs = Cutoffs()
) -> Comparison:
    """Compare two variants, of one evaluation or of two, over the questions that both have.

    Both answers to a question are resampled together, so that its difficulty does not blur the difference. Judgements
    count only if the same model judged both sides. A question changed if its mean score did: its truthfulness, else
    whether answering or declining was right, else the share of the expected passages that was found.
    """
    if unjudged := _judge_models(before) != _judge_models(after):
        before, after = _drop_judgements(before), _drop_judgements(after)
    gathered = gather_shares(before, cutoffs), gather_shares(after, cutoffs)
    names = [name for name in METRICS if name in gathered[0] and name in gathered[1]]
    differences = (_metric_difference(name, gathered[0][name], gathered[1][name]) for name in names)
    pairs = _pair_answers(before, after)
    changes = [change for old, new in pairs if (change := _find_change(old, new, cutoffs))]
    changes.sort(key=lambda one: (one.what == "fixed", -abs(one.after - one.before)))
    return Comparison([one for one in differences if one], changes, len(pairs), unjudged)


def _judge_models(results: Sequence[EvaluationResult]) -> set[str]:
    return {result.judged.model for result in results if result.judged}


def _drop_judgements(results: Sequence[EvaluationResult]) -> list[EvaluationResult]:
    return [replace(result, judged=None) for result in results]


def _metric_difference(
    metric: str, before: Mapping[str, ExampleShares], after: Mapping[str, ExampleShares]
) -> MetricDifference | None:
    """Return the difference in one metric; None without a shared example with data."""
    keys = [key for key, one in before.items() if key in after and (one.has_data or after[key].has_data)]
    old, new = (
        metric_statistic(metric, [before[key] for key in keys]),
        metric_statistic(metric, [after[key] for key in keys]),
    )
    if not (old and new):
        return None

    def difference(weights: Array) -> Array:
        return new(weights) - old(weights)

    most = 1.0 - METRICS[metric].lowest
    interval = bootstrap_interval(difference, len(keys), (-most, most) if METRICS[metric].unit == "share" else None)
    values = compute_statistic(old, len(keys)), compute_statistic(new, len(keys))
    return MetricDifference(metric, *values, len(keys), interval.low, interval.high)


AnswerPair = tuple[list[EvaluationResult], list[EvaluationResult]]


def _pair_answers(before: Sequence[EvaluationResult], after: Sequence[EvaluationResult]) -> list[AnswerPair]:
    """Return the answers of both sides to each shared question."""
    found: dict[str, AnswerPair] = defaultdict(lambda: ([], []))
    for side, results in enumerate((before, after)):
        for result in results:
            found[result.example.key][side].append(result)
    return [pair for pair in found.values() if all(pair)]


def _find_change(
    old: Sequence[EvaluationResult], new: Sequence[EvaluationResult], cutoffs: Cutoffs
) -> ChangedExample | None:
    """Average over repetitions; the runs returned are examples of either side."""
    before, after = _mean_score(old, cutoffs), _mean_score(new, cutoffs)
    if before is None or after is None or before == after:
        return None
    broken = after < before
    runs = _pick_run(old, max if broken else min, cutoffs), _pick_run(new, min if broken else max, cutoffs)
    return ChangedExample(new[0].example, "broken" if broken else "fixed", before, after, *runs)


def _mean_score(results: Sequence[EvaluationResult], cutoffs: Cutoffs) -> float | None:
    scores = [score for _, score in _score_by_run(results, cutoffs)]
    return sum(scores) / len(scores) if scores else None


def _pick_run(results: Sequence[EvaluationResult], pick: Callable[..., tuple[str, float]], cutoffs: Cutoffs) -> str:
    return pick(_score_by_run(results, cutoffs), key=itemgetter(1))[0]


def _score_by_run(results: Sequence[EvaluationResult], cutoffs: Cutoffs) -> list[tuple[str, float]]:
    """Return run id and score of each answer whose score is known."""
    scores = ((result.run_id, _score_answer(result, cutoffs)) for result in results)
    return [(run, score) for run, score in scores if score is not None]


def _score_answer(result: EvaluationResult, cutoffs: Cutoffs) -> float | None:
    truthfulness = score_truthfulness(result, cutoffs)
    if truthfulness is not None:
        return float(truthfulness)
    if result.example.answerable is None:
        known = result.example.sources or result.example.phrases
        return (result.scored.scores.get("recall", 0.0) if result.state == "done" else 0.0) if known else None
    return float(result.state == "done" and result.scored.scores.get("refusal_right") == 1.0)
