"""Regression panel: the last results of pinned questions, and what has changed since."""

from __future__ import annotations

from collections import Counter

import streamlit as st

from crag.evaluation import metrics
from crag.evaluation.metrics import answer_verdict
from crag.evaluation.regression import RegressionReport, RegressionState
from crag.evaluation.types import Evaluation
from crag.text.formatting import format_count, format_date_time
from crag.translation import N_, _, translate_text
from pages.evaluate import results, selection
from pages.parts import labels, markdown
from pages.parts.services import application

_EMPTY_HINT = N_(
    "None yet. Pin an answer in Chat, or an expected passage in Inspect. Its question is "
    "kept here, and you can ask it again after each change."
)
_AUTOMATIC_KEY = "pinned-automatic"


def draw_pinned_questions() -> None:
    """Draw the number of questions, the last results, changes since then and the buttons to run them again."""
    with st.container(border=True):
        st.header(_("Test questions"), anchor=False)
        state = application().regression.state()
        if not state.pinned:
            st.caption(_(_EMPTY_HINT))
            return
        st.markdown(
            f"**{format_count(state.pinned, 'question')}** {labels.grey_text(_describe_last_evaluation(state.last))}"
        )
        _draw_changes(state)
        if report := application().regression.report(results.load_cutoffs()):
            _draw_report(report)
        _draw_buttons(state)


def _describe_last_evaluation(last: Evaluation | None) -> str:
    if last is None:
        return _("not asked yet")
    cutoffs = results.load_cutoffs()
    came = Counter(answer_verdict(result, cutoffs) for result in results.load_results(last))
    told = [f"{came[one]:,} {badge.word}" for one, badge in metrics.VERDICT_BADGES.items() if came[one]]
    return f"{', '.join(told) or _('no answer yet')} · {format_date_time(last.started_at)}"


def _draw_changes(state: RegressionState) -> None:
    """Draw what has changed since the last run."""
    if state.changes:
        told = "".join(f"\n- {markdown.escape_line(translate_text(changed), 200)}" for changed in state.changes)
        st.markdown(_(":orange[:material/change_circle:] Changed since then:\n{told}").format(told=told))
    if state.last and state.last.state == "done" and not state.due:
        st.caption(_(":material/check: No changes since."))
    for told in (state.fault, state.held_back):
        if told:
            st.caption(f":material/info: {markdown.escape_line(translate_text(told))}")


def _draw_report(report: RegressionReport) -> None:
    """Draw the result of the last run against the one before, with a button to compare them."""
    sign = ":red[:material/trending_down:]" if report.broken else ":green[:material/check_circle:]"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"{sign} {report.describe()}", width="content")
        st.button(
            _("Compare"),
            icon=":material/compare_arrows:",
            type="tertiary",
            key="compare-pinned",
            on_click=selection.select_variants,
            args=([results.variant_key(one, 0) for one in (report.before, report.after)],),
        )


def _draw_buttons(state: RegressionState) -> None:
    moving = state.last is not None and state.last.is_active
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            _("Run now"),
            icon=":material/play_arrow:",
            key="run-pinned",
            disabled=moving,
            on_click=_run_pinned_questions,
        )
        if state.last:
            st.button(
                _("Last result"),
                icon=":material/analytics:",
                type="tertiary",
                key="last-pinned",
                on_click=selection.open_evaluation,
                args=(state.last.id,),
            )
    st.session_state[_AUTOMATIC_KEY] = state.automatic
    st.toggle(
        _("Run automatically after a change"),
        key=_AUTOMATIC_KEY,
        help=_("After documents or models change. Never if a question would leave this machine."),
        on_change=_save_automatic,
    )


def _run_pinned_questions() -> None:
    selection.open_evaluation(application().regression.run().id)


def _save_automatic() -> None:
    application().regression.set_automatic(st.session_state[_AUTOMATIC_KEY])
