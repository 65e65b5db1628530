"""Path diagram and timeline of a run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import streamlit as st

from crag.events import NODES
from crag.inspection import run_charts
from crag.inspection.run_charts import Span, SpanKind, nodes_kept, timeline_spans
from crag.runs.trace import Trace
from crag.text.formatting import format_count, format_duration
from crag.translation import _
from crag.types import ModelCall, NodeName

_SPAN_KINDS: tuple[SpanKind, ...] = ("model", "web", "app")
_THEME_COLOURS = ["blue", "green", "orange", "red", "violet", "gray"]  # chart colours of the theme, in its order
_GREY = "gray"
_ROW_HEIGHT = 26  # pixels per row
_MAX_CALL_ROWS = 6  # per node; more calls share one row


def draw_timeline(trace: Trace, calls: Sequence[ModelCall]) -> None:
    """Draw a bar for each node and, if there are several, for each of its calls; name the nodes that were reused."""
    st.header(_("Time"), anchor=False)
    found = _drop_redundant_spans(
        timeline_spans(trace, calls, now=max((call.at + call.seconds for call in calls), default=0.0))
    )
    if found:
        st.vega_lite_chart(_waterfall_spec(found), width="stretch", alt=_describe_spans(found))
    else:
        st.caption(_("No step has run yet."))
    if names := [_(NODES[node].title) for node in nodes_kept(trace)]:
        st.caption(_("Reused from the previous version: {names}.").format(names=", ".join(names)))


def _drop_redundant_spans(found: Sequence[Span]) -> list[Span]:
    """Drop the inner bar of nodes with a single part, since it equals the bar of the node."""
    parts = Counter(span.node for span in found if span.inner)
    return [span for span in found if not span.inner or parts[span.node] > 1]


def _waterfall_spec(found: Sequence[Span]) -> dict[str, Any]:
    """Return the chart: bars from start to end, each followed by its duration, in the theme's colours."""
    rows = _group_into_rows(found)
    longest = max(span.end for span in found) or 0.001
    labels = json.dumps([name for name, _unused in rows])
    axis = {"title": None, "labelExpr": f"{labels}[datum.value]", "labelOverlap": False, "labelLimit": 220}
    place = {"field": "row", "type": "ordinal", "axis": {**axis, "ticks": False, "domain": False}}
    return {
        "data": {
            "values": [value for number, (_unused, held) in enumerate(rows) for value in _row_values(number, held)]
        },
        "height": {"step": _ROW_HEIGHT},
        "encoding": {"y": place},
        "layer": [_bar_layer(), _duration_layer(longest)],
        "resolve": {"scale": {"color": "independent"}},
    }


def _bar_layer() -> dict[str, Any]:
    axis = {"title": _("seconds"), "grid": True, "tickCount": 5}
    kinds = {"model": _("model"), "web": _("web"), "app": _("app")}
    legend = {"title": None, "orient": "top", "labelExpr": f"{json.dumps(kinds)}[datum.value]"}
    return {
        "mark": {"type": "bar", "cornerRadius": 2, "height": {"band": 0.55}, "minBandSize": 2},
        "encoding": {
            "x": {"field": "start", "type": "quantitative", "axis": axis, "scale": {"nice": False}},
            "x2": {"field": "end"},
            "color": {"field": "kind", "type": "nominal", "scale": {"domain": _SPAN_KINDS}, "legend": legend},
            "opacity": {"field": "inner", "scale": {"domain": [0, 1], "range": [1, 0.55]}, "legend": None},
            "tooltip": [{"field": "name"}, {"field": "time"}],
        },
    }


def _duration_layer(longest: float) -> dict[str, Any]:
    """Return the layer of durations, with room after a bar that ends at `longest` seconds."""
    scale = {"domain": [0, longest * 1.12], "nice": False}
    return {
        "mark": {"type": "text", "align": "left", "dx": 6},
        "encoding": {
            "x": {"field": "edge", "type": "quantitative", "scale": scale},
            "text": {"field": "label"},
            "color": {"datum": _GREY, "type": "nominal", "scale": {"domain": _THEME_COLOURS}, "legend": None},
        },
    }


def _group_into_rows(found: Sequence[Span]) -> list[tuple[str, list[Span]]]:
    """Group spans into named rows, top to bottom; the calls of a node share a row if there are many."""
    rows: list[tuple[str, list[Span]]] = []
    many: dict[NodeName, list[Span]] = {}
    for span in found:
        calls = [one for one in found if one.inner and one.kind == "model" and one.node == span.node]
        if not (span.inner and span.kind == "model" and len(calls) > _MAX_CALL_ROWS):
            rows.append((span.name, [span]))
        elif span.node not in many:
            many[span.node] = calls
            rows.append((format_count(len(calls), "call"), calls))
    return rows


def _row_values(number: int, held: Sequence[Span]) -> list[dict[str, Any]]:
    """Return the bars of a row; the first carries the label with the total duration."""
    edge = max(span.end for span in held)
    whole = format_duration(edge - min(span.start for span in held))
    return [
        {
            "row": number,
            "name": span.name,
            "kind": span.kind,
            "inner": int(span.inner),
            "start": span.start,
            "end": span.end,
            "edge": edge,
            "time": format_duration(span.seconds),
            "label": "" if index else whole,
        }
        for index, span in enumerate(held)
    ]


def _describe_spans(found: Sequence[Span]) -> str:
    nodes = (f"{span.name} {format_duration(span.seconds)} ({span.kind})" for span in found if not span.inner)
    return _("Time of each step: {nodes}").format(nodes=", ".join(nodes))


def draw_path(trace: Trace) -> None:
    """Draw the path in words, which are there at once, and as a diagram: strong edges were taken, dotted ones not."""
    st.header(_("Path"), anchor=False)
    st.caption(" → ".join(_(NODES[step.node].title) for step in trace.steps))
    st.mermaid_chart(run_charts.path_diagram(trace), width="content", alt=run_charts.describe_path(trace))
