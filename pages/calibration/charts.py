"""The two distributions in one picture: answered questions above the line, those without an answer below it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from crag.calibration.proposal import histogram
from crag.calibration.values import Scored
from crag.options import Thresholds
from pages.parts import words

_BINS = 20
_HEIGHT = 320
_KINDS = ["answered", "not answered"]
_COLOURS = ["#1d9a63", "#cf3f52"]  # 3:1 at least on either theme's background
_RULE = "#717d8d"  # read on either background
_SHARE = {"field": "share", "type": "quantitative", "title": "share of its kind"}


def draw(scored: Sequence[Scored], thresholds: Thresholds) -> None:
    """Draw it with both thresholds as rules."""
    st.vega_lite_chart(_spec(_bars(scored), thresholds), alt=_alt(thresholds), width="stretch", height=_HEIGHT)


def _bars(scored: Sequence[Scored]) -> list[dict[str, Any]]:
    """The share of either kind within each twentieth of the scores; below 0 for those without an answer."""
    bars = []
    for name, sign, counts in zip(_KINDS, (1, -1), histogram(scored, _BINS), strict=True):
        total = max(1, sum(counts))
        for at, count in enumerate(counts):
            share = sign * count / total
            bars.append({"from": at / _BINS, "to": (at + 1) / _BINS, "share": share, "questions": count, "kind": name})
    return bars


def _spec(bars: list[dict[str, Any]], thresholds: Thresholds) -> dict[str, Any]:
    score = {"title": "best score of a question's passages", "scale": {"domain": [0, 1]}}
    return {
        "layer": [
            {
                "data": {"values": bars},
                "mark": {"type": "bar", "binSpacing": 1},
                "encoding": {
                    "x": {"field": "from", "type": "quantitative", "bin": {"binned": True, "step": 1 / _BINS}, **score},
                    "x2": {"field": "to"},
                    "y": {**_SHARE, "axis": {"labelExpr": "format(abs(datum.value), '.0%')"}},
                    "color": {
                        "field": "kind",
                        "type": "nominal",
                        "scale": {"domain": _KINDS, "range": _COLOURS},
                        "legend": {"title": None, "orient": "top"},
                    },
                    "tooltip": [{"field": "kind"}, {"field": "questions"}, {"field": "from", "title": "score from"}],
                },
            },
            *_rules(thresholds),
        ],
    }


def _rules(thresholds: Thresholds) -> list[dict[str, Any]]:
    """Both thresholds, each with its words on the side that it decides on."""
    rules = [
        {"at": thresholds.lower, "words": f"irrelevant below {words.score(thresholds.lower)}"},
        {"at": thresholds.upper, "words": f"relevant from {words.score(thresholds.upper)}"},
    ]
    x = {"field": "at", "type": "quantitative"}
    line = {
        "data": {"values": rules},
        "mark": {"type": "rule", "color": _RULE, "strokeWidth": 2, "strokeDash": [5, 3]},
        "encoding": {"x": x},
    }
    return [line, *(_words_of(rule, top=at == 1) for at, rule in enumerate(rules))]


def _words_of(rule: dict[str, Any], *, top: bool) -> dict[str, Any]:
    """The words of a rule: they stand on the side of it where there is room."""
    left = rule["at"] > 0.5
    return {
        "data": {"values": [rule]},
        "mark": {
            "type": "text",
            "align": "right" if left else "left",
            "dx": -6 if left else 6,
            "dy": 4 if top else -4,
            "baseline": "top" if top else "bottom",
            "color": _RULE,
            "fontSize": 13,
        },
        "encoding": {
            "x": {"field": "at", "type": "quantitative"},
            "y": {"value": 0 if top else "height"},
            "text": {"field": "words"},
        },
    }


def _alt(thresholds: Thresholds) -> str:
    return (
        "Bars of how often each score was given to answered and to unanswered questions;"
        f" rules at {words.score(thresholds.lower)} and {words.score(thresholds.upper)}"
    )
