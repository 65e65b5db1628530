"""Search field that filters a list while typing."""

from __future__ import annotations

import streamlit as st


def search_field(label: str, key: str | None = None, width: int | None = None, *, keep: bool = False) -> str:
    """Draw a search field and return its text without surrounding spaces.

    `width` is in pixels; by default the field fills its container. With `keep`, which needs a `key`, the text
    survives a visit to another page.
    """
    typed = st.text_input(
        label,
        type="search",
        icon=":material/search:",
        placeholder=label,
        label_visibility="collapsed",
        live=True,  # a debounce time given as text would import pandas
        key=key,
        width=width or "stretch",
        persist_state="session" if keep else None,
    )
    return (typed or "").strip()
