"""Overview of all runs: outcomes per day and in total, slowest and unhelpful runs."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

import streamlit as st

from crag.inspection import run_labels
from crag.inspection.run_archive import DayCount, RunFacets, RunFilter, RunRow
from crag.text.formatting import current_date, format_date, format_day, format_duration
from crag.translation import N_, _, translate_text
from pages.inspect import run_list
from pages.parts import labels, markdown
from pages.parts.address import open_page
from pages.parts.routes import Page
from pages.parts.services import application

_DAYS = 30
_MAX_LISTED = 5
_OUTCOME_WORDS: dict[str, str] = {  # small talk is not charted: it asks nothing of the documents
    **{outcome: badge.english for outcome, badge in run_labels.OUTCOME_BADGES.items() if outcome != "talk"},
    "": N_("not completed"),
}
# Charts assign the theme's colours in order: blue, green, orange, red, violet, gray, teal, brown, pink, olive.
_COLOURED_OUTCOMES = (
    *("web", "documents", "documents_partly", "", "documents_and_web", "not_answered", "quoted", "conflicting"),
    *("related", "possible", "calculated"),
)


def draw_overview(found: RunFacets) -> None:
    """Draw the overview; without any run, say what it will show."""
    st.title(Page.INSPECT.title, anchor=False)
    if not found.states:
        st.caption(
            _(
                "Ask a question, then see here what was found, how each passage was graded, what was "
                "decided and why, and which prompts were sent. You can continue any run from any step."
            )
        )
        return
    st.caption(_("Choose a run in the list to see its steps."))
    left, right = st.columns([3, 2], gap="medium")
    with left:
        _draw_days_chart(application().archive.days(time.time() - (_DAYS - 1) * 86_400))
        _draw_slowest(application().archive.slowest(_MAX_LISTED))
    with right:
        _draw_outcome_counts(found.outcomes)
        _draw_unhelpful(application().archive.list(RunFilter(helpful=("down",)), _MAX_LISTED))


def _draw_days_chart(days: Sequence[DayCount]) -> None:
    st.header(_("Did your documents answer? Last {days} days").format(days=_DAYS), anchor=False)
    if not days:
        st.caption(_("No questions in this period."))
        return
    st.vega_lite_chart(_days_chart_spec(days), width="stretch", height=310, alt=_describe_days(days))


def _days_chart_spec(days: Sequence[DayCount]) -> dict[str, Any]:
    """Return stacked bars by day, days without runs included, with answers from the documents at the bottom."""
    ranks = list(_OUTCOME_WORDS)
    values = [
        {
            "day": format_day(date.fromisoformat(one.day)),
            "outcome": _(_OUTCOME_WORDS[one.outcome]),
            "runs": one.runs,
            "rank": ranks.index(one.outcome),
        }
        for one in days
        if one.outcome in ranks
    ]
    there = [word for word in map(_, _OUTCOME_WORDS.values()) if any(value["outcome"] == word for value in values)]
    axis = {"labelOverlap": True, "labelAngle": 0, "ticks": False}
    return {
        "data": {"values": values},
        "mark": {"type": "bar", "cornerRadius": 2, "width": {"band": 0.8}},
        "encoding": {
            "x": {"field": "day", "type": "ordinal", "title": None, "axis": axis, "scale": {"domain": _shown_days()}},
            "y": {"field": "runs", "type": "quantitative", "title": _("runs"), "axis": {"tickMinStep": 1}},
            "order": {"field": "rank"},
            "color": {
                "field": "outcome",
                "type": "nominal",
                "scale": {"domain": [_(_OUTCOME_WORDS[outcome]) for outcome in _COLOURED_OUTCOMES]},
                "legend": {"title": None, "orient": "top", "values": there, "columns": 1, "labelLimit": 0},
            },
            "tooltip": [{"field": "day"}, {"field": "outcome"}, {"field": "runs"}],
        },
    }


def _shown_days() -> list[str]:
    """Return the labels of the days shown, earliest first."""
    return [format_day(current_date() - timedelta(days=back)) for back in reversed(range(_DAYS))]


def _describe_days(days: Sequence[DayCount]) -> str:
    counts = {_(word): sum(one.runs for one in days if one.outcome == name) for name, word in _OUTCOME_WORDS.items()}
    return _("Runs of the last {days} days: {value}").format(
        days=_DAYS, value=", ".join((f"{count} {word}" for word, count in counts.items() if count))
    )


def _draw_outcome_counts(outcomes: Mapping[str, int]) -> None:
    st.header(_("Where answers came from"), anchor=False)
    with st.container(gap="xxsmall"):
        for outcome, badge in run_labels.OUTCOME_BADGES.items():
            if number := outcomes.get(outcome):
                st.button(
                    f"{labels.badge_label(badge)} {labels.grey_text(f'{number:,}')}",
                    key=f"outcome-{outcome}",
                    type="tertiary",
                    on_click=run_list.show_only_outcome,
                    args=(outcome,),
                )
    draw_gaps_button()


def draw_gaps_button() -> None:
    """Draw the button to the coverage gaps."""
    if st.button(Page.GAPS.title, icon=Page.GAPS.icon):
        open_page(Page.GAPS)


def _draw_slowest(rows: Sequence[RunRow]) -> None:
    if rows:
        st.header(_("Slowest"), anchor=False)
        with st.container(gap="xsmall"):
            for row in rows:
                fact = [
                    format_duration(row.seconds or 0.0),
                    markdown.escape_line(translate_text(row.model), 60),
                    format_date(row.started_at),
                ]
                run_list.draw_run_row(row, "slow", fact=" · ".join(one for one in fact if one))


def _draw_unhelpful(rows: Sequence[RunRow]) -> None:
    st.header(_("Thumbs down"), anchor=False)
    if not rows:
        st.caption(_("No answers were marked as not helpful."))
    with st.container(gap="xsmall"):
        for row in rows:
            run_list.draw_run_row(row, "unhelpful", fact=markdown.escape_line(row.reason, 160) or _("No reason given."))
