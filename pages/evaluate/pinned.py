"""Regression panel: the last results of pinned questions, and what has changed since."""

from __future__ import annotations

from collections import Counter

import streamlit as st

from crag.evaluate import signs
from crag.evaluate.figures.verdicts import verdict
from crag.evaluate.regression.regression import RegressionReport, RegressionState
from crag.evaluate.values import Evaluation
from crag.moments import day_and_minute
from pages.evaluate import chosen, reading
from pages.evaluate.comparison import sides
from pages.parts import markdown, refusals, words
from pages.parts.person import person
from pages.parts.resources import application

_NONE = (
    "None yet. Say of an answer in the chat that it is right, or of a passage that it was the right one: its question "
    "is kept here, and asked again whenever you change something."
)
_AUTOMATIC = "pinned-automatic"


def draw() -> None:
    """Draw the number of questions, the last results, changes since then and the buttons to run them again."""
    with st.container(border=True):
        st.header("Your pinned questions", anchor=False)
        state = application().regression.state(person())
        if not state.pinned:
            st.caption(_NONE)
            return
        st.markdown(f"**{words.count(state.pinned, 'question')}** {words.grey(_last(state.last))}")
        _tell_changes(state)
        if report := application().regression.report(person(), reading.cutoffs()):
            _draw_report(report)
        _draw_buttons(state)


def _last(last: Evaluation | None) -> str:
    if last is None:
        return "not asked yet"
    cutoffs = reading.cutoffs()
    came = Counter(verdict(result, cutoffs) for result in reading.results(last))
    told = [f"{came[one]:,} {badge.word}" for one, badge in signs.VERDICTS.items() if came[one]]
    return f"{', '.join(told) or 'no answer yet'} · {day_and_minute(last.started_at)}"


def _tell_changes(state: RegressionState) -> None:
    """Draw what has changed since the last run."""
    if state.changes:
        told = "".join(f"\n- {markdown.label(changed, 200)}" for changed in state.changes)
        st.markdown(f":orange[:material/change_circle:] Changed since then:\n{told}")
    if state.last and state.last.state == "done" and not state.due:
        st.caption(":material/check: Nothing has changed since.")
    for told in (state.fault, state.held_back):
        if told:
            st.caption(f":material/info: {markdown.label(told)}")


def _draw_report(report: RegressionReport) -> None:
    """Draw the result of the last run against the one before, with a button to compare them."""
    sign = ":red[:material/trending_down:]" if report.broken else ":green[:material/check_circle:]"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"{sign} {report.in_words()}", width="content")
        st.button(
            "Compare",
            icon=":material/compare_arrows:",
            type="tertiary",
            key="compare-pinned",
            on_click=sides.choose,
            args=([f"{report.before.id}.0", f"{report.after.id}.0"],),
        )


def _draw_buttons(state: RegressionState) -> None:
    moving = state.last is not None and state.last.is_under_way
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Run now", icon=":material/play_arrow:", key="run-pinned", disabled=moving, on_click=_run)
        if state.last:
            st.button(
                "Last result",
                icon=":material/analytics:",
                type="tertiary",
                key="last-pinned",
                on_click=chosen.open_evaluation,
                args=(state.last.id,),
            )
    st.session_state[_AUTOMATIC] = state.automatic
    st.toggle(
        "Run by themselves after a change",
        key=_AUTOMATIC,
        help="After documents were read anew, or another model answers, grades or embeds; never where a question "
        "would leave this machine.",
        on_change=_switch,
    )


def _run() -> None:
    with refusals.kept():
        chosen.open_evaluation(application().regression.run(person()).id)


def _switch() -> None:
    application().regression.set_automatic(person(), st.session_state[_AUTOMATIC])
