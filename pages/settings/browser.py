"""Key by which a browser finds its conversations, and how to take over those of another browser."""

from __future__ import annotations

import streamlit as st

from pages.parts.person import is_remembered, person

_OWN = "Conversations that begin in this browser are shown in no other. It is known by this key:"
_WHO_HAS_IT = "Whoever has the key can read the conversations: show it to nobody you would not show those."
_NOT_REMEMBERED = (
    ":orange[:material/info:] This browser keeps no cookie, so its conversations are gone from here once this tab is"
    " closed. Allow cookies for this page, then reload it."
)
_TAKING_OVER = """
After cookies were cleared, or to go on in this browser with what began in another: on the server, list all
conversations, then hand over those you name, or every one with `--all`.
"""


def draw() -> None:
    """Draw the key, if each browser has its own conversations."""
    key = person()
    if key is None:
        return
    with st.container(gap=None):
        st.header("This browser", anchor=False)
        with st.container(border=True):
            st.markdown(_OWN)
            st.code(key, language=None)
            st.caption(_WHO_HAS_IT)
            if not is_remembered():
                st.markdown(_NOT_REMEMBERED)
            with st.expander("Take over conversations of another browser", type="compact"):
                st.markdown(_TAKING_OVER)
                st.code(f"python -m crag conversations list\npython -m crag conversations give --to={key} ID", None)
