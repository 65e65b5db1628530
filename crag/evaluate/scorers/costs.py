"""Costs of an answer, node by node."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from crag.evaluate.values import NodeCost
from crag.model_calls import ModelCall
from crag.runs import Trace


def node_costs(trace: Trace, calls: Iterable[ModelCall]) -> dict[str, NodeCost]:
    """Return seconds and tokens of each node over all its executions, in order of their first execution.

    Tokens include those of failed model calls. If no calls were stored, the token usage of the answer is taken.
    """
    seconds: dict[str, float] = defaultdict(float)
    for step in trace.steps:
        seconds[step.node] += step.seconds or 0.0
    read: dict[str, int] = defaultdict(int)
    written: dict[str, int] = defaultdict(int)
    for call in list(calls) or [_usage(trace)]:
        read[call.node] += call.prompt_tokens or 0
        written[call.node] += call.answer_tokens or 0
    nodes = [*seconds, *(node for node in read if node not in seconds and read[node] + written[node])]
    return {node: NodeCost(seconds[node], read[node], written[node]) for node in nodes}


def total_tokens(costs: Mapping[str, NodeCost]) -> int:
    """Return the tokens read and written by all nodes."""
    return sum(cost.prompt_tokens + cost.answer_tokens for cost in costs.values())


def _usage(trace: Trace) -> ModelCall:
    usage = trace.usage
    return ModelCall(
        "generate", trace.model, 0.0, 0.0, (), prompt_tokens=usage.prompt_tokens, answer_tokens=usage.answer_tokens
    )
