"""Feedback on an answer: a thumb and, for thumbs down, a reason; both can be changed or withdrawn."""

from __future__ import annotations

import streamlit as st

from crag.types import Feedback
from pages.parts import dialogs, markdown, refusals
from pages.parts.resources import application

WHY = "why"  # the dialog
_REASON_LENGTH = 500


def draw_thumbs(run_id: str, given: Feedback | None) -> None:
    """Draw both thumbs; pressing the chosen one again withdraws the feedback."""
    default = None if given is None else int(given.helpful)
    st.feedback("thumbs", key=f"thumbs-{run_id}", default=default, on_change=_thumb, args=(run_id,))


def draw_reason(run_id: str, given: Feedback | None) -> None:
    """Draw the user's reason for a thumbs down."""
    if given is None or given.helpful:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        text = f"You said: “{markdown.label(given.reason, 160)}”" if given.reason else "You found it not helpful."
        st.caption(text, width="content")
        st.button(
            "Change" if given.reason else "Say why",
            icon=":material/edit:",
            type="tertiary",
            key=f"why-{run_id}",
            on_click=_ask_why,
            args=(run_id,),
        )


def ask_why(run_id: str) -> None:
    """Draw the dialog that asks what was wrong with the answer."""
    st.dialog("What was wrong?", on_dismiss=dialogs.close)(_reason)(run_id)


def _reason(run_id: str) -> None:
    given = application().conversations.feedback(run_id)
    with st.form("why", border=False):
        reason = st.text_area(
            "What was wrong?",
            value=given.reason if given else "",
            height=90,
            max_chars=_REASON_LENGTH,
            placeholder="For example: it leaves out the second cause",
            label_visibility="collapsed",
        )
        submitted = st.form_submit_button("Keep", icon=":material/check:")
    if submitted:
        with refusals.kept():
            application().conversations.give_feedback(run_id, helpful=False, reason=reason or "")
        dialogs.close_and_redraw()


def _thumb(run_id: str) -> None:
    value = st.session_state[f"thumbs-{run_id}"]
    if value is None:
        application().conversations.withdraw_feedback(run_id)
        return
    with refusals.kept():
        application().conversations.give_feedback(run_id, bool(value))
        if value == 0:
            _ask_why(run_id)


def _ask_why(run_id: str) -> None:
    dialogs.ask(WHY, run_id)
