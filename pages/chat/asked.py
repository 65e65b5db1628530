"""Text of a question in the conversation; long ones are shortened."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.parts import markdown

_LINES = 8
_CHARACTERS = 700
_HEIGHT = 420


def message() -> DeltaGenerator:
    """Return an empty chat message of the user, to be filled."""
    return st.chat_message("user", avatar=":material/person:")


def draw_text(text: str, key: str) -> None:
    """Draw the question; the full text of a long one is sent to the browser only when opened."""
    head = beginning(text)
    st.markdown(markdown.paragraphs(head), anchors=False)
    if head != text.strip():
        _rest(text, key)


def beginning(text: str) -> str:
    """Return the question, or the first lines of a long one with an ellipsis."""
    text = text.strip()
    head = "\n".join(text[:_CHARACTERS].split("\n")[:_LINES])
    return text if head == text else f"{head.rstrip()} …"


def _rest(text: str, key: str) -> None:
    folded = st.expander(f"Show all {len(text):,} characters", type="compact", key=f"asked-{key}", on_change="rerun")
    if folded.open:
        with folded:
            st.code(markdown.visible(text), language=None, wrap_lines=True, height=_HEIGHT)
