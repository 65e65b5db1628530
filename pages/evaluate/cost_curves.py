"""Chart of the errors that other thresholds would cost, with a text alternative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from crag.evaluation.chart_data import ThresholdCosts
from crag.types import Thresholds
from pages.parts import score_chart

_BLUE, _ORANGE = "#6079d6", "#c27116"  # like those of `score_bars`: contrast of at least 3:1 in both themes
REFUSED_WRONGLY, ANSWERED_WRONGLY, WEB_WANTED = "declined wrongly", "answered wrongly", "web search needed"
_CURVE_STYLES = {
    REFUSED_WRONGLY: (score_chart.LOW_COLOUR, [1, 0]),
    ANSWERED_WRONGLY: (_ORANGE, [6, 3]),
    WEB_WANTED: (_BLUE, [2, 3]),
}
_CURVES_HEIGHT = 340
_CURVE_STEPS = 100


def draw_cost_curves(costs: ThresholdCosts, thresholds: Thresholds | None) -> None:
    """Draw the three curves and, if the current thresholds are known, their costs."""
    at_present = {name: share for name, _, share in costs_at_thresholds(costs, thresholds)} if thresholds else {}
    told = ", ".join(f"{share:.0%} {name}" for name, share in at_present.items())
    alt = f"Errors by threshold{f', at the current ones {told}' if told else ''}"
    st.vega_lite_chart(_cost_curves_spec(costs, thresholds), width="stretch", height=_CURVES_HEIGHT, alt=alt)


def costs_at_thresholds(costs: ThresholdCosts, thresholds: Thresholds) -> list[tuple[str, float, float]]:
    """Return (name, threshold, share) of each known cost; refusals and answers use `lower`, web uses `upper`."""
    at = {REFUSED_WRONGLY: thresholds.lower, ANSWERED_WRONGLY: thresholds.lower, WEB_WANTED: thresholds.upper}
    known = [(name, at[name], cost(at[name])) for name, cost in _cost_functions(costs).items()]
    return [(name, threshold, share) for name, threshold, share in known if share is not None]


def _cost_functions(costs: ThresholdCosts) -> dict[str, Callable[[float], float | None]]:
    return {
        REFUSED_WRONGLY: costs.refused_wrongly,
        ANSWERED_WRONGLY: costs.answered_wrongly,
        WEB_WANTED: costs.sent_to_web,
    }


def _cost_curves_spec(costs: ThresholdCosts, thresholds: Thresholds | None) -> dict[str, Any]:
    marks = [*score_chart.threshold_rules(thresholds), _threshold_layer(costs, thresholds)] if thresholds else []
    return {"layer": [_curve_layer(costs), *marks]}


def _curve_layer(costs: ThresholdCosts) -> dict[str, Any]:
    places = [step / _CURVE_STEPS for step in range(_CURVE_STEPS + 1)]
    values = [
        {"threshold": place, "share": share, "what": name}
        for name, cost in _cost_functions(costs).items()
        for place in places
        if (share := cost(place)) is not None
    ]
    line = {"symbolType": "stroke", "symbolSize": 500, "symbolStrokeWidth": 2.5}
    legend = {**score_chart.LEGEND, **line, "columns": 2}
    return {
        "data": {"values": values},
        "mark": {"type": "line", "strokeWidth": 2.5},
        "encoding": {
            "x": {
                "field": "threshold",
                "type": "quantitative",
                "axis": {"title": "threshold"},
                "scale": {"domain": [0, 1]},
            },
            "y": {
                "field": "share",
                "type": "quantitative",
                "axis": {"title": "share of its questions", "format": ".0%"},
                "scale": {"domain": [0, 1]},
            },
            "color": {"field": "what", "type": "nominal", "scale": _curve_scale(0), "legend": legend},
            "strokeDash": {"field": "what", "type": "nominal", "scale": _curve_scale(1), "legend": legend},
            "tooltip": [{"field": "what"}, {"field": "threshold"}, {"field": "share", "format": ".1%"}],
        },
    }


def _threshold_layer(costs: ThresholdCosts, thresholds: Thresholds) -> dict[str, Any]:
    """Mark each curve at its threshold, with the share on the side the curve leaves free."""
    values = [
        {"threshold": place, "share": share, "what": name, "text": f"{share:.0%}"}
        for name, place, share in costs_at_thresholds(costs, thresholds)
    ]
    place = {"x": {"field": "threshold", "type": "quantitative"}, "y": {"field": "share", "type": "quantitative"}}
    colour = {"field": "what", "type": "nominal", "scale": _curve_scale(0), "legend": None}
    text = {
        "type": "text",
        "align": "right",
        "dx": -8,
        "fontSize": 13,
        "fontWeight": 600,
        "fill": score_chart.TEXT_COLOUR,
    }
    falls, rises = f"datum.what === '{ANSWERED_WRONGLY}'", f"datum.what !== '{ANSWERED_WRONGLY}'"
    told = {"text": {"field": "text"}}
    return {
        "data": {"values": values},
        "encoding": place,
        "layer": [
            {"mark": {"type": "point", "filled": True, "size": 90, "opacity": 1}, "encoding": {"color": colour}},
            {"transform": [{"filter": falls}], "mark": {**text, "dy": 15}, "encoding": told},
            {"transform": [{"filter": rises}], "mark": {**text, "dy": -15}, "encoding": told},
        ],
    }


def _curve_scale(look: int) -> dict[str, Any]:
    return {"domain": [*_CURVE_STYLES], "range": [both[look] for both in _CURVE_STYLES.values()]}
