"""Where the time of a run went: a bar for each node, and below it one for each call of a model and the web search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from crag.events import Node
from crag.inspection.facts import NODES
from crag.model_calls import ModelCall
from crag.runs import Step, Trace

SpanKind = Literal["model", "web", "own"]
_OWN: frozenset[Node] = frozenset({"retrieve", "decide", "check_answer"})


@dataclass(frozen=True, slots=True)
class Span:
    """One bar: from `start` to `end` in seconds since the run began. `inner`: a part of the node above it."""

    node: Node
    name: str
    kind: SpanKind
    start: float
    end: float
    inner: bool = False

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.end - self.start


def spans(trace: Trace, calls: Sequence[ModelCall], now: float | None = None) -> list[Span]:
    """The bars of a run in the order in which they are read; `now` is where those end that still run.

    Nodes whose results a version kept from an earlier one took no time in it, and one that waits for a person takes
    none: they have no bar.
    """
    found: list[Span] = []
    for step in trace.steps:
        if not step.kept and step.state != "waiting":
            own = [call for call in calls if call.node == step.node]
            found += [_of_node(step, trace, own, now), *_inner(step, trace, own, now)]
    return found


def kept(trace: Trace) -> list[Node]:
    """The nodes whose results come from the version before."""
    return [step.node for step in trace.steps if step.kept]


def _of_node(step: Step, trace: Trace, calls: Sequence[ModelCall], now: float | None) -> Span:
    return Span(step.node, NODES[step.node], _kind(step.node, trace, calls), step.started, _end(step, now))


def _kind(node: Node, trace: Trace, calls: Sequence[ModelCall]) -> SpanKind:
    """What a node waited for most; of runs whose calls were not kept as far as their events tell."""
    if node == "web_search":
        return "web"
    if calls and node not in _OWN:
        return "model"
    asked_writer = node == "generate" and trace.prompt is not None and trace.prompt.window > 0
    asked_grader = node == "grade_documents" and not trace.grader.startswith("builtin")
    return "model" if asked_writer or asked_grader else "own"


def _inner(step: Step, trace: Trace, calls: Sequence[ModelCall], now: float | None) -> list[Span]:
    """The calls of a node, and before them the search where it is the one that searches."""
    end = _end(step, now)
    of_calls = [
        Span(step.node, f"call {number}" if len(calls) > 1 else "call", "model", call.at, call.at + call.seconds, True)
        for number, call in enumerate(sorted(calls, key=lambda call: call.at), start=1)
    ]
    if step.node != "web_search" or not trace.query_sent or not of_calls:
        return of_calls
    return [Span(step.node, "search", "web", step.started, min(end, of_calls[0].start), True), *of_calls]


def _end(step: Step, now: float | None) -> float:
    if step.seconds is not None:
        return step.started + step.seconds
    return max(step.started, now or 0.0)
