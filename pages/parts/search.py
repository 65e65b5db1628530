"""The field that narrows a list as one types."""

from __future__ import annotations

import streamlit as st


def search_field(label: str, key: str | None = None, width: int | None = None, *, keep: bool = False) -> str:
    """Draw it, as wide as its place or so many pixels; what is sought, without spaces around it.

    With `keep`, which needs a `key`, it is still there after one was on another page.
    """
    typed = st.text_input(
        label,
        type="search",
        icon=":material/search:",
        placeholder=label,
        label_visibility="collapsed",
        live=True,  # a time in words would load pandas
        key=key,
        width=width or "stretch",
        persist_state="session" if keep else None,
    )
    return (typed or "").strip()
