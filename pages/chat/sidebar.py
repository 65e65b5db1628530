"""Sidebar of the chat: the trace of the shown run, or the list of conversations."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from crag.runs.run import Run
from pages.chat import conversations, state
from pages.parts.device import is_phone
from pages.parts.resources import application
from pages.parts.trace import TraceDrawing, legend


def draw(active: Run | None, last_run: str | None) -> DeltaGenerator | None:
    """Draw the chosen view; return the place of the trace if it belongs to the active run."""
    with st.sidebar:
        with st.container(horizontal=True, vertical_alignment="center", wrap=False):
            view = st.segmented_control(
                "Show",
                [state.TRACE, state.CONVERSATIONS],
                key="sidebar_view",
                default=None if "sidebar_view" in st.session_state else _first(),
                required=True,
                label_visibility="collapsed",
                width="stretch",
                persist_state="session",
            )
            st.button("New", icon=":material/edit_square:", type="tertiary", on_click=_new)
        place = st.container(gap="small")
    if view == state.CONVERSATIONS:
        with place:
            conversations.draw()
        return None
    shown = st.session_state.get("shown_run") or last_run
    if active is not None and shown == active.id:
        return place
    with place:
        draw_trace(shown)
    return None


def draw_trace(run_id: str | None, prefix: str = "trace") -> None:
    """Draw the trace of a run, or the legend if there is none."""
    if run_id is None:
        legend()
    else:
        TraceDrawing(application().runs.trace(run_id), run_id, state.passage_opener(run_id), prefix).draw()


def _first() -> str:
    """Return the initial view; on a phone the trace has a drawer instead."""
    return state.CONVERSATIONS if is_phone() else state.TRACE


def _new() -> None:
    state.choose_conversation(None)
    st.session_state.sidebar_view = _first()
