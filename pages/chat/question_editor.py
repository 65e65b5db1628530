"""A question in the conversation, its editor and its branches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from crag.text import sanitization
from crag.text.formatting import format_done, format_number
from crag.translation import _
from crag.types import Message
from pages.chat import questions, state
from pages.chat.questions import edit_question, show_branch
from pages.chat.versions import open_comparison
from pages.parts import markdown
from pages.parts.services import application
from pages.parts.session import is_phone

_LINES_SHOWN = 8
_CHARACTERS_SHOWN = 700
_FULL_TEXT_HEIGHT = 420


def question_message() -> DeltaGenerator:
    """Return an empty chat message of the user, to be filled."""
    return st.chat_message("user", avatar=":material/person:")


def draw_question_text(text: str, key: str) -> None:
    """Draw the question; the full text of a long one is sent to the browser only when opened."""
    head = shorten_question(text)
    st.markdown(markdown.escape_paragraphs(head), anchors=False)
    if head != text.strip():
        _draw_full_text(text, key)


def shorten_question(text: str) -> str:
    """Return the question, or the first lines of a long one with an ellipsis."""
    text = text.strip()
    head = "\n".join(text[:_CHARACTERS_SHOWN].split("\n")[:_LINES_SHOWN])
    return text if head == text else f"{head.rstrip()} …"


def _draw_full_text(text: str, key: str) -> None:
    folded = st.expander(
        _("Show all {text} characters").format(text=format_number(len(text))),
        type="compact",
        key=f"asked-{key}",
        on_change="rerun",
    )
    if folded.open:
        with folded:
            st.code(sanitization.strip_invisible(text), language=None, wrap_lines=True, height=_FULL_TEXT_HEIGHT)


_EDITOR_HEIGHT = 110


def draw_question(question: Message) -> None:
    """Draw a question with its branches, or its editor."""
    if state.edited_question_id() == question.id:
        _draw_editor(question)
    else:
        draw_question_text(question.text, str(question.id))
        questions.draw_question_attachments(question)
        _draw_branches(question)


def open_editor_key() -> str:
    """Return the widget key of the open editor; empty when nothing is edited."""
    message_id = state.edited_question_id()
    return "" if message_id is None else _editor_key(message_id)


def _draw_editor(question: Message) -> None:
    with draw_editor(_editor_key(question.id), question.text):
        st.form_submit_button(_("Ask"), icon=":material/check:", on_click=_save_edit, args=(question.id,))
        st.form_submit_button(_("Cancel"), type="tertiary", on_click=state.stop_editing)
        st.caption(_("The original question and everything after it are kept as another version."), width="content")


@contextmanager
def draw_editor(key: str, text: str) -> Iterator[None]:
    """Draw a form with the question in a text area of this widget key; its buttons are drawn inside the context."""
    with st.form(f"form-{key}", border=False, enter_to_submit=not is_phone()):  # phones have no Ctrl+Enter
        st.text_area(
            _("Edit the question"),
            value=text,
            max_chars=sanitization.MAX_QUESTION_LENGTH,
            key=key,
            height=_EDITOR_HEIGHT,
            label_visibility="collapsed",
        )
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            yield


def _save_edit(message_id: int) -> None:
    edit_question(message_id, st.session_state[_editor_key(message_id)] or "")
    state.stop_editing()


def _editor_key(message_id: int) -> str:
    return f"edited-{message_id}"


def _draw_branches(question: Message) -> None:
    """Draw the position of this question among its variants, with buttons to the others."""
    branches = question.branches
    if len(branches) < 2:
        return
    at = branches.index(question.id)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        place = format_done(at + 1, len(branches))
        st.caption(
            place if is_phone() else _("Question {place}").format(place=place), width="content"
        )  # a phone has no room for more
        _draw_branch_button(_("Previous question"), ":material/chevron_left:", question, branches[at - 1 : at])
        _draw_branch_button(_("Next question"), ":material/chevron_right:", question, branches[at + 1 : at + 2])
        if not is_phone():
            _draw_compare_button(question, branches[max(at, 1) - 1 : max(at, 1) + 1])


def _draw_compare_button(question: Message, pair: Sequence[int]) -> None:
    """Draw the button that compares the answers to this question and the previous variant.

    For the first variant, compare the first two.
    """
    if not st.button(
        _("Compare"), icon=":material/compare_arrows:", type="tertiary", key=f"compare-branches-{question.id}"
    ):
        return
    one, other = (application().conversations.find_answer_run(message_id) for message_id in pair)
    if one and other:
        open_comparison(one, other)


def _draw_branch_button(word: str, icon: str, question: Message, to: Sequence[int]) -> None:
    st.button(
        word,
        icon=icon,
        type="tertiary",
        disabled=not to,
        key=f"branch-{question.id}-{word}",
        on_click=show_branch,
        args=(question.conversation_id, *to),
    )
