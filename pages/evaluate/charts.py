"""Vega-Lite charts of the Evaluate page, each with a text alternative."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from crag.evaluation.chart_data import TradeOffPoint
from crag.evaluation.metrics import METRICS, ChangeAssessment, format_figure
from crag.translation import N_, _
from pages.parts import score_chart
from pages.parts.session import is_phone


def ordinal_name_axis(names: Sequence[str], *, narrow: bool) -> dict[str, Any]:
    """Return an ordinal axis that shows every name in the given order; long names are cut, earlier if `narrow`."""
    limits = {"labelOverlap": False, "labelLimit": 150 if narrow else 240, "labelPadding": 8, "labelFlush": False}
    return {"type": "ordinal", "sort": [*names], "axis": {"title": None, "ticks": False, "domain": False, **limits}}


_CELL_HEIGHT = 44  # pixels
_MIN_OPACITY, _MAX_OPACITY = 0.06, 0.5  # opacity range; above it, the numbers on top would be hard to read


@dataclass(frozen=True, slots=True)
class HeatMapCell:
    """One cell: its text, colour depth from 0 to 1 and tooltip; `marked` cells have an edge."""

    row: str
    column: str
    text: str
    depth: float
    told: str
    marked: bool = False


def draw_heat_map(cells: Sequence[HeatMapCell], row_title: str, column_title: str, alt: str) -> None:
    """Draw rows and columns in order of first appearance."""
    st.vega_lite_chart(_heat_map_spec(cells, row_title, column_title), width="stretch", alt=alt)


def _heat_map_spec(cells: Sequence[HeatMapCell], row_title: str, column_title: str) -> dict[str, Any]:
    rows, columns = (
        list(dict.fromkeys(names)) for names in zip(*((one.row, one.column) for one in cells), strict=True)
    )
    values = [
        {"row": one.row, "column": one.column, "text": one.text, "depth": one.depth, "told": one.told, "on": one.marked}
        for one in cells
    ]
    down = ordinal_name_axis(rows, narrow=is_phone())
    down["axis"] |= {"title": row_title}
    across = ordinal_name_axis(columns, narrow=is_phone())
    across["axis"] |= {"title": column_title, "orient": "top", "labelAngle": 0}
    return {
        "data": {"values": values},
        "height": {"step": _CELL_HEIGHT},
        "encoding": {
            "y": {"field": "row", **down},
            "x": {"field": "column", **across},
            "tooltip": [{"field": "told", "title": " "}],
        },
        # An empty layer would be an image without a name.
        "layer": [_cell_layer(), *([_edge_layer()] if any(one.marked for one in cells) else []), _text_layer()],
    }


def _cell_layer() -> dict[str, Any]:
    depth = {"field": "depth", "type": "quantitative", "legend": None}
    return {
        "mark": {"type": "rect", "cornerRadius": 4, "width": {"band": 0.94}, "height": {"band": 0.88}},
        "encoding": {"opacity": {**depth, "scale": {"domain": [0, 1], "range": [_MIN_OPACITY, _MAX_OPACITY]}}},
    }


def _edge_layer() -> dict[str, Any]:
    """Return the layer of edges around marked cells."""
    box = {"type": "rect", "cornerRadius": 4, "width": {"band": 0.94}, "height": {"band": 0.88}}
    return {
        "transform": [{"filter": "datum.on"}],
        "mark": {**box, "fillOpacity": 0, "stroke": score_chart.TEXT_COLOUR, "strokeWidth": 2},
    }


def _text_layer() -> dict[str, Any]:
    return {
        "mark": {"type": "text", "fontSize": 14, "fill": score_chart.TEXT_COLOUR},
        "encoding": {"text": {"field": "text"}},
    }


_TRADE_OFF_HEIGHT = 340
_LOG_SCALE_RATIO = 20  # ratio of slowest to fastest above which the time axis is logarithmic
_POINT_SHAPES = {N_("unbeaten"): "diamond", N_("beaten by another"): "circle"}
_MAX_LABELLED_POINTS = 8  # with more points, only those on the Pareto front are labelled


def draw_trade_off(points: Sequence[TradeOffPoint], names: Mapping[int, str], metric: str) -> None:
    """Draw a named point for each variant."""
    told = "; ".join(
        _("{name}: {figure} in {time}").format(
            name=names[one.variant], figure=format_figure(one.figure), time=format_figure(one.time)
        )
        + (_(", which no other beats") if one.is_pareto_optimal else "")
        for one in points
    )
    alt = _("{title} against time: {told}").format(title=_(METRICS[metric].title), told=told)
    st.vega_lite_chart(_trade_off_spec(points, names, metric), width="stretch", height=_TRADE_OFF_HEIGHT, alt=alt)


def labelled_variants(points: Sequence[TradeOffPoint]) -> list[int]:
    """Return the variants to label: all if there are few, else those on the Pareto front."""
    return [one.variant for one in points if one.is_pareto_optimal or len(points) <= _MAX_LABELLED_POINTS]


def _trade_off_spec(points: Sequence[TradeOffPoint], names: Mapping[int, str], metric: str) -> dict[str, Any]:
    title = _(METRICS[metric].title)
    y = {"type": "quantitative", "scale": {"zero": False}, "axis": {"title": title, "format": ".0%"}}
    x = {
        "type": "quantitative",
        "scale": _time_scale(points),
        "axis": {"title": _("seconds for a question"), "tickCount": 5},
    }
    return {
        "data": {
            "values": [
                _point_value(one, names[one.variant], one.variant in labelled_variants(points)) for one in points
            ]
        },
        "layer": [
            _frontier_layer(x, y),
            _interval_layer({"x": {"field": "time", **x}, "y": {"field": "low", **y}, "y2": {"field": "high"}}),
            _interval_layer({"x": {"field": "from", **x}, "x2": {"field": "to"}, "y": {"field": "value", **y}}),
            _point_layer(x, y),
            _label_layer(x, y),
        ],
    }


def _point_value(point: TradeOffPoint, name: str, is_named: bool) -> dict[str, Any]:
    kinds = [_(kind) for kind in _POINT_SHAPES]
    return {
        "name": name,
        "label": name if is_named else "",
        "value": point.figure.value,
        "low": point.figure.low,
        "high": point.figure.high,
        "time": point.time.value,
        "from": point.time.low,
        "to": point.time.high,
        "is": kinds[0] if point.is_pareto_optimal else kinds[1],
        "told": f"{format_figure(point.figure)} · {format_figure(point.time)}",
    }


def _time_scale(points: Sequence[TradeOffPoint]) -> dict[str, Any]:
    quickest, slowest = min(one.time.low for one in points), max(one.time.high for one in points)
    return {"type": "log"} if quickest > 0 and slowest / quickest > _LOG_SCALE_RATIO else {"zero": False, "padding": 20}


def _frontier_layer(x: dict[str, Any], y: dict[str, Any]) -> dict[str, Any]:
    line = {"type": "line", "interpolate": "step-after", "color": score_chart.RULE_COLOUR, "strokeDash": [5, 3]}
    return {
        "transform": [{"filter": {"field": "is", "equal": _(next(iter(_POINT_SHAPES)))}}],
        "mark": line,
        "encoding": {"x": {"field": "time", **x}, "y": {"field": "value", **y}},
    }


def _interval_layer(encoding: dict[str, Any]) -> dict[str, Any]:
    """Return the layer of intervals, faint for points without a label."""
    faint = {"condition": {"test": "datum.label === ''", "value": 0.25}, "value": 1}
    return {
        "mark": {"type": "rule", "color": score_chart.RULE_COLOUR, "strokeWidth": 1.5},
        "encoding": {**encoding, "opacity": faint},
    }


def _point_layer(x: dict[str, Any], y: dict[str, Any]) -> dict[str, Any]:
    legend = {"title": None, "orient": "top", "symbolSize": 90, "labelLimit": 200}
    kinds = {"domain": [*map(_, _POINT_SHAPES)], "range": [*_POINT_SHAPES.values()]}
    return {
        "mark": {"type": "point", "filled": True, "size": 120, "opacity": 1},
        "encoding": {
            "x": {"field": "time", **x},
            "y": {"field": "value", **y},
            "shape": {"field": "is", "type": "nominal", "scale": kinds, "legend": legend},
            "tooltip": [{"field": "name"}, {"field": "told"}],
        },
    }


def _label_layer(x: dict[str, Any], y: dict[str, Any]) -> dict[str, Any]:
    return {
        "mark": {"type": "text", "align": "right", "dx": -7, "dy": -9, "fontSize": 13, "fill": score_chart.TEXT_COLOUR},
        "encoding": {"x": {"field": "time", **x}, "y": {"field": "value", **y}, "text": {"field": "label"}},
    }


_MEANING_STYLES: dict[ChangeAssessment, tuple[str, str]] = {
    "better": (score_chart.HIGH_COLOUR, "triangle-up"),
    "worse": (score_chart.LOW_COLOUR, "triangle-down"),
    "no clear difference": (score_chart.RULE_COLOUR, "circle"),
}
_WHISKER_HEIGHT = 30  # pixels
_AXIS_TICKS = {"tickCount": 5, "labelFlush": 12}  # keeps the first and last label inside the chart


@dataclass(frozen=True, slots=True)
class Whisker:
    """One named difference with the ends of its interval and a description for the tooltip."""

    name: str
    value: float
    low: float
    high: float
    meaning: ChangeAssessment
    told: str


def draw_whiskers(whiskers: Sequence[Whisker], title: str, unit: str) -> None:
    """Draw one row per difference; values are fractions, shown as 100 × value followed by `unit`."""
    told = "; ".join(f"{one.name} {one.told}, {one.meaning}" for one in whiskers)
    st.vega_lite_chart(
        _whiskers_spec(whiskers, title, unit),
        width="stretch",
        alt=_("Differences with their intervals: {told}").format(told=told),
    )


def _whiskers_spec(whiskers: Sequence[Whisker], title: str, unit: str) -> dict[str, Any]:
    values = [
        {"name": one.name, "at": one.value, "low": one.low, "high": one.high, "is": one.meaning, "told": one.told}
        for one in whiskers
    ]
    widest = max(0.01, *(abs(end) for one in whiskers for end in (one.low, one.high)))
    names = [one.name for one in whiskers]
    across = {"type": "quantitative", "scale": {"domain": [-1.05 * widest, 1.05 * widest], "nice": False}}
    label = f"(datum.value > 0 ? '+' : '') + format(100 * datum.value, '.0f') + '{unit}'"
    return {
        "data": {"values": values},
        "height": {"step": _WHISKER_HEIGHT},
        "encoding": {"y": {"field": "name", **ordinal_name_axis(names, narrow=is_phone())}, "color": _meaning_colour()},
        "layer": [
            {
                "data": {"values": [{"zero": 0}]},
                "mark": {"type": "rule", "color": score_chart.RULE_COLOUR, "strokeDash": [5, 3]},
                "encoding": {"x": {"field": "zero", **across}, "y": None, "color": None},
            },
            {
                "mark": {"type": "rule", "strokeWidth": 3},
                "encoding": {
                    "x": {"field": "low", **across, "axis": {"title": title, "labelExpr": label, **_AXIS_TICKS}},
                    "x2": {"field": "high"},
                },
            },
            {
                "mark": {"type": "point", "filled": True, "size": 110, "opacity": 1},
                "encoding": {
                    "x": {"field": "at", **across},
                    "shape": {"field": "is", "scale": _meaning_scale(1), "legend": _meaning_legend()},
                    "tooltip": [{"field": "name"}, {"field": "told"}, {"field": "is"}],
                },
            },
        ],
    }


def _meaning_legend() -> dict[str, Any]:
    """Return the legend: one row, or two rows with shorter words on a phone."""
    legend = {"title": None, "orient": "top", "symbolSize": 90, "labelLimit": 200}
    short = "datum.label === 'no clear difference' ? 'not clear' : datum.label"
    return legend | {"columns": 2, "labelExpr": short} if is_phone() else legend


def _meaning_colour() -> dict[str, Any]:
    return {"field": "is", "type": "nominal", "scale": _meaning_scale(0), "legend": _meaning_legend()}


def _meaning_scale(look: int) -> dict[str, Any]:
    return {"domain": [*_MEANING_STYLES], "range": [both[look] for both in _MEANING_STYLES.values()]}
