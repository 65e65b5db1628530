"""Path of a run through the graph, as a Mermaid diagram: names and counts, never text of documents."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from crag.amounts import duration
from crag.events import Node
from crag.inspection.facts import NODES, came_to, state_word
from crag.runs import Step, Trace

_LAYOUT = (
    '%%{init: {"flowchart": {"nodeSpacing": 24, "rankSpacing": 26, "wrappingWidth": 320},'
    ' "themeVariables": {"fontSize": "13px"}}}%%'
)
_CLASSES = (  # strokes only, which are visible on light and dark themes
    "classDef on stroke:#6b82e0,stroke-width:2.5px",
    "classDef off stroke-dasharray:4 3,opacity:0.55",
    "classDef halted stroke:#d0566a,stroke-width:2.5px",
)
_UNFINISHED = ("stopped", "failed", "interrupted")


class Edge(NamedTuple):
    """An edge between two nodes, with the decision on which it is taken (empty: always)."""

    start: Node
    end: Node
    label: str = ""


def mermaid(trace: Trace) -> str:
    """Draw the diagram: `==>` where the run went, `-.->` where its settings would have allowed it to go.

    The routes match `crag/graph/build.py`. A node shows its outcome and duration, or that the run waits, stopped or
    failed there, or that its result was kept from the previous version.
    """
    edges = taken(trace)
    ways = [*edges, *(edge for edge in _possible(trace) if edge not in edges)]
    drawn = [node for node in NODES if trace.step(node) or any(node in edge[:2] for edge in ways)]
    lines = [_LAYOUT, "flowchart TD", *(_box(node, trace) for node in drawn)]
    lines += [_arrow(edge, taken=edge in edges) for edge in sorted(ways, key=_place)]
    return "\n".join([*lines, *_CLASSES, *_kinds(drawn, trace)])


def described(trace: Trace) -> str:
    """Describe the path in words, for readers who cannot see the diagram."""
    steps = [f"{NODES[step.node]}{f' ({told})' if (told := _told(step, trace)) else ''}" for step in trace.steps]
    return f"The path taken: {', '.join(steps)}" if steps else "The run took no step"


def taken(trace: Trace) -> list[Edge]:
    """Return the edges that a run took, in order."""
    went = [Edge(one.node, other.node) for one, other in pairwise(trace.steps)]
    return [edge._replace(label=trace.action or "grading off") if edge.start == "decide" else edge for edge in went]


def _possible(trace: Trace) -> list[Edge]:
    """Return the edges that the run's settings allow."""
    options = trace.options
    answer: Node = "refine_knowledge" if options.refine else "generate"
    web: Node = "web_search" if options.rewrite == "none" else "transform_query"
    edges = [Edge("retrieve", "grade_documents"), Edge("grade_documents", "decide")]
    if options.policy != "off":
        edges += [Edge("decide", web, "incorrect"), Edge("decide", web, "ambiguous")]
    edges.append(Edge("decide", answer, "correct" if options.policy != "off" else "grading off"))
    if options.policy != "off":
        edges += [Edge("transform_query", "web_search")] if web == "transform_query" else []
        edges.append(Edge("web_search", answer))
    edges += [Edge("refine_knowledge", "generate")] if options.refine else []
    return [*edges, Edge("generate", "check_answer")]


def _place(edge: Edge) -> tuple[int, int]:
    """Return the sort key of an edge, top to bottom: Mermaid lays out edges in the order of the lines."""
    order = list(NODES)
    return order.index(edge.start), order.index(edge.end)


def _box(node: Node, trace: Trace) -> str:
    step = trace.step(node)
    told = _told(step, trace) if step else ""
    text = "<br/>".join(part for part in (NODES[node], _escaped(told)) if part)
    return f'{node}("{text}")' if node == "decide" else f'{node}["{text}"]'


def _told(step: Step, trace: Trace) -> str:
    """Describe the outcome of a node with its duration or state."""
    if step.kept:
        time = "kept"
    elif state := state_word(step):
        time = state
    else:
        time = "" if step.node == "decide" or step.seconds is None else duration(step.seconds)
    return " · ".join(part for part in (came_to(step, trace), time) if part)


def _arrow(edge: Edge, *, taken: bool) -> str:
    label = f"|{edge.label}|" if edge.label else ""
    return f"{edge.start} {'==>' if taken else '-.->'}{label} {edge.end}"


def _kinds(drawn: list[Node], trace: Trace) -> list[str]:
    """Return the lines that assign a Mermaid class to each node."""
    kinds: dict[str, list[Node]] = {"on": [], "off": [], "halted": []}
    for node in drawn:
        step = trace.step(node)
        kinds["off" if step is None else "halted" if step.state in _UNFINISHED else "on"].append(node)
    return [f"class {','.join(nodes)} {kind}" for kind, nodes in kinds.items() if nodes]


def _escaped(text: str) -> str:
    """Replace characters with a meaning in Mermaid by its entity codes."""
    return text.replace("<", "#lt;").replace(">", "#gt;").replace('"', "#quot;")
