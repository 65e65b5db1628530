"""Thresholds in use by collection and grader, each with a button that restores the grader's own."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from crag.calibration.values import Kept
from crag.errors import CragError
from crag.options import RunOptions
from pages.parts import markdown, words
from pages.parts.resources import application


def draw() -> None:
    """Draw one row per saved thresholds, those of a changed grader apart; nothing if none are saved."""
    kept = application().calibration.all()
    outdated = [one for one in kept if _outdated(one)]
    _rows("In use", [one for one in kept if one not in outdated], "Back to the grader's own", ":material/undo:")
    _rows("No longer in use", outdated, "Forget", ":material/delete:")
    if outdated:
        st.caption("The grader has changed since, and judges by its own thresholds. Measure again to adjust them.")


def _outdated(one: Kept) -> bool:
    """Return whether it was measured on scores the built-in grader no longer gives: other coefficients or vectors."""
    if "builtin:" not in one.grader:
        return False
    try:
        now = application().judging(RunOptions(grader="builtin", collection=one.collection)).grader
    except CragError:
        return False
    return now not in one.grader


def _rows(title: str, kept: Sequence[Kept], back: str, icon: str) -> None:
    if not kept:
        return
    st.header(title, anchor=False)
    with st.container(border=True, gap="xsmall"):
        for one in kept:
            _row(one, back, icon)


def _row(one: Kept, back: str, icon: str) -> None:
    where = markdown.label(one.collection, 80) if one.collection else "All documents"
    facts = f"{words.score(one.thresholds.lower)} and {words.score(one.thresholds.upper)} · {words.day(one.made_at)}"
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.markdown(f"{where} · {words.grader_label(one.grader)} {words.grey(facts)}", width="content")
        st.button(
            back,
            icon=icon,
            type="tertiary",
            key=f"forget-{one.collection}-{one.grader}",
            on_click=_forget,
            args=(one,),
        )


def _forget(one: Kept) -> None:
    application().calibration.forget(one.collection, one.grader)
