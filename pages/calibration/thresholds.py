"""Measured score distributions, thresholds to move, their effect, and the thresholds in use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import streamlit as st

from crag.errors import CragError
from crag.evaluation.calibration_rows import SavedThresholds
from crag.evaluation.threshold_proposal import (
    THRESHOLD_GRID,
    ActionShares,
    Calibration,
    ProbeScore,
    ReplayResult,
    ShareEstimate,
    ThresholdFigures,
    describe_calibration_error,
    measure_thresholds,
    score_histograms,
)
from crag.inspection import run_labels
from crag.options import RunOptions
from crag.text import sanitization
from crag.text.formatting import format_count, format_date, format_number, format_score
from crag.translation import _, join_texts, translate_text
from crag.types import Action, Thresholds
from pages.parts import labels, markdown, score_chart
from pages.parts.services import application

_ACTIONS: tuple[Action, ...] = get_args(Action)
_SCORE_KINDS = ("answered", "not answered")


def draw_score_distributions(scored: Sequence[ProbeScore], thresholds: Thresholds) -> None:
    """Draw the chart with both thresholds as rules."""
    alt = _(
        "How often each score was given to answerable and to other questions; thresholds at {lower} and {upper}"
    ).format(lower=format_score(thresholds.lower), upper=format_score(thresholds.upper))
    score = _("best score of a question's passages")
    score_chart.draw_score_chart(
        _SCORE_KINDS, score_histograms(scored, score_chart.BINS), thresholds, score=score, alt=alt
    )


def draw_calibration(measured: Calibration) -> None:
    """Draw the measurement; a fragment, so that moving a threshold redraws nothing else."""
    st.header(_("Scores"), anchor=False)
    st.caption(_calibration_facts(measured))
    chart = st.container()
    thresholds = _choose_thresholds(measured)
    with chart:
        draw_score_distributions(measured.scored, thresholds)
    figures = measure_thresholds(measured.scored, thresholds)
    _draw_precision(figures, thresholds)
    st.markdown(_action_table(figures))
    _draw_use_button(measured, thresholds)
    _draw_past_questions(application().calibration.replay_past_runs(measured.collection, measured.grader, thresholds))


def _calibration_facts(measured: Calibration) -> str:
    answered = sum(one.answerable for one in measured.scored)
    ruled = sum(one.kind == "ruling" for one in measured.scored)
    where = markdown.escape_line(measured.collection, 80) or _("all documents")
    by_you = (
        _(", including {passages} whose verdict you changed").format(passages=format_count(ruled, "passage"))
        if ruled
        else ""
    )
    return _("{grader_label} on {where}: {answered} answerable, {scored} not answerable{by_you}.").format(
        grader_label=labels.grader_label(measured.grader),
        where=where,
        answered=format_number(answered),
        scored=format_number(len(measured.scored) - answered),
        by_you=by_you,
    )


def _choose_thresholds(measured: Calibration) -> Thresholds:
    """Draw the slider and return its thresholds, initially the proposed ones."""
    start = measured.proposal.thresholds or measured.own
    for remark in measured.proposal.remarks:
        st.markdown(f":orange[:material/info:] {markdown.escape_line(remark, 400)}")
    lower, upper = st.select_slider(
        _("Not relevant below, relevant from"),
        THRESHOLD_GRID,
        value=(_nearest_on_grid(start.lower), _nearest_on_grid(start.upper)),
        format_func=format_score,
        key=f"thresholds-{measured.made_at}",
    )
    own = _("Default: {threshold_pair}.").format(threshold_pair=_threshold_pair(measured.own))
    proposed = (
        _("Proposed: {threshold_pair}.").format(threshold_pair=_threshold_pair(start))
        if measured.proposal.thresholds
        else ""
    )
    st.caption(join_texts(proposed, own, _("Between the two, a passage is *partly relevant*.")))
    return Thresholds(lower, upper)


def _threshold_pair(thresholds: Thresholds) -> str:
    return _("{lower} and {upper}").format(lower=format_score(thresholds.lower), upper=format_score(thresholds.upper))


def _nearest_on_grid(value: float) -> float:
    return min(THRESHOLD_GRID, key=lambda step: abs(step - value))


def _draw_precision(figures: ThresholdFigures, thresholds: Thresholds) -> None:
    correct, refused = _share_text(figures.correct), _share_text(figures.incorrect)
    upper, lower = format_score(thresholds.upper), format_score(thresholds.lower)
    st.markdown(
        _(
            ":green[:material/check_circle:] From **{upper}** on, {correct} of the questions are answerable.  \n"
            ":red[:material/cancel:] Below **{lower}**, {refused} of them are not."
        ).format(upper=upper, correct=correct, lower=lower, refused=refused)
    )


def _share_text(share: ShareEstimate) -> str:
    if share.value is None:
        return _("none (n = {n})").format(n=share.n)
    bounds = _("{low:.0%} to {high:.0%}, n = {n}").format(low=share.low, high=share.high, n=format_number(share.n))
    return f"**{share.value:.0%}** {labels.grey_text(bounds)}"


def _action_table(figures: ThresholdFigures) -> str:
    """Return the share of each action for both kinds of question as a Markdown table."""
    return "\n".join(
        [
            _("| Question | {value} |").format(
                value=" | ".join(run_labels.ACTION_BADGES[action].word for action in _ACTIONS)
            ),
            "|---|--:|--:|--:|",
            _action_row(_("Answerable"), figures.answerable),
            _action_row(_("Not answerable"), figures.unanswerable),
        ]
    )


def _action_row(name: str, outcomes: ActionShares) -> str:
    shares = " | ".join(f"{outcomes.shares[action]:.1%}" for action in _ACTIONS)
    return f"| {name} {labels.grey_text(f'{outcomes.n:,}')} | {shares} |"


def _draw_use_button(measured: Calibration, thresholds: Thresholds) -> None:
    error = translate_text(describe_calibration_error(measured.scored, measured.own))
    st.caption(_("Both kinds count equally. Ranges are 95% intervals (bootstrap). {error}").format(error=error))
    kept = application().calibration.saved.load(measured.collection, measured.grader)
    with st.container(horizontal=True, vertical_alignment="center"):
        if kept == thresholds:
            st.markdown(_(":green[:material/check_circle:] In use"), width="content")
        elif st.button(_("Use these thresholds"), icon=":material/check:", key="use-thresholds"):
            _save_thresholds(measured, thresholds)


def _save_thresholds(measured: Calibration, thresholds: Thresholds) -> None:
    try:
        application().calibration.save(measured, thresholds)
    except CragError as error:
        st.markdown(f":red[{markdown.escape_line(translate_text(str(error)))}]")
    else:
        st.rerun()


def _draw_past_questions(past: Sequence[ReplayResult]) -> None:
    st.header(_("Past questions"), anchor=False)
    if not past:
        st.caption(_("This grader has not graded any question yet. Ask some, then come back to see what would change."))
        return
    changed = sum(one.changes for one in past)
    st.caption(
        _("{changed} of the last {questions} would get a different result.").format(
            changed=format_number(changed), questions=format_count(len(past), "question")
        )
    )
    rows = sorted(past, key=lambda one: not one.changes)
    st.dataframe(
        _past_question_columns(rows),
        hide_index=True,
        alt=_("Past questions with their result then and now"),
        key="past-questions",
        column_config={
            _("Question"): st.column_config.TextColumn(width=300),
            _("Score"): st.column_config.NumberColumn(format="%.2f"),
        },
    )


def _past_question_columns(past: Sequence[ReplayResult]) -> dict[str, list[Any]]:
    return {
        _("Question"): [sanitization.strip_invisible(one.question) for one in past],
        _("Score"): [one.best for one in past],
        _("Then"): [run_labels.ACTION_BADGES[one.then].word if one.then else "" for one in past],
        _("Now"): [run_labels.ACTION_BADGES[one.now].word if one.now else "" for one in past],
        "": ["changes" if one.changes else "" for one in past],
    }


def draw_saved_thresholds() -> None:
    """Draw one row per saved thresholds, those of a changed grader apart; nothing if none are saved."""
    kept = application().calibration.saved.all()
    outdated = [one for one in kept if _is_outdated(one)]
    _draw_saved_list(_("In use"), [one for one in kept if one not in outdated], _("Back to default"), ":material/undo:")
    _draw_saved_list(_("No longer in use"), outdated, _("Remove"), ":material/delete:")
    if outdated:
        st.caption(_("The grader has changed since, so it uses its default thresholds. Measure again to calibrate it."))


def _is_outdated(one: SavedThresholds) -> bool:
    """Return whether it was measured on scores the built-in grader no longer gives: other coefficients or vectors."""
    if "builtin:" not in one.grader:
        return False
    try:
        now = application().grading_setup(RunOptions(grader="builtin", collection=one.collection)).grader
    except CragError:
        return False
    return now not in one.grader


def _draw_saved_list(title: str, kept: Sequence[SavedThresholds], back: str, icon: str) -> None:
    if not kept:
        return
    st.header(title, anchor=False)
    with st.container(border=True, gap="xsmall"):
        for one in kept:
            _draw_saved_row(one, back, icon)


def _draw_saved_row(one: SavedThresholds, back: str, icon: str) -> None:
    where = labels.collection_label(one.collection, 80)
    facts = f"{_threshold_pair(one.thresholds)} · {format_date(one.made_at)}"
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.markdown(f"{where} · {labels.grader_label(one.grader)} {labels.grey_text(facts)}", width="content")
        st.button(
            back,
            icon=icon,
            type="tertiary",
            key=f"forget-{one.collection}-{one.grader}",
            on_click=_forget_thresholds,
            args=(one,),
        )


def _forget_thresholds(one: SavedThresholds) -> None:
    application().calibration.saved.forget(one.collection, one.grader)
