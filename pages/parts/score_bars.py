"""Two distributions of scores in one picture: what should score high above the line, what should score low below it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from crag.options import Thresholds
from pages.parts import words

HIGH, LOW = "#1d9a63", "#cf3f52"  # 3:1 at least on either theme's background
RULE = "#717d8d"  # seen on either background
INK = "currentColor"  # that of the text around the picture
BINS = 20
LEGEND = {"title": None, "orient": "top", "offset": 34}  # with room below for the words of the rules
_HEIGHT = 340
_LINE = 16  # pixels, of those words
_SHARE = {"field": "share", "type": "quantitative", "title": "share of its kind"}


def draw(
    names: Sequence[str], counts: Sequence[Sequence[int]], thresholds: Thresholds | None, *, score: str, alt: str
) -> None:
    """Draw how many of either kind lie in each of equal parts of 0..1, with both thresholds as rules where given.

    `score` is whose score it is, `alt` the picture in words.
    """
    st.vega_lite_chart(_spec(names, counts, thresholds, score), alt=alt, width="stretch", height=_HEIGHT)


def rules(thresholds: Thresholds) -> list[dict[str, Any]]:
    """Both thresholds as layers of a chart over scores, each with its words on the side that it decides on."""
    marked = [
        {"at": thresholds.lower, "words": f"irrelevant below {words.score(thresholds.lower)}"},
        {"at": thresholds.upper, "words": f"relevant from {words.score(thresholds.upper)}"},
    ]
    line = {
        "data": {"values": marked},
        "mark": {"type": "rule", "color": RULE, "strokeWidth": 2, "strokeDash": [5, 3]},
        "encoding": {"x": {"field": "at", "type": "quantitative"}},
    }
    return [line, *(_words_of(rule, line) for line, rule in enumerate(reversed(marked), start=1))]


def _spec(
    names: Sequence[str], counts: Sequence[Sequence[int]], thresholds: Thresholds | None, score: str
) -> dict[str, Any]:
    place = {"title": score, "scale": {"domain": [0, 1]}}
    step = 1 / len(counts[0])
    bars = {
        "data": {"values": _bars(names, counts)},
        "mark": {"type": "bar", "binSpacing": 1},
        "encoding": {
            "x": {"field": "from", "type": "quantitative", "bin": {"binned": True, "step": step}, **place},
            "x2": {"field": "to"},
            "y": {**_SHARE, "axis": {"labelExpr": "format(abs(datum.value), '.0%')"}},
            "color": {
                "field": "kind",
                "type": "nominal",
                "scale": {"domain": [*names], "range": [HIGH, LOW]},
                "legend": LEGEND,
            },
            "tooltip": [{"field": "kind"}, {"field": "count"}, {"field": "from", "title": "score from"}],
        },
    }
    return {"layer": [bars, *(rules(thresholds) if thresholds else ())]}


def _bars(names: Sequence[str], counts: Sequence[Sequence[int]]) -> list[dict[str, Any]]:
    """The share of either kind within each part of the scores; below 0 for the second kind."""
    bars = []
    for name, sign, own in zip(names, (1, -1), counts, strict=True):
        total = max(1, sum(own))
        for at, count in enumerate(own):
            edges = {"from": at / len(own), "to": (at + 1) / len(own)}
            bars.append({**edges, "share": sign * count / total, "count": count, "kind": name})
    return bars


def _words_of(rule: dict[str, Any], line: int) -> dict[str, Any]:
    """The words of a rule, so many lines above the picture, on the side of it where there is room."""
    left = rule["at"] > 0.5
    align = {"align": "right", "dx": -6} if left else {"align": "left", "dx": 6}
    return {
        "data": {"values": [rule]},
        "mark": {"type": "text", **align, "baseline": "bottom", "fill": INK, "fontSize": 13},
        "encoding": {
            "x": {"field": "at", "type": "quantitative"},
            "y": {"value": -4 - _LINE * (line - 1)},
            "text": {"field": "words"},
        },
    }
