"""Editor of an earlier question, and the branches of the conversation that edits create."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from crag.types import Message
from pages.chat import asked, attachments, state
from pages.chat.questions import ask_otherwise, show_branch
from pages.chat.versions import open_comparison
from pages.parts.device import is_phone
from pages.parts.resources import application

_HEIGHT = 110


def draw(question: Message) -> None:
    """Draw a question with its branches, or its editor."""
    with asked.message():
        if state.edited() == question.id:
            _editor(question)
        else:
            asked.draw_text(question.text, str(question.id))
            attachments.draw(question)
            _branches(question)


def begin(message_id: int) -> None:
    """Open the editor of this question."""
    st.session_state.edited = message_id


def field() -> str:
    """Return the widget key of the open editor; empty when nothing is edited."""
    message_id = state.edited()
    return "" if message_id is None else _key(message_id)


def _editor(question: Message) -> None:
    with st.form(f"edit-{question.id}", border=False, enter_to_submit=not is_phone()):  # phones have no Ctrl+Enter
        st.text_area(
            "Edit the question",
            value=question.text,
            key=_key(question.id),
            height=_HEIGHT,
            label_visibility="collapsed",
        )
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.form_submit_button("Save and run", icon=":material/check:", on_click=_save, args=(question.id,))
            st.form_submit_button("Cancel", type="tertiary", on_click=_cancel)
            st.caption("What stands here now is kept as another branch.", width="content")


def _save(message_id: int) -> None:
    if ask_otherwise(message_id, st.session_state[_key(message_id)] or ""):
        _cancel()


def _cancel() -> None:
    st.session_state.pop("edited", None)


def _key(message_id: int) -> str:
    return f"edited-{message_id}"


def _branches(question: Message) -> None:
    """Draw the position of this question among its variants, with buttons to the others."""
    branches = question.branches
    if len(branches) < 2:
        return
    at = branches.index(question.id)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        place = f"{at + 1} of {len(branches)}"
        st.caption(place if is_phone() else f"Question {place}", width="content")  # a phone has no room for more
        _way("Previous question", ":material/chevron_left:", question, branches[at - 1 : at])
        _way("Next question", ":material/chevron_right:", question, branches[at + 1 : at + 2])
        if not is_phone():
            _compare(question, branches[max(at, 1) - 1 : max(at, 1) + 1])


def _compare(question: Message, pair: Sequence[int]) -> None:
    """Draw the button that compares the answers to this question and the previous variant.

    For the first variant, compare the first two.
    """
    if not st.button(
        "Compare", icon=":material/compare_arrows:", type="tertiary", key=f"compare-branches-{question.id}"
    ):
        return
    one, other = (application().conversations.run_of(message_id) for message_id in pair)
    if one and other:
        open_comparison(one, other)


def _way(word: str, icon: str, question: Message, to: Sequence[int]) -> None:
    st.button(
        word,
        icon=icon,
        type="tertiary",
        disabled=not to,
        key=f"branch-{question.id}-{word}",
        on_click=show_branch,
        args=(question.conversation_id, *to),
    )
