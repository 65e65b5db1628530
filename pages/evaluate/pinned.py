"""The questions that a person pinned: whether they still go as they did."""

from __future__ import annotations

import streamlit as st

from crag.evaluate.values import Plan, Variant
from pages.evaluate import chosen
from pages.parts import refusals, words
from pages.parts.person import person
from pages.parts.resources import application

_NONE = (
    "None yet. Say of an answer in the chat that it is right, or of a passage that it was the right one: its question "
    "is kept here, and asked again whenever you change something."
)


def draw() -> None:
    """The card: how many, and the way to ask them again."""
    with st.container(border=True):
        st.header("Your pinned questions", anchor=False)
        count = len(application().datasets.pinned(person()).examples)
        if not count:
            st.caption(_NONE)
            return
        st.markdown(f"**{words.count(count, 'question')}**")
        st.button("Run now", icon=":material/play_arrow:", key="run-pinned", on_click=_run)


def _run() -> None:
    app = application()
    variants = [Variant("", app.preferences.options())]
    plan = Plan(app.datasets.pinned(person()), variants, kind="regression", person=person() or "")
    with refusals.kept():
        chosen.open_evaluation(app.evaluations.begin(plan).id)
