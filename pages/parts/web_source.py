"""Web page in the source drawer: address, fetch date, and the menu that adds it to a collection."""

from __future__ import annotations

import streamlit as st

from crag.errors import CragError
from crag.types import Passage
from pages.parts import markdown, words
from pages.parts.resources import application


def draw(run_id: str, passage: Passage) -> None:
    """Draw the address as plain text, the fetch date, and a menu of collections."""
    st.text(passage.location)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if moment := fetched_at(run_id):
            st.caption(f"Fetched {words.day(moment)}", width="content")
        key = f"keep-{run_id}-{passage.id}"
        st.menu_button(
            "Add this page to…",
            [collection.name for collection in application().library.collections()],
            format_func=lambda name: markdown.label(name, 60),
            icon=":material/library_add:",
            type="tertiary",
            key=key,
            on_click=_add,
            args=(key, run_id, passage.location),
        )


def fetched_at(run_id: str) -> float | None:
    """Return when the web was searched for a run, in epoch seconds; None if no query was sent.

    For a version that reused earlier results, return the time of the original search.
    """
    runs = application().runs
    trace = runs.trace(run_id)
    try:
        while not trace.query_sent and trace.parent:
            trace = runs.trace(trace.parent)
    except CragError:  # the parent version was deleted
        return None
    step = trace.step("web_search")
    return trace.started_at + step.started + (step.seconds or 0.0) if step and trace.query_sent else None


def _add(key: str, run_id: str, location: str) -> None:
    collection = st.session_state[key]
    try:
        application().gaps.add_page(location, collection, found_by=run_id)
    except CragError as error:
        st.toast(markdown.label(str(error)), icon=":material/error:", duration="long")
        return
    st.toast(f"The page is added to {markdown.label(collection, 60)}: see Documents.", icon=":material/library_add:")
