"""Inspect page: a filtered list of runs in the sidebar, and one run or an overview of all runs."""

from __future__ import annotations

import streamlit as st

from crag.inspection.archive import Facets
from pages.inspect import chosen, filters, listing, overview, run
from pages.parts.device import is_phone
from pages.parts.person import person
from pages.parts.resources import application


def main() -> None:
    """Draw the page; on a phone, which has no open sidebar, draw either the run or the list."""
    application().archive.begin()
    run_id, found = chosen.run_id(), application().archive.facets(person())
    if is_phone():
        _draw_on_phone(found, run_id)
        return
    with st.sidebar:
        listing.draw(filters.draw(found, run_id), run_id)
    if run_id:
        run.draw(run_id)
    else:
        overview.draw(found)


def _draw_on_phone(found: Facets, run_id: str) -> None:
    laid_open, runs = st.empty(), st.empty()  # separate placeholders, so that the old view disappears at once
    if run_id:
        with laid_open.container():
            st.button("All runs", icon=":material/arrow_back:", type="tertiary", on_click=chosen.leave)
            run.draw(run_id)
        return
    with runs.container():
        st.title("Inspect", anchor=False)
        overview.draw_way_to_gaps()
        listing.draw(filters.draw(found, run_id), run_id)


main()
