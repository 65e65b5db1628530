"""Measured score distributions, thresholds to move, their effect, and past questions replayed under them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from crag.calibration.proposal import GRID, measure
from crag.calibration.values import Calibration, Figures, Outcomes, Past, Share
from crag.errors import CragError
from crag.options import Thresholds
from pages.calibration import charts
from pages.parts import markdown, words
from pages.parts.person import person
from pages.parts.resources import application


def draw(measured: Calibration) -> None:
    """Draw the measurement; a fragment, so that moving a threshold redraws nothing else."""
    st.header("Scores", anchor=False)
    st.caption(_facts(measured))
    chart = st.container()
    thresholds = _move(measured)
    with chart:
        charts.draw(measured.scored, thresholds)
    figures = measure(measured.scored, thresholds)
    _precision(figures, thresholds)
    st.markdown(_table(figures))
    _keep(measured, thresholds)
    _past(application().calibration.past(measured.collection, measured.grader, thresholds, person()))


def _facts(measured: Calibration) -> str:
    answered = sum(one.answerable for one in measured.scored)
    ruled = sum(one.kind == "ruling" for one in measured.scored)
    where = markdown.label(measured.collection, 80) if measured.collection else "all documents"
    by_you = f", {words.count(ruled, 'passage')} ruled on by you among them" if ruled else ""
    return (
        f"{words.grader_label(measured.grader)} on {where}: {answered:,} answered,"
        f" {len(measured.scored) - answered:,} not answered{by_you}."
    )


def _move(measured: Calibration) -> Thresholds:
    """Draw the slider and return its thresholds, initially the proposed ones."""
    start = measured.proposal.thresholds or measured.own
    for remark in measured.proposal.remarks:
        st.markdown(f":orange[:material/info:] {markdown.label(remark, 400)}")
    lower, upper = st.select_slider(
        "Irrelevant below, relevant from",
        GRID,
        value=(_on_grid(start.lower), _on_grid(start.upper)),
        format_func=words.score,
        key=f"thresholds-{measured.made_at}",
    )
    own = f"The grader's own: {_both(measured.own)}."
    proposed = f"Proposed: {_both(start)}. " if measured.proposal.thresholds else ""
    st.caption(f"{proposed}{own} Between the two a passage is *ambiguous*.")
    return Thresholds(lower, upper)


def _both(thresholds: Thresholds) -> str:
    return f"{words.score(thresholds.lower)} and {words.score(thresholds.upper)}"


def _on_grid(value: float) -> float:
    return min(GRID, key=lambda step: abs(step - value))


def _precision(figures: Figures, thresholds: Thresholds) -> None:
    correct, refused = _share(figures.correct), _share(figures.incorrect)
    upper, lower = words.score(thresholds.upper), words.score(thresholds.lower)
    st.markdown(
        f":green[:material/check_circle:] From **{upper}** on, {correct} of the questions are answered.  \n"
        f":red[:material/cancel:] Below **{lower}**, {refused} of them are not."
    )


def _share(share: Share) -> str:
    if share.value is None:
        return f"nothing (n = {share.n})"
    return f"**{share.value:.0%}** {words.grey(f'{share.low:.0%} to {share.high:.0%}, n = {share.n:,}')}"


def _table(figures: Figures) -> str:
    """Return the share of each action for both kinds of question as a Markdown table."""
    return "\n".join(
        [
            "| Question | correct | ambiguous | refused |",
            "|---|--:|--:|--:|",
            _row("Answered", figures.answerable),
            _row("Not answered", figures.unanswerable),
        ]
    )


def _row(name: str, outcomes: Outcomes) -> str:
    shares = " | ".join(f"{outcomes.shares[action]:.1%}" for action in ("correct", "ambiguous", "incorrect"))
    return f"| {name} {words.grey(f'{outcomes.n:,}')} | {shares} |"


def _keep(measured: Calibration, thresholds: Thresholds) -> None:
    st.caption("Precision counts both kinds as equally frequent; the ranges hold 95% of bootstrap samples.")
    kept = application().calibration.load(measured.collection, measured.grader)
    with st.container(horizontal=True, vertical_alignment="center"):
        if kept == thresholds:
            st.markdown(":green[:material/check_circle:] In use", width="content")
        elif st.button("Use these thresholds", icon=":material/check:", key="use-thresholds"):
            _save(measured, thresholds)


def _save(measured: Calibration, thresholds: Thresholds) -> None:
    try:
        application().calibration.save(measured, thresholds)
    except CragError as error:
        st.markdown(f":red[{markdown.label(str(error))}]")
    else:
        st.rerun()


def _past(past: Sequence[Past]) -> None:
    st.header("Past questions", anchor=False)
    if not past:
        st.caption("No question was judged here by this grader yet. Ask some, then see how they would have gone.")
        return
    changed = sum(one.changes for one in past)
    would = f"{words.count(changed, 'question')} would" if changed else "None would"
    st.caption(f"{would} go another way, of the last {len(past):,} that this grader judged here.")
    rows = sorted(past, key=lambda one: not one.changes)
    st.dataframe(
        _rows(rows),
        hide_index=True,
        alt="Past questions, their action then and now",
        key="past-questions",
        column_config={
            "Question": st.column_config.TextColumn(width=300),
            "Score": st.column_config.NumberColumn(format="%.2f"),
        },
    )


def _rows(past: Sequence[Past]) -> dict[str, list[Any]]:
    return {
        "Question": [markdown.visible(one.question) for one in past],
        "Score": [one.best for one in past],
        "Then": [one.then or "" for one in past],
        "Now": [one.now or "" for one in past],
        "": ["changes" if one.changes else "" for one in past],
    }
