"""Compare page: two runs side by side, as versions of one answer or as any two answers."""

from __future__ import annotations

import streamlit as st

from crag.errors import NotFound
from pages.compare import columns, summary, tables
from pages.compare.sides import Side, both
from pages.parts import heading, markdown

_CHAT = "pages/chat/page.py"
_LOOK_AGAIN_SECONDS = 1.0


def main() -> None:
    """Draw the page for the runs in the query parameters."""
    run_ids = st.query_params.get("a", ""), st.query_params.get("b", "")
    try:
        sides = both(run_ids)
    except NotFound:
        _head("Compare")
        _tell_gone()
        return
    _head(_title(*sides))
    heading.legend("What is compared", {side.name: side.detail for side in sides})
    unfinished = any(side.on_its_way for side in sides)
    st.fragment(_draw, run_every=_LOOK_AGAIN_SECONDS if unfinished else None)(run_ids, unfinished)


def _title(one: Side, other: Side) -> str:
    return one.trace.question if one.trace.question == other.trace.question else "Two questions"


def _head(title: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.title(markdown.label(title, 160), anchor=False, width="content")
        if st.button("Back to the chat", icon=":material/forum:", type="tertiary"):
            st.switch_page(_CHAT)


def _draw(run_ids: tuple[str, str], unfinished: bool) -> None:
    """Draw both runs; repeat while one of them is unfinished, then once more in full."""
    try:
        sides = both(run_ids)
    except NotFound:  # deleted while the page was open
        _tell_gone()
        return
    if unfinished and not any(side.on_its_way for side in sides):
        st.rerun()
    summary.draw(*sides)
    columns.draw(*sides)
    names, traces = (sides[0].name, sides[1].name), (sides[0].trace, sides[1].trace)
    left, right = st.columns(2, gap="large")
    with left:
        st.header("Settings", anchor=False)
        tables.draw_settings(names, *traces)
        st.header("Verdicts", anchor=False)
        tables.draw_verdicts(names, *traces)
    with right:
        st.header("Time, tokens and the web", anchor=False)
        tables.draw_costs(names, *traces)


def _tell_gone() -> None:
    st.caption("One of the two answers is no longer there. Choose *Compare* below an answer, or a run in *Inspect*.")


main()
