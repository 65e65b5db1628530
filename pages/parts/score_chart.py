"""Chart of two score distributions: relevant above the axis, irrelevant below it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from crag.text.formatting import format_score
from crag.translation import _
from crag.types import Thresholds

HIGH_COLOUR, LOW_COLOUR = "#1d9a63", "#cf3f52"  # contrast of at least 3:1 in both themes
RULE_COLOUR = "#717d8d"  # visible in both themes
TEXT_COLOUR = "currentColor"  # colour of the surrounding text
BINS = 20
LEGEND = {"title": None, "orient": "top", "offset": 34}  # leaves room below for the labels of the rules
_HEIGHT = 340
_LINE_HEIGHT = 16  # pixels per line of rule labels
_SHARE_AXIS = {"field": "share", "type": "quantitative", "title": ""}


def draw_score_chart(
    names: Sequence[str], counts: Sequence[Sequence[int]], thresholds: Thresholds | None, *, score: str, alt: str
) -> None:
    """Draw the histograms of both kinds over scores from 0 to 1, with the thresholds as rules if given.

    `score` names the score on the axis, `alt` describes the chart in words.
    """
    st.vega_lite_chart(_chart_spec(names, counts, thresholds, score), alt=alt, width="stretch", height=_HEIGHT)


def threshold_rules(thresholds: Thresholds) -> list[dict[str, Any]]:
    """Return both thresholds as chart layers, each with its label on the side that it decides."""
    marked = [
        {"at": thresholds.lower, "words": _("not relevant below {lower}").format(lower=format_score(thresholds.lower))},
        {"at": thresholds.upper, "words": _("relevant from {upper}").format(upper=format_score(thresholds.upper))},
    ]
    line = {
        "data": {"values": marked},
        "mark": {"type": "rule", "color": RULE_COLOUR, "strokeWidth": 2, "strokeDash": [5, 3]},
        "encoding": {"x": {"field": "at", "type": "quantitative"}},
    }
    return [line, *(_rule_label(rule, line) for line, rule in enumerate(reversed(marked), start=1))]


def _chart_spec(
    names: Sequence[str], counts: Sequence[Sequence[int]], thresholds: Thresholds | None, score: str
) -> dict[str, Any]:
    place = {"title": score, "scale": {"domain": [0, 1]}}
    step = 1 / len(counts[0])
    bars = {
        "data": {"values": _bar_data(names, counts)},
        "mark": {"type": "bar", "binSpacing": 1},
        "encoding": {
            "x": {"field": "from", "type": "quantitative", "bin": {"binned": True, "step": step}, **place},
            "x2": {"field": "to"},
            "y": {
                **_SHARE_AXIS,
                "title": _("share of its kind"),
                "axis": {"labelExpr": "format(abs(datum.value), '.0%')"},
            },
            "color": {
                "field": "kind",
                "type": "nominal",
                "scale": {"domain": [*names], "range": [HIGH_COLOUR, LOW_COLOUR]},
                "legend": LEGEND,
            },
            "tooltip": [{"field": "kind"}, {"field": "count"}, {"field": "from", "title": _("score from")}],
        },
    }
    return {"layer": [bars, *(threshold_rules(thresholds) if thresholds else ())]}


def _bar_data(names: Sequence[str], counts: Sequence[Sequence[int]]) -> list[dict[str, Any]]:
    """Return the share of each kind per bin; negative for the second kind, which is drawn below the axis."""
    bars = []
    for name, sign, own in zip(names, (1, -1), counts, strict=True):
        total = max(1, sum(own))
        for at, count in enumerate(own):
            edges = {"from": at / len(own), "to": (at + 1) / len(own)}
            bars.append({**edges, "share": sign * count / total, "count": count, "kind": name})
    return bars


def _rule_label(rule: dict[str, Any], line: int) -> dict[str, Any]:
    """Return the label of a rule, `line` lines above the chart, on the side with more room."""
    left = rule["at"] > 0.5
    align = {"align": "right", "dx": -6} if left else {"align": "left", "dx": 6}
    return {
        "data": {"values": [rule]},
        "mark": {"type": "text", **align, "baseline": "bottom", "fill": TEXT_COLOUR, "fontSize": 13},
        "encoding": {
            "x": {"field": "at", "type": "quantitative"},
            "y": {"value": -4 - _LINE_HEIGHT * (line - 1)},
            "text": {"field": "words"},
        },
    }
