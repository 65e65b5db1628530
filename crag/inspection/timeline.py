"""Timeline of a run: a bar per node and, below it, one per model call and for the web search."""

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
    """One bar, from `start` to `end` in seconds since the run began. `inner`: part of the node above it."""

    node: Node
    name: str
    kind: SpanKind
    start: float
    end: float
    inner: bool = False

    @property
    def seconds(self) -> float:
        """Duration in seconds."""
        return self.end - self.start


def spans(trace: Trace, calls: Sequence[ModelCall], now: float | None = None) -> list[Span]:
    """Return the bars of a run from top to bottom; bars of nodes still running end at `now`.

    Nodes kept from an earlier version and nodes that wait for the user have no bar.
    """
    found: list[Span] = []
    for step in trace.steps:
        if not step.kept and step.state != "waiting":
            own = [call for call in calls if call.node == step.node]
            found += [_of_node(step, trace, own, now), *_inner(step, trace, own, now)]
    return found


def kept(trace: Trace) -> list[Node]:
    """Return the nodes whose results were kept from the previous version."""
    return [step.node for step in trace.steps if step.kept]


def _of_node(step: Step, trace: Trace, calls: Sequence[ModelCall], now: float | None) -> Span:
    return Span(step.node, NODES[step.node], _kind(step.node, trace, calls), step.started, _end(step, now))


def _kind(node: Node, trace: Trace, calls: Sequence[ModelCall]) -> SpanKind:
    """Return what a node mostly waited for; if the run's calls were not kept, inferred from its events."""
    if node == "web_search":
        return "web"
    if calls and node not in _OWN:
        return "model"
    asked_writer = node == "generate" and trace.prompt is not None and trace.prompt.window > 0
    asked_grader = node == "grade_documents" and not trace.grader.startswith("builtin")
    return "model" if asked_writer or asked_grader else "own"


def _inner(step: Step, trace: Trace, calls: Sequence[ModelCall], now: float | None) -> list[Span]:
    """Return the bars of a node's calls, preceded by that of the web search where the node searches."""
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
