"""Two answers side by side: one question under two settings, or two versions of one answer, and all that differs."""

from __future__ import annotations

import streamlit as st

from crag.errors import NotFound
from crag.runs import Trace
from crag.types import Version
from pages.compare import columns, tables
from pages.parts import markdown
from pages.parts.person import person
from pages.parts.resources import application

_CHAT = "pages/chat/page.py"
_LOOK_AGAIN_SECONDS = 1.0
_ON_ITS_WAY = ("running", "waiting")


def main() -> None:
    """Draw the page for the runs that the address names."""
    run_ids = st.query_params.get("a", ""), st.query_params.get("b", "")
    try:
        traces = _traces(run_ids)
    except NotFound:
        _head("Compare")
        _tell_gone()
        return
    _head(traces[0].question)
    unfinished = any(trace.state in _ON_ITS_WAY for trace in traces)
    st.fragment(_draw, run_every=_LOOK_AGAIN_SECONDS if unfinished else None)(run_ids, unfinished)


def _head(title: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.title(markdown.label(title, 160), anchor=False, width="content")
        if st.button("Back to the chat", icon=":material/forum:", type="tertiary"):
            st.switch_page(_CHAT)


def _draw(run_ids: tuple[str, str], unfinished: bool) -> None:
    """Both runs as they stand; drawn again while one of them is not done, and then once more for good."""
    try:
        traces = _traces(run_ids)
        versions = [_version(run_id) for run_id in run_ids]
    except NotFound:  # deleted while it was looked at
        _tell_gone()
        return
    if unfinished and not any(trace.state in _ON_ITS_WAY for trace in traces):
        st.rerun()
    columns.draw(versions, traces)
    names = f"Version {versions[0].number}", f"Version {versions[1].number}"
    left, right = st.columns(2, gap="large")
    with left:
        st.header("Settings", anchor=False)
        tables.draw_settings(names, *traces)
        st.header("Verdicts", anchor=False)
        tables.draw_verdicts(names, *traces)
    with right:
        st.header("Time, tokens and the web", anchor=False)
        tables.draw_costs(names, *traces)


def _version(run_id: str) -> Version:
    """Raises `NotFound`."""
    return next(version for version in application().runs.versions(run_id) if version.run_id == run_id)


def _tell_gone() -> None:
    st.caption("One of the two answers is no longer there. Choose *Compare* below an answer that has two versions.")


def _traces(run_ids: tuple[str, str]) -> tuple[Trace, Trace]:
    """Raises `NotFound`, also for answers of other people and one named twice: its card cannot be there twice."""
    if run_ids[0] == run_ids[1]:
        raise NotFound("There is one answer only.")
    for run_id in run_ids:
        application().conversations.of_run(run_id, person())
    one, other = (application().runs.trace(run_id) for run_id in run_ids)
    return one, other


main()
