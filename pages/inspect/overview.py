"""Overview of all runs: actions per day, outcomes, slowest runs and unhelpful answers."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

import streamlit as st

from crag.inspection import badges
from crag.inspection.archive import DayCount, Facets, RunFilter, RunRow
from crag.moments import today
from pages.inspect import filters, listing, signs
from pages.parts import markdown, words
from pages.parts.person import person
from pages.parts.resources import application

_GAPS = "pages/gaps/page.py"
_DAYS = 30
_FEW = 5
_UNDECIDED = "no decision"
_ACTIONS = ["correct", "ambiguous", "incorrect", _UNDECIDED]
# Charts assign the theme's colours in order (blue, green, orange, red, violet, gray); the gaps skip a colour.
_PLACES = ["", "correct", "ambiguous", "incorrect", " ", _UNDECIDED]


def draw(found: Facets) -> None:
    """Draw the overview; without any run, say what it will show."""
    st.title("Inspect", anchor=False)
    if not found.states:
        st.caption(
            "Once you have asked something, you see here what was found, how each passage was judged, what was "
            "decided and why, and which prompts were sent. Any run can be gone on with from any step."
        )
        return
    st.caption("Choose a run in the list to see where it went and why.")
    left, right = st.columns([3, 2], gap="large")
    with left:
        _draw_days(application().archive.days(time.time() - (_DAYS - 1) * 86_400, person()))
        _draw_slowest(application().archive.slowest(person(), _FEW))
    with right:
        _draw_outcomes(found.outcomes)
        _draw_unhelpful(application().archive.list(RunFilter(helpful=("down",)), person(), _FEW))


def _draw_days(days: Sequence[DayCount]) -> None:
    st.header(f"How retrieval was judged, last {_DAYS} days", anchor=False)
    if not days:
        st.caption("Nothing was asked in this time.")
        return
    st.vega_lite_chart(_chart(days), width="stretch", height=220, alt=_in_words(days))


def _chart(days: Sequence[DayCount]) -> dict[str, Any]:
    """Return stacked bars by day, days without runs included, with `correct` at the bottom."""
    values = [
        {"day": _shown(one.day), "action": one.action or _UNDECIDED, "runs": one.runs, "rank": _rank(one.action)}
        for one in days
    ]
    there = [action for action in _ACTIONS if any(value["action"] == action for value in values)]
    axis = {"labelOverlap": True, "labelAngle": 0, "ticks": False}
    return {
        "data": {"values": values},
        "mark": {"type": "bar", "cornerRadius": 2, "width": {"band": 0.8}},
        "encoding": {
            "x": {"field": "day", "type": "ordinal", "title": None, "axis": axis, "scale": {"domain": _every_day()}},
            "y": {"field": "runs", "type": "quantitative", "title": "runs", "axis": {"tickMinStep": 1}},
            "order": {"field": "rank"},
            "color": {
                "field": "action",
                "type": "nominal",
                "scale": {"domain": _PLACES},
                "legend": {"title": None, "orient": "top", "values": there},
            },
            "tooltip": [{"field": "day"}, {"field": "action"}, {"field": "runs"}],
        },
    }


def _every_day() -> list[str]:
    """Return the labels of the days shown, earliest first."""
    return [_shown((today() - timedelta(days=back)).isoformat()) for back in reversed(range(_DAYS))]


def _shown(day: str) -> str:
    named = date.fromisoformat(day)
    return f"{named.day} {named:%b}"


def _rank(action: str) -> int:
    return _ACTIONS.index(action or _UNDECIDED)


def _in_words(days: Sequence[DayCount]) -> str:
    counts = {action: sum(one.runs for one in days if (one.action or _UNDECIDED) == action) for action in _ACTIONS}
    return f"Runs of the last {_DAYS} days: {', '.join(f'{count} {action}' for action, count in counts.items())}"


def _draw_outcomes(outcomes: Mapping[str, int]) -> None:
    st.header("Where answers came from", anchor=False)
    with st.container(gap="xxsmall"):
        for outcome, badge in badges.OUTCOMES.items():
            if number := outcomes.get(outcome):
                st.button(
                    f"{signs.of(badge)} {words.grey(f'{number:,}')}",
                    key=f"outcome-{outcome}",
                    type="tertiary",
                    on_click=filters.show_only,
                    args=(outcome,),
                )
    draw_way_to_gaps()


def draw_way_to_gaps() -> None:
    """Draw the button to the coverage gaps."""
    if st.button("What your documents do not cover", icon=":material/content_paste_search:"):
        st.switch_page(_GAPS)


def _draw_slowest(rows: Sequence[RunRow]) -> None:
    if rows:
        st.header("Slowest", anchor=False)
        with st.container(gap="xsmall"):
            for row in rows:
                fact = [words.duration(row.seconds or 0.0), markdown.label(row.model, 60), words.day(row.started_at)]
                listing.draw_row(row, "slow", fact=" · ".join(one for one in fact if one))


def _draw_unhelpful(rows: Sequence[RunRow]) -> None:
    st.header("Thumbs down", anchor=False)
    if not rows:
        st.caption("No answer was marked as not helpful.")
    with st.container(gap="xsmall"):
        for row in rows:
            listing.draw_row(row, "unhelpful", fact=markdown.label(row.reason, 160) or "Without a reason.")
