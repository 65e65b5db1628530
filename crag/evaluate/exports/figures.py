"""Figures of an evaluation as the report draws them: bars with whiskers, routes, node costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from crag.amounts import count, duration
from crag.evaluate.figures.metrics import METRICS
from crag.evaluate.figures.summary import Summary
from crag.evaluate.figures.wording import interval_in_words, value_in_words
from crag.evaluate.pictures.routes import RouteCount, confusion
from crag.evaluate.values import Figure, NodeCost, Result
from crag.foreign_text import one_line
from crag.inspection.facts import NODES


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar with its interval as a whisker, each in 0..100."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class FigureView:
    """One metric as text and as a bar."""

    title: str
    meaning: str
    value: str
    interval: str
    n: str
    bar: Bar


@dataclass(frozen=True, slots=True)
class NodeView:
    """Mean cost of one node."""

    name: str
    time: str
    share: float
    read: str
    written: str


@dataclass(frozen=True, slots=True)
class RouteView:
    """Number of answers that took each route, for one expectation; right routes `agree`."""

    expected: str
    counts: Sequence[RouteCount]


@dataclass(frozen=True, slots=True)
class VariantView:
    """Figures, routes and node costs of one variant."""

    name: str
    facts: str
    figures: Sequence[FigureView]
    routes: Sequence[RouteView]
    nodes: Sequence[NodeView]


def view_variant(name: str, results: Sequence[Result], summary: Summary, longest: Mapping[str, float]) -> VariantView:
    """Convert a summary; `longest` holds the values at which bars are full, by metric."""
    failed = f" · {summary.failed:,} failed" if summary.failed else ""
    slowest = max((cost.seconds for cost in summary.nodes.values()), default=0.0)
    return VariantView(
        one_line(name),
        f"{count(summary.answers, 'answer')}{failed}",
        [view_figure(figure, longest) for figure in summary.figures.values()],
        _view_routes(results),
        [view_node(node, cost, slowest) for node, cost in summary.nodes.items()],
    )


def longest_bars(summaries: Sequence[Summary]) -> dict[str, float]:
    """Return the value at which each metric's bar is full: 1 for shares, otherwise the longest whisker's end."""
    ends: dict[str, float] = {}
    for figure in (figure for summary in summaries for figure in summary.figures.values()):
        is_share = METRICS[figure.metric].unit == "share"
        ends[figure.metric] = 1.0 if is_share else max(figure.high, ends.get(figure.metric, 0.0))
    return ends


def view_figure(figure: Figure, longest: Mapping[str, float]) -> FigureView:
    """Convert a figure; `longest` holds the values at which bars are full, by metric."""
    metric = METRICS[figure.metric]
    full = longest[figure.metric] or 1.0
    return FigureView(
        metric.title,
        metric.meaning,
        value_in_words(figure.metric, figure.value),
        interval_in_words(figure),
        f"{figure.n:,}",
        Bar(*(round(min(100.0, 100 * at / full), 2) for at in (figure.value, figure.low, figure.high))),
    )


def view_node(name: str, cost: NodeCost, slowest: float) -> NodeView:
    """Convert a node cost; `slowest` is the time in seconds at which a node's bar is full."""
    read, written = (f"{tokens:,.0f}" if tokens else "" for tokens in (cost.prompt_tokens, cost.answer_tokens))
    share = round(100 * cost.seconds / slowest, 2) if slowest else 0.0
    shown = next((title for node, title in NODES.items() if node == name), one_line(name))
    return NodeView(shown, duration(cost.seconds), share, read, written)


def _view_routes(results: Sequence[Result]) -> list[RouteView]:
    """Return one row for each expectation that occurs."""
    rows = groupby(confusion(results), lambda one: one.expected)
    return [RouteView(expected, list(counts)) for expected, counts in rows]
