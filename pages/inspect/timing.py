"""Timeline of a run as a waterfall chart."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import streamlit as st

from crag.events import Node
from crag.inspection.timeline import Span, SpanKind, kept, spans
from crag.model_calls import ModelCall
from crag.runs import Trace
from pages.parts import words

_KINDS: tuple[SpanKind, ...] = ("model", "web", "own")
_COLOURS = ["blue", "green", "orange", "red", "violet", "gray"]  # chart colours of the theme, in its order
_GREY = "gray"
_STEP = 26  # pixels per row
_FEW_CALLS = 6  # per node; more calls share one row


def draw(trace: Trace, calls: Sequence[ModelCall]) -> None:
    """Draw a bar for each node and, if there are several, for each of its calls; name the nodes that were reused."""
    st.header("Time", anchor=False)
    found = _telling(spans(trace, calls, now=max((call.at + call.seconds for call in calls), default=0.0)))
    if found:
        st.vega_lite_chart(_chart(found), width="stretch", alt=_in_words(found))
    else:
        st.caption("Nothing has run yet.")
    if names := [words.NODES[node] for node in kept(trace)]:
        st.caption(f"Taken over from the version before, in no time: {', '.join(names)}.")


def _telling(found: Sequence[Span]) -> list[Span]:
    """Drop the inner bar of nodes with a single part, since it equals the bar of the node."""
    parts = Counter(span.node for span in found if span.inner)
    return [span for span in found if not span.inner or parts[span.node] > 1]


def _chart(found: Sequence[Span]) -> dict[str, Any]:
    """Return the chart: bars from start to end, each followed by its duration, in the theme's colours."""
    rows = _rows(found)
    longest = max(span.end for span in found) or 0.001
    labels = json.dumps([name for name, _ in rows])
    axis = {"title": None, "labelExpr": f"{labels}[datum.value]", "labelOverlap": False, "labelLimit": 220}
    place = {"field": "row", "type": "ordinal", "axis": {**axis, "ticks": False, "domain": False}}
    return {
        "data": {"values": [value for number, (_, held) in enumerate(rows) for value in _values(number, held)]},
        "height": {"step": _STEP},
        "encoding": {"y": place},
        "layer": [_bars(), _durations(longest)],
        "resolve": {"scale": {"color": "independent"}},
    }


def _bars() -> dict[str, Any]:
    axis = {"title": "seconds", "grid": True, "tickCount": 5}
    legend = {"title": None, "orient": "top"}
    return {
        "mark": {"type": "bar", "cornerRadius": 2, "height": {"band": 0.55}, "minBandSize": 2},
        "encoding": {
            "x": {"field": "start", "type": "quantitative", "axis": axis, "scale": {"nice": False}},
            "x2": {"field": "end"},
            "color": {"field": "kind", "type": "nominal", "scale": {"domain": _KINDS}, "legend": legend},
            "opacity": {"field": "inner", "scale": {"domain": [0, 1], "range": [1, 0.55]}, "legend": None},
            "tooltip": [{"field": "name"}, {"field": "time"}],
        },
    }


def _durations(longest: float) -> dict[str, Any]:
    """Return the layer of durations, with room after a bar that ends at `longest` seconds."""
    scale = {"domain": [0, longest * 1.12], "nice": False}
    return {
        "mark": {"type": "text", "align": "left", "dx": 6},
        "encoding": {
            "x": {"field": "edge", "type": "quantitative", "scale": scale},
            "text": {"field": "label"},
            "color": {"datum": _GREY, "type": "nominal", "scale": {"domain": _COLOURS}, "legend": None},
        },
    }


def _rows(found: Sequence[Span]) -> list[tuple[str, list[Span]]]:
    """Group spans into named rows, top to bottom; the calls of a node share a row if there are many."""
    rows: list[tuple[str, list[Span]]] = []
    many: dict[Node, list[Span]] = {}
    for span in found:
        calls = [one for one in found if one.inner and one.kind == "model" and one.node == span.node]
        if not (span.inner and span.kind == "model" and len(calls) > _FEW_CALLS):
            rows.append((span.name, [span]))
        elif span.node not in many:
            many[span.node] = calls
            rows.append((f"{len(calls)} calls", calls))
    return rows


def _values(number: int, held: Sequence[Span]) -> list[dict[str, Any]]:
    """Return the bars of a row; the first carries the label with the total duration."""
    edge = max(span.end for span in held)
    whole = words.duration(edge - min(span.start for span in held))
    return [
        {
            "row": number,
            "name": span.name,
            "kind": span.kind,
            "inner": int(span.inner),
            "start": span.start,
            "end": span.end,
            "edge": edge,
            "time": words.duration(span.seconds),
            "label": "" if index else whole,
        }
        for index, span in enumerate(held)
    ]


def _in_words(found: Sequence[Span]) -> str:
    nodes = (f"{span.name} {words.duration(span.seconds)} ({span.kind})" for span in found if not span.inner)
    return f"Time of each step: {', '.join(nodes)}"
