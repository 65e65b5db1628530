"""Pin for a correct answer: Evaluate asks its question again and compares the answers."""

from __future__ import annotations

import streamlit as st

from crag.evaluate.datasets.pins import Pins, asked, suggested_reference
from crag.types import Feedback
from pages.parts import dialogs, markdown, pins, refusals
from pages.parts.person import person
from pages.parts.resources import application

DIALOG = "pin an answer"
PIN = ":material/quiz: Pin as a test question"
CHANGE = ":material/quiz: Change the test question"
_LONGEST = 20_000  # characters


def choice(run_id: str) -> str:
    """Return the entry of the menu below an answer."""
    return CHANGE if pins.has_answer(run_id) else PIN


def draw(run_id: str, given: Feedback | None) -> None:
    """Draw that an answer is pinned, or the button that pins one with thumbs up."""
    pinned = pins.has_answer(run_id)
    if not pinned and (given is None or not given.helpful):
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if pinned:
            st.caption(":material/quiz: Pinned as a test question", width="content")
        word, icon = ("Change", ":material/edit:") if pinned else ("Pin as a test question", ":material/quiz:")
        st.button(word, icon=icon, type="tertiary", key=f"pin-{run_id}", on_click=dialogs.ask, args=(DIALOG, run_id))


def draw_dialog(run_id: str) -> None:
    """Draw the dialog in which the reference answer is edited before it is pinned."""
    title = "Test question" if pins.has_answer(run_id) else "Pin as a test question"
    st.dialog(title, on_dismiss=dialogs.close)(_content)(run_id)


def _content(run_id: str) -> None:
    trace, pinned = application().runs.trace(run_id), pins.of_run(run_id)
    st.markdown(f"**{markdown.label(asked(trace), 400)}**")
    with st.form("pin", border=False):
        right = st.text_area(
            "Right answer",
            value=(pinned.reference if pinned.answer else suggested_reference(trace))[:_LONGEST],
            height=150,
            max_chars=_LONGEST,
            placeholder="The documents do not say" if trace.outcome == "not_answered" else "",
        )
        st.caption(_hint(pinned, refused=trace.outcome == "not_answered"))
        with st.container(horizontal=True):
            keep = st.form_submit_button("Keep" if pinned.answer else "Pin", icon=":material/check:", type="primary")
            forget = pinned.answer and st.form_submit_button("Unpin", icon=":material/close:")
    if keep or forget:
        with refusals.kept():
            _change(run_id, right or "", forget=forget)
        dialogs.close_and_redraw()


def _hint(pinned: Pins, *, refused: bool) -> str:
    if refused:
        return "Leave it empty where it is right not to answer."
    shorten = "Shorten it to what makes an answer right: other words around it do not matter."
    if pinned.known and not pinned.answer:
        return f"{shorten} It takes the place of what is pinned for this question already."
    return shorten


def _change(run_id: str, right: str, *, forget: bool) -> None:
    datasets = application().datasets
    if forget:
        datasets.unpin_answer(run_id, person())
    else:
        datasets.pin_answer(run_id, person(), right)
        st.toast("Pinned. Evaluate asks it again under “Pinned questions”.", icon=":material/quiz:")
