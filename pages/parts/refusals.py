"""What was refused just now, kept until the page is drawn: what a callback draws would not be seen."""

from __future__ import annotations

import streamlit as st

from pages.parts import markdown

_KEY = "refused"


def keep(reason: object) -> None:
    """Remember why, as an error or as text, to be told with the next drawing."""
    st.session_state[_KEY] = str(reason)


def tell() -> None:
    """Tell it once."""
    if reason := st.session_state.pop(_KEY, None):
        st.toast(markdown.label(reason), icon=":material/error:", duration="long")
