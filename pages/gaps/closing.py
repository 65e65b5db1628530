"""Closing of a coverage gap, with undo."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.parts import markdown
from pages.parts.resources import application

_CLOSED = "gap_closed"


def close(topic: str, run_ids: Sequence[str]) -> None:
    """Take a gap off the list."""
    application().gaps.close(run_ids)
    st.session_state[_CLOSED] = (topic, run_ids)


def draw_undo() -> None:
    """Offer to reopen the last closed gap, as long as this page is open."""
    if _CLOSED not in st.session_state:
        return
    topic, run_ids = st.session_state[_CLOSED]
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f":gray[:material/check:] “{markdown.label(topic, 80)}” is off the list.", width="content")
        st.button("Undo", icon=":material/undo:", type="tertiary", on_click=_reopen, args=(run_ids,))


def _reopen(run_ids: Sequence[str]) -> None:
    application().gaps.reopen(run_ids)
    st.session_state.pop(_CLOSED, None)
