"""One run in detail: head, state, path, timeline, verdicts and nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from crag.errors import NotFound
from crag.model_calls import ModelCall
from crag.runs import Trace
from pages.inspect import comparing, head, moves, nodes, path, revising, timing, verdicts
from pages.parts import dialogs, markdown, refusals, sharing, steps
from pages.parts.person import person
from pages.parts.resources import application

_LOOK_AGAIN_SECONDS = 1.0
_DIALOGS: dict[str, Callable[[Any], None]] = {
    moves.SOURCE: moves.open_source,
    moves.REVISE: revising.draw,
    moves.COMPARE: comparing.draw,
    moves.SHARE: sharing.draw_share,
}


def draw(run_id: str) -> None:
    """Draw a run, every second until it ends; report one that was deleted or belongs to another user as missing."""
    try:
        application().conversations.of_run(run_id, person())
        trace = application().runs.trace(run_id)
    except NotFound:
        st.title("This answer is no longer there", anchor=False)
        st.caption("It was deleted, or it belongs to another browser. Choose another run.")
        return
    refusals.tell()
    dialogs.draw(_DIALOGS)
    if trace.state == "running":
        st.fragment(_draw_live, run_every=_LOOK_AGAIN_SECONDS)(run_id)
        return
    calls = application().runs.calls(run_id)
    _draw(run_id, trace, calls)
    st.fragment(nodes.draw)(run_id, trace, calls)


def _draw_live(run_id: str) -> None:
    trace = application().runs.trace(run_id)
    if trace.state != "running":
        st.rerun()
    calls = application().runs.calls(run_id)
    _draw(run_id, trace, calls)
    nodes.draw(run_id, trace, calls)


def _draw(run_id: str, trace: Trace, calls: Sequence[ModelCall]) -> None:
    """Draw everything above the nodes."""
    head.draw(run_id, trace, calls)
    _tell_state(run_id, trace)
    left, right = st.columns([2, 3], gap="large")
    with left:
        path.draw(trace)
    with right:
        timing.draw(trace, calls)
        verdicts.draw(run_id, trace)


def _tell_state(run_id: str, trace: Trace) -> None:
    """Draw the state of a run that is not done, and what to do about it."""
    match trace.state:
        case "running":
            st.markdown(steps.under_way(trace))
        case "waiting":
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown("**It waits for you**: may its query go to the web?", width="content")
                if st.button("Decide in the chat", icon=":material/forum:"):
                    moves.open_chat(run_id)
        case "failed":
            st.markdown(f":red[:material/error:] **{markdown.label(trace.error)}**  \n{markdown.answer(trace.remedy)}")
        case "stopped":
            st.caption(":material/stop_circle: Stopped by you. What it had come to is kept.")
        case "interrupted":
            st.caption(":material/stop_circle: The application was closed meanwhile. What it had come to is kept.")
