"""List of keyboard shortcuts."""

from __future__ import annotations

import streamlit as st

from pages.settings.rows import Row

_KEYS = {
    "Send the question": "Enter",
    "New line in the question": "Shift + Enter",
    "Close what lies over the page; then stop the answer": "Esc",
    "Go to the next control, or back": "Tab · Shift + Tab",
    "Open what has the focus: a citation, a passage, a step": "Enter",
    "Switch on or off": "Space",
    "Move in a menu or list, or along a slider": "↑ ↓ ← →",
    "To the ends of a slider": "Home · End",
}


def all_rows() -> tuple[Row, ...]:
    """Return one row per shortcut."""
    return tuple(_row(does, keys) for does, keys in _KEYS.items())


def _row(does: str, keys: str) -> Row:
    return Row(f"keyboard key {does} {keys}", lambda: _draw(does, keys))


def _draw(does: str, keys: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", wrap=False):
        with st.container():
            st.markdown(does)
        st.markdown(" ".join(f"`{part}`" if part not in "·+" else part for part in keys.split(" ")), width="content")
