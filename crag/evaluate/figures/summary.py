"""Summary of the results of one variant: figures with intervals, routes, costs, failures."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from crag.evaluate.figures.gathering import Shares, gather, statistic
from crag.evaluate.figures.metrics import METRICS
from crag.evaluate.figures.statistics import bootstrap
from crag.evaluate.values import Cutoffs, Figure, NodeCost, Result


@dataclass(frozen=True, slots=True)
class ActionCount:
    """Number of answers with action `actual` where `expected` was expected; an empty `expected` is unknown.

    An empty `actual` means that there was no grading.
    """

    expected: str
    actual: str
    count: int


@dataclass(frozen=True, slots=True)
class Summary:
    """Figures in the order of `METRICS`, without those that cannot be computed, and counts.

    `nodes` holds the mean cost of an answer by node. `answers` is the number of results, `failed` of them without an
    answer; `examples` is the number of distinct questions.
    """

    figures: Mapping[str, Figure] = field(default_factory=dict)
    actions: Sequence[ActionCount] = ()
    nodes: Mapping[str, NodeCost] = field(default_factory=dict)
    examples: int = 0
    answers: int = 0
    failed: int = 0
    repetitions: int = 0


def summarise(results: Sequence[Result], cutoffs: Cutoffs = Cutoffs()) -> Summary:  # noqa: B008 — it is frozen
    """Summarize the results of one variant.

    The intervals resample examples: repetitions of one question add little information, so `n` is the number of
    examples. Grader metrics are pooled over all passages. A failed answer counts as wrong among answers and refusals,
    and is left out of everything else.
    """
    gathered = gather(results, cutoffs)
    figures = ((name, _figure(name, list(gathered[name].values()))) for name in METRICS if name in gathered)
    done = [result for result in results if result.state == "done"]
    return Summary(
        figures={name: figure for name, figure in figures if figure},
        actions=_actions(done),
        nodes=_nodes(done),
        examples=len({result.example.key for result in results}),
        answers=len(results),
        failed=len(results) - len(done),
        repetitions=max((result.repetition for result in results), default=0),
    )


def _figure(metric: str, shares: Sequence[Shares]) -> Figure | None:
    telling = [one for one in shares if one.tells]
    figured = statistic(metric, telling)
    if figured is None:
        return None
    interval = bootstrap(figured, len(telling), (0.0, 1.0) if METRICS[metric].unit == "share" else None)
    return Figure(metric, interval.value, len(telling), interval.low, interval.high)


def _actions(done: Sequence[Result]) -> list[ActionCount]:
    counts = Counter((result.example.action or "", result.scored.action or "") for result in done)
    return [ActionCount(expected, actual, count) for (expected, actual), count in sorted(counts.items())]


def _nodes(done: Sequence[Result]) -> dict[str, NodeCost]:
    """Return mean costs over all answers, including those a node had no part in, so that the means add up."""
    costs: dict[str, list[NodeCost]] = defaultdict(list)
    for result in done:
        for node, cost in result.scored.nodes.items():
            costs[node].append(cost)
    return {node: _mean(held, len(done)) for node, held in costs.items()}


def _mean(costs: Sequence[NodeCost], answers: int) -> NodeCost:
    return NodeCost(
        sum(cost.seconds for cost in costs) / answers,
        round(sum(cost.prompt_tokens for cost in costs) / answers),
        round(sum(cost.answer_tokens for cost in costs) / answers),
    )
