"""Cost curves: shares of wrong refusals, wrong answers and web searches for every threshold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from crag.evaluate.pictures.threshold_costs import ThresholdCosts
from crag.options import Thresholds
from pages.evaluate.charts import looks
from pages.parts import score_bars

REFUSED, ANSWERED, WEB = "refused wrongly", "answered wrongly", "web wanted"
_LOOKS = {REFUSED: (score_bars.LOW, [1, 0]), ANSWERED: (looks.ORANGE, [6, 3]), WEB: (looks.BLUE, [2, 3])}
_HEIGHT = 340
_STEPS = 100


def draw(costs: ThresholdCosts, thresholds: Thresholds | None) -> None:
    """Draw the three curves and, if the current thresholds are known, their costs."""
    at_present = {name: share for name, _, share in present(costs, thresholds)} if thresholds else {}
    told = ", ".join(f"{share:.0%} {name}" for name, share in at_present.items())
    alt = f"Curves of what thresholds cost{f'; at the present ones {told}' if told else ''}"
    st.vega_lite_chart(_spec(costs, thresholds), width="stretch", height=_HEIGHT, alt=alt)


def present(costs: ThresholdCosts, thresholds: Thresholds) -> list[tuple[str, float, float]]:
    """Return (name, threshold, share) of each known cost; refusals and answers use `lower`, web uses `upper`."""
    at = {REFUSED: thresholds.lower, ANSWERED: thresholds.lower, WEB: thresholds.upper}
    known = [(name, at[name], cost(at[name])) for name, cost in _costs(costs).items()]
    return [(name, threshold, share) for name, threshold, share in known if share is not None]


def _costs(costs: ThresholdCosts) -> dict[str, Callable[[float], float | None]]:
    return {REFUSED: costs.refused_wrongly, ANSWERED: costs.answered_wrongly, WEB: costs.sent_to_web}


def _spec(costs: ThresholdCosts, thresholds: Thresholds | None) -> dict[str, Any]:
    marks = [*score_bars.rules(thresholds), _dots(costs, thresholds)] if thresholds else []
    return {"layer": [_curves(costs), *marks]}


def _curves(costs: ThresholdCosts) -> dict[str, Any]:
    places = [step / _STEPS for step in range(_STEPS + 1)]
    values = [
        {"threshold": place, "share": share, "what": name}
        for name, cost in _costs(costs).items()
        for place in places
        if (share := cost(place)) is not None
    ]
    line = {"symbolType": "stroke", "symbolSize": 500, "symbolStrokeWidth": 2.5}
    legend = {**score_bars.LEGEND, **line, "columns": 2}
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
            "color": {"field": "what", "type": "nominal", "scale": _scale(0), "legend": legend},
            "strokeDash": {"field": "what", "type": "nominal", "scale": _scale(1), "legend": legend},
            "tooltip": [{"field": "what"}, {"field": "threshold"}, {"field": "share", "format": ".1%"}],
        },
    }


def _dots(costs: ThresholdCosts, thresholds: Thresholds) -> dict[str, Any]:
    """Mark each curve at its threshold, with the share on the side the curve leaves free."""
    values = [
        {"threshold": place, "share": share, "what": name, "text": f"{share:.0%}"}
        for name, place, share in present(costs, thresholds)
    ]
    place = {"x": {"field": "threshold", "type": "quantitative"}, "y": {"field": "share", "type": "quantitative"}}
    colour = {"field": "what", "type": "nominal", "scale": _scale(0), "legend": None}
    text = {"type": "text", "align": "right", "dx": -8, "fontSize": 13, "fontWeight": 600, "fill": score_bars.INK}
    falls, rises = f"datum.what === '{ANSWERED}'", f"datum.what !== '{ANSWERED}'"
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


def _scale(look: int) -> dict[str, Any]:
    return {"domain": [*_LOOKS], "range": [both[look] for both in _LOOKS.values()]}
