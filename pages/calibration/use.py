"""The thresholds in use: by collection and grader, each with the way back to the grader's own."""

from __future__ import annotations

import streamlit as st

from crag.calibration.values import Kept
from pages.parts import markdown, words
from pages.parts.resources import application


def draw() -> None:
    """One row each; nothing where every grader judges by its own."""
    kept = application().calibration.all()
    if not kept:
        return
    st.header("In use", anchor=False)
    with st.container(border=True, gap="xsmall"):
        for one in kept:
            _row(one)


def _row(one: Kept) -> None:
    where = markdown.label(one.collection, 80) if one.collection else "All documents"
    facts = f"{words.score(one.thresholds.lower)} and {words.score(one.thresholds.upper)} · {words.day(one.made_at)}"
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.markdown(f"{where} · {words.grader_label(one.grader)} {words.grey(facts)}", width="content")
        st.button(
            "Back to the grader's own",
            icon=":material/undo:",
            type="tertiary",
            key=f"forget-{one.collection}-{one.grader}",
            on_click=_forget,
            args=(one,),
        )


def _forget(one: Kept) -> None:
    application().calibration.forget(one.collection, one.grader)
