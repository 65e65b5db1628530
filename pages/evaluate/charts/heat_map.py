"""Heat map: a grid of labelled cells, coloured by value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from pages.evaluate.charts import looks
from pages.parts import score_bars
from pages.parts.device import is_phone

_ROW = 44  # pixels
_PALE, _DEEP = 0.06, 0.5  # opacity range; above it, the numbers on top would be hard to read


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: its text, colour depth from 0 to 1 and tooltip; `marked` cells have an edge."""

    row: str
    column: str
    text: str
    depth: float
    told: str
    marked: bool = False


def draw(cells: Sequence[Cell], row_title: str, column_title: str, alt: str) -> None:
    """Draw rows and columns in order of first appearance."""
    st.vega_lite_chart(_spec(cells, row_title, column_title), width="stretch", alt=alt)


def _spec(cells: Sequence[Cell], row_title: str, column_title: str) -> dict[str, Any]:
    rows, columns = (
        list(dict.fromkeys(names)) for names in zip(*((one.row, one.column) for one in cells), strict=True)
    )
    values = [
        {"row": one.row, "column": one.column, "text": one.text, "depth": one.depth, "told": one.told, "on": one.marked}
        for one in cells
    ]
    down = looks.rows(rows, narrow=is_phone())
    down["axis"] |= {"title": row_title}
    across = looks.rows(columns, narrow=is_phone())
    across["axis"] |= {"title": column_title, "orient": "top", "labelAngle": 0}
    return {
        "data": {"values": values},
        "height": {"step": _ROW},
        "encoding": {
            "y": {"field": "row", **down},
            "x": {"field": "column", **across},
            "tooltip": [{"field": "told", "title": " "}],
        },
        "layer": [_boxes(), _edges(), _texts()],
    }


def _boxes() -> dict[str, Any]:
    depth = {"field": "depth", "type": "quantitative", "legend": None}
    return {
        "mark": {"type": "rect", "cornerRadius": 4, "width": {"band": 0.94}, "height": {"band": 0.88}},
        "encoding": {"opacity": {**depth, "scale": {"domain": [0, 1], "range": [_PALE, _DEEP]}}},
    }


def _edges() -> dict[str, Any]:
    """Return the layer of edges around marked cells."""
    box = {"type": "rect", "cornerRadius": 4, "width": {"band": 0.94}, "height": {"band": 0.88}}
    return {
        "transform": [{"filter": "datum.on"}],
        "mark": {**box, "fillOpacity": 0, "stroke": score_bars.INK, "strokeWidth": 2},
    }


def _texts() -> dict[str, Any]:
    return {"mark": {"type": "text", "fontSize": 14, "fill": score_bars.INK}, "encoding": {"text": {"field": "text"}}}
