"""Chart data of a run: path diagram (Mermaid) and timeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

from crag.events import NODES
from crag.inspection.steps import summarize_step
from crag.options import GRADERS
from crag.runs.trace import Step, Trace
from crag.translation import _
from crag.types import Action, ModelCall, NodeName

_DIAGRAM_LAYOUT = (
    '%%{init: {"flowchart": {"nodeSpacing": 24, "rankSpacing": 26, "wrappingWidth": 320},'
    ' "themeVariables": {"fontSize": "13px"}}}%%'
)
_DIAGRAM_CLASSES = (  # strokes only, which are visible on light and dark themes
    "classDef on stroke:#6b82e0,stroke-width:2.5px",
    "classDef off stroke-dasharray:4 3,opacity:0.55",
    "classDef halted stroke:#d0566a,stroke-width:2.5px",
)
_EDGE_LABELS: dict[Action | None, str] = {  # short: labels of neighbouring edges must not touch
    "correct": "covered",
    "ambiguous": "partly covered",
    "incorrect": "not found",
    None: "grading off",
}
_HALTED_STATES = ("stopped", "failed", "interrupted")


class Edge(NamedTuple):
    """An edge between two nodes, with the decision on which it is taken (empty: always)."""

    start: NodeName
    end: NodeName
    label: str = ""


def path_diagram(trace: Trace) -> str:
    """Draw the diagram: `==>` where the run went, `-.->` where its settings would have allowed it to go.

    The routes match `crag/graph/build.py`. A node shows its outcome and duration, or that the run waits, stopped or
    failed there, or that its result was kept from the previous version.
    """
    edges = edges_taken(trace)
    pairs = {edge[:2] for edge in edges}
    shown = [*edges, *(edge for edge in _possible_edges(trace) if edge[:2] not in pairs)]
    drawn = [node for node in NODES if trace.step(node) or any(node in edge[:2] for edge in shown)]
    lines = [_DIAGRAM_LAYOUT, "flowchart TD", *(_node_box(node, trace) for node in drawn)]
    lines += [_edge_arrow(edge, taken=edge in edges) for edge in sorted(shown, key=_edge_position)]
    return "\n".join([*lines, *_DIAGRAM_CLASSES, *_class_lines(drawn, trace)])


def describe_path(trace: Trace) -> str:
    """Describe the path in words, for readers who cannot see the diagram."""
    steps = [
        f"{_(NODES[step.node].title)}{f' ({summary})' if (summary := summarize_step(step, trace)) else ''}"
        for step in trace.steps
    ]
    return _("Steps taken: {steps}").format(steps=", ".join(steps)) if steps else _("No steps taken")


def edges_taken(trace: Trace) -> list[Edge]:
    """Return the edges that a run took, in order."""
    went = [Edge(one.node, other.node) for one, other in pairwise(trace.steps)]
    return [edge._replace(label=_EDGE_LABELS[trace.action]) if edge.start == "decide" else edge for edge in went]


def _possible_edges(trace: Trace) -> list[Edge]:
    """Return the edges that the run's settings allow; none after small talk or on another route, which has no more."""
    if trace.small_talk or trace.route not in (None, "fact"):
        return []
    options = trace.options
    answer: NodeName = "refine_knowledge" if options.refine else "generate"
    web: NodeName = "web_search" if options.rewrite == "none" else "transform_query"
    edges = [Edge("retrieve", "grade_documents"), Edge("grade_documents", "decide")]
    if options.policy != "off":
        edges.append(Edge("decide", web, _("partly or not found")))
    edges.append(Edge("decide", answer, _EDGE_LABELS["correct" if options.policy != "off" else None]))
    if options.policy != "off":
        edges += [Edge("transform_query", "web_search")] if web == "transform_query" else []
        edges.append(Edge("web_search", answer))
    edges += [Edge("refine_knowledge", "generate")] if options.refine else []
    return [*edges, Edge("generate", "check_answer")]


def _edge_position(edge: Edge) -> tuple[int, int]:
    """Return the sort key of an edge, top to bottom: Mermaid lays out edges in the order of the lines."""
    order = list(NODES)
    return order.index(edge.start), order.index(edge.end)


def _node_box(node: NodeName, trace: Trace) -> str:
    step = trace.step(node)
    summary = summarize_step(step, trace) if step else ""
    text = "<br/>".join(part for part in (_(NODES[node].title), _escape_mermaid(summary)) if part)
    return f'{node}("{text}")' if node == "decide" else f'{node}["{text}"]'


def _edge_arrow(edge: Edge, *, taken: bool) -> str:
    label = f"|{edge.label}|" if edge.label else ""
    return f"{edge.start} {'==>' if taken else '-.->'}{label} {edge.end}"


def _class_lines(drawn: list[NodeName], trace: Trace) -> list[str]:
    """Return the lines that assign a Mermaid class to each node."""
    kinds: dict[str, list[NodeName]] = {"on": [], "off": [], "halted": []}
    for node in drawn:
        step = trace.step(node)
        kinds["off" if step is None else "halted" if step.state in _HALTED_STATES else "on"].append(node)
    return [f"class {','.join(nodes)} {kind}" for kind, nodes in kinds.items() if nodes]


def _escape_mermaid(text: str) -> str:
    """Replace characters with a meaning in Mermaid by its entity codes."""
    return text.replace("<", "#lt;").replace(">", "#gt;").replace('"', "#quot;")


SpanKind = Literal["model", "web", "app"]


@dataclass(frozen=True, slots=True)
class Span:
    """One bar, from `start` to `end` in seconds since the run began. `inner`: part of the node above it."""

    node: NodeName
    name: str
    kind: SpanKind
    start: float
    end: float
    inner: bool = False

    @property
    def seconds(self) -> float:
        """Duration in seconds."""
        return self.end - self.start


def timeline_spans(trace: Trace, calls: Sequence[ModelCall], now: float | None = None) -> list[Span]:
    """Return the bars of a run from top to bottom; bars of nodes still running end at `now`.

    Nodes kept from an earlier version and nodes that wait for the user have no bar.
    """
    found: list[Span] = []
    for step in trace.steps:
        if not step.kept and step.state != "waiting":
            own = [call for call in calls if call.node == step.node]
            found += [_node_span(step, trace, own, now), *_inner_spans(step, trace, own, now)]
    return found


def nodes_kept(trace: Trace) -> list[NodeName]:
    """Return the nodes whose results were kept from the previous version."""
    return [step.node for step in trace.steps if step.kept]


def _node_span(step: Step, trace: Trace, calls: Sequence[ModelCall], now: float | None) -> Span:
    return Span(
        step.node, _(NODES[step.node].title), _span_kind(step.node, trace, calls), step.started, _step_end(step, now)
    )


def _span_kind(node: NodeName, trace: Trace, calls: Sequence[ModelCall]) -> SpanKind:
    """Return what a node mostly waited for; if the run's calls were not kept, inferred from its events."""
    if node == "web_search":
        return "web"
    if calls and NODES[node].asks_model:
        return "model"
    asked_writer = node == "generate" and trace.prompt is not None and trace.prompt.window > 0
    kind = trace.grader.partition(":")[0]
    asked_grader = node == "grade_documents" and (kind not in GRADERS or GRADERS[kind].asks_model)
    return "model" if asked_writer or asked_grader else "app"


def _inner_spans(step: Step, trace: Trace, calls: Sequence[ModelCall], now: float | None) -> list[Span]:
    """Return the bars of a node's calls, preceded by that of the web search where the node searches."""
    end = _step_end(step, now)
    of_calls = [
        Span(step.node, f"call {number}" if len(calls) > 1 else "call", "model", call.at, call.at + call.seconds, True)
        for number, call in enumerate(sorted(calls, key=lambda call: call.at), start=1)
    ]
    if step.node != "web_search" or not trace.query_sent or not of_calls:
        return of_calls
    return [Span(step.node, "search", "web", step.started, min(end, of_calls[0].start), True), *of_calls]


def _step_end(step: Step, now: float | None) -> float:
    if step.seconds is not None:
        return step.started + step.seconds
    return max(step.started, now or 0.0)
