"""What the results of one variant come to: figures with intervals, routes, costs, failures."""

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
    """In how many answers `actual` was the action where `expected` was; `expected` empty: it is not known.

    `actual` empty: without grading there was none.
    """

    expected: str
    actual: str
    count: int


@dataclass(frozen=True, slots=True)
class Summary:
    """`figures` in the order of `METRICS`, only those with anything to figure from.

    `nodes` holds what an answer takes on average, in all of its nodes together. `answers` are those asked for, `failed`
    of them were not given; `examples` is how many questions they are to.
    """

    figures: Mapping[str, Figure] = field(default_factory=dict)
    actions: Sequence[ActionCount] = ()
    nodes: Mapping[str, NodeCost] = field(default_factory=dict)
    examples: int = 0
    answers: int = 0
    failed: int = 0
    repetitions: int = 0


def summarise(results: Sequence[Result], cutoffs: Cutoffs = Cutoffs()) -> Summary:  # noqa: B008 — it is frozen
    """Sums up the results of one variant.

    The intervals resample examples: repetitions of one question tell little more than one of them does, so a figure's
    `n` is its number of examples. What graders make of passages is pooled over all passages. An answer that failed
    counts as wrong among answers and refusals, and is left out of everything else.
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
    """What a node took, on average over all answers, also over those that it had no part in: so they add up."""
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
