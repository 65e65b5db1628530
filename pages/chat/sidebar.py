"""The sidebar of the chat: the trace of the run that is shown, or the list of conversations."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from crag.runs.run import Run
from pages.chat import conversations, state
from pages.parts.device import is_phone
from pages.parts.resources import application
from pages.parts.trace import TraceDrawing, legend


def draw(active: Run | None, last_run: str | None) -> DeltaGenerator | None:
    """Draw what is chosen; returns the place of the trace when the run that is answering now belongs there."""
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
    """The trace of a run, or the legend when there is none."""
    if run_id is None:
        legend()
    else:
        TraceDrawing(application().runs.trace(run_id), run_id, state.passage_opener(run_id), prefix).draw()


def _first() -> str:
    """What is shown at first; on a phone the trace has a drawer of its own."""
    return state.CONVERSATIONS if is_phone() else state.TRACE


def _new() -> None:
    state.choose_conversation(None)
    st.session_state.sidebar_view = _first()
