"""The documents: add, watch them being read, look at what is there, remove."""

from __future__ import annotations

import streamlit as st

from crag.types import AddResult
from pages.documents import collections, table
from pages.parts import adding, jobs, words
from pages.parts.resources import application


def main() -> None:
    """Draw the page."""
    collection = collections.draw()
    _head()
    _add(collection)
    jobs.draw()
    table.draw(collection)
    collections.draw_dialog()


def _head() -> None:
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.title("Documents", anchor=False, width="content")
        if application().library.counts()[0]:
            st.button("Refresh all", icon=":material/sync:", on_click=_refresh)


def _refresh() -> None:
    """Read every document again that can be read again, and say what came of it."""
    with st.spinner("Reading every document again"):
        results = application().library.refresh()
    st.toast(_summary(results), icon=":material/sync:", duration="long")


def _summary(results: list[AddResult]) -> str:
    counted = {
        "replaced": sum(result.status == "replaced" for result in results),
        "unchanged": sum(result.status == "unchanged" for result in results),
        "failed": sum(result.status == "failed" for result in results),
    }
    facts = [f"{number} {word}" for word, number in counted.items() if number]
    return f"Refreshed {words.count(len(results), 'document')}: {', '.join(facts) or 'nothing to do'}"


def _add(collection: str) -> None:
    files, addresses = st.columns(2, gap="large")
    with files:
        adding.uploader("Add files", collection)
    with addresses, st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_area(
            "Add web pages, one address a line",
            height=68,
            placeholder="https://example.com/report",
            key="addresses",
        )
        st.button("Add", icon=":material/add_link:", on_click=_add_addresses, args=(collection,))


def _add_addresses(collection: str) -> None:
    if adding.add_addresses(st.session_state.addresses, collection):
        st.session_state.addresses = ""


main()
