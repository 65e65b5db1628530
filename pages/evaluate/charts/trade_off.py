"""Scatter plot of accuracy against time, with intervals and the Pareto front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from crag.evaluate.figures.metrics import METRICS
from crag.evaluate.figures.wording import figure_in_words
from crag.evaluate.pictures.trade_offs import Point
from pages.parts import score_bars

_HEIGHT = 340
_WIDE_RANGE = 20  # ratio of slowest to fastest above which the time axis is logarithmic
_KINDS = {"unbeaten": "diamond", "beaten by another": "circle"}
_FEW = 8  # with more points, only those on the Pareto front are labelled


def draw(points: Sequence[Point], names: Mapping[int, str], metric: str) -> None:
    """Draw a named point for each variant."""
    told = "; ".join(
        f"{names[one.variant]}: {figure_in_words(one.figure)} in {figure_in_words(one.time)}"
        f"{', which no other beats' if one.unbeaten else ''}"
        for one in points
    )
    alt = f"{METRICS[metric].title} against time: {told}"
    st.vega_lite_chart(_spec(points, names, metric), width="stretch", height=_HEIGHT, alt=alt)


def named(points: Sequence[Point]) -> list[int]:
    """Return the variants to label: all if there are few, else those on the Pareto front."""
    return [one.variant for one in points if one.unbeaten or len(points) <= _FEW]


def _spec(points: Sequence[Point], names: Mapping[int, str], metric: str) -> dict[str, Any]:
    title = METRICS[metric].title
    y = {"type": "quantitative", "scale": {"zero": False}, "axis": {"title": title, "format": ".0%"}}
    x = {
        "type": "quantitative",
        "scale": _time_scale(points),
        "axis": {"title": "seconds for a question", "tickCount": 5},
    }
    return {
        "data": {"values": [_value(one, names[one.variant], one.variant in named(points)) for one in points]},
        "layer": [
            _frontier(x, y),
            _bars({"x": {"field": "time", **x}, "y": {"field": "low", **y}, "y2": {"field": "high"}}),
            _bars({"x": {"field": "from", **x}, "x2": {"field": "to"}, "y": {"field": "value", **y}}),
            _dots(x, y),
            _names(x, y),
        ],
    }


def _value(point: Point, name: str, is_named: bool) -> dict[str, Any]:
    kinds = list(_KINDS)
    return {
        "name": name,
        "label": name if is_named else "",
        "value": point.figure.value,
        "low": point.figure.low,
        "high": point.figure.high,
        "time": point.time.value,
        "from": point.time.low,
        "to": point.time.high,
        "is": kinds[0] if point.unbeaten else kinds[1],
        "told": f"{figure_in_words(point.figure)} · {figure_in_words(point.time)}",
    }


def _time_scale(points: Sequence[Point]) -> dict[str, Any]:
    quickest, slowest = min(one.time.low for one in points), max(one.time.high for one in points)
    return {"type": "log"} if quickest > 0 and slowest / quickest > _WIDE_RANGE else {"zero": False, "padding": 20}


def _frontier(x: dict[str, Any], y: dict[str, Any]) -> dict[str, Any]:
    line = {"type": "line", "interpolate": "step-after", "color": score_bars.RULE, "strokeDash": [5, 3]}
    return {
        "transform": [{"filter": {"field": "is", "equal": next(iter(_KINDS))}}],
        "mark": line,
        "encoding": {"x": {"field": "time", **x}, "y": {"field": "value", **y}},
    }


def _bars(encoding: dict[str, Any]) -> dict[str, Any]:
    """Return the layer of intervals, faint for points without a label."""
    faint = {"condition": {"test": "datum.label === ''", "value": 0.25}, "value": 1}
    return {
        "mark": {"type": "rule", "color": score_bars.RULE, "strokeWidth": 1.5},
        "encoding": {**encoding, "opacity": faint},
    }


def _dots(x: dict[str, Any], y: dict[str, Any]) -> dict[str, Any]:
    legend = {"title": None, "orient": "top", "symbolSize": 90, "labelLimit": 200}
    kinds = {"domain": [*_KINDS], "range": [*_KINDS.values()]}
    return {
        "mark": {"type": "point", "filled": True, "size": 120, "opacity": 1},
        "encoding": {
            "x": {"field": "time", **x},
            "y": {"field": "value", **y},
            "shape": {"field": "is", "type": "nominal", "scale": kinds, "legend": legend},
            "tooltip": [{"field": "name"}, {"field": "told"}],
        },
    }


def _names(x: dict[str, Any], y: dict[str, Any]) -> dict[str, Any]:
    return {
        "mark": {"type": "text", "align": "right", "dx": -7, "dy": -9, "fontSize": 13, "fill": score_bars.INK},
        "encoding": {"x": {"field": "time", **x}, "y": {"field": "value", **y}, "text": {"field": "label"}},
    }
