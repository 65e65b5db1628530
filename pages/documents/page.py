"""The documents: add, watch them being read, look at what is there, remove."""

from __future__ import annotations

import streamlit as st

from pages.documents import collections, refresh, table
from pages.parts import adding, jobs
from pages.parts.resources import application


def main() -> None:
    """Draw the page."""
    collection = collections.draw()
    _head()
    _add(collection)
    jobs.draw()
    table.draw(collection)
    _draw_dialog()


def _draw_dialog() -> None:
    """At most one thing lies over the page."""
    remembered = st.session_state
    if "new_collection" in remembered:
        collections.draw_dialog()
    elif "removing" in remembered:
        table.draw_dialog()
    elif "refreshing" in remembered:
        refresh.draw_dialog()


def _head() -> None:
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.title("Documents", anchor=False, width="content")
        if application().library.counts()[0]:
            st.button("Refresh all", icon=":material/sync:", on_click=refresh.ask)


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
