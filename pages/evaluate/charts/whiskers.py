"""Differences around 0 with their intervals: better, worse or not clear."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from crag.evaluate.figures.wording import Meaning
from pages.evaluate.charts import looks
from pages.parts import score_bars
from pages.parts.device import is_phone

_LOOKS: dict[Meaning, tuple[str, str]] = {
    "better": (score_bars.HIGH, "triangle-up"),
    "worse": (score_bars.LOW, "triangle-down"),
    "no clear difference": (score_bars.RULE, "circle"),
}
_ROW = 30  # pixels
_TICKS = {"tickCount": 5, "labelFlush": 12}  # keeps the first and last label inside the chart


@dataclass(frozen=True, slots=True)
class Whisker:
    """One named difference with the ends of its interval and a description for the tooltip."""

    name: str
    value: float
    low: float
    high: float
    meaning: Meaning
    told: str


def draw(whiskers: Sequence[Whisker], title: str, unit: str) -> None:
    """Draw one row per difference; values are fractions, shown as 100 × value followed by `unit`."""
    told = "; ".join(f"{one.name} {one.told}, {one.meaning}" for one in whiskers)
    st.vega_lite_chart(_spec(whiskers, title, unit), width="stretch", alt=f"Differences with their intervals: {told}")


def _spec(whiskers: Sequence[Whisker], title: str, unit: str) -> dict[str, Any]:
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
        "height": {"step": _ROW},
        "encoding": {"y": {"field": "name", **looks.rows(names, narrow=is_phone())}, "color": _colour()},
        "layer": [
            {
                "data": {"values": [{"zero": 0}]},
                "mark": {"type": "rule", "color": score_bars.RULE, "strokeDash": [5, 3]},
                "encoding": {"x": {"field": "zero", **across}, "y": None, "color": None},
            },
            {
                "mark": {"type": "rule", "strokeWidth": 3},
                "encoding": {
                    "x": {"field": "low", **across, "axis": {"title": title, "labelExpr": label, **_TICKS}},
                    "x2": {"field": "high"},
                },
            },
            {
                "mark": {"type": "point", "filled": True, "size": 110, "opacity": 1},
                "encoding": {
                    "x": {"field": "at", **across},
                    "shape": {"field": "is", "scale": _scale(1), "legend": _legend()},
                    "tooltip": [{"field": "name"}, {"field": "told"}, {"field": "is"}],
                },
            },
        ],
    }


def _legend() -> dict[str, Any]:
    """Return the legend: one row, or two rows with shorter words on a phone."""
    legend = {"title": None, "orient": "top", "symbolSize": 90, "labelLimit": 200}
    short = "datum.label === 'no clear difference' ? 'not clear' : datum.label"
    return legend | {"columns": 2, "labelExpr": short} if is_phone() else legend


def _colour() -> dict[str, Any]:
    return {"field": "is", "type": "nominal", "scale": _scale(0), "legend": _legend()}


def _scale(look: int) -> dict[str, Any]:
    return {"domain": [*_LOOKS], "range": [both[look] for both in _LOOKS.values()]}
