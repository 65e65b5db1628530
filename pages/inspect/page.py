"""Inspect page: the list of runs, with one run or an overview of all runs."""

from __future__ import annotations

import streamlit as st

from crag.inspection.run_archive import RunFacets
from crag.translation import _
from pages.inspect import navigation, overview, run, run_list
from pages.parts.address import read_selections
from pages.parts.layout import draw_sidebar_opener
from pages.parts.routes import Page
from pages.parts.services import application
from pages.parts.session import is_phone


def main() -> None:
    """Draw the page; on a phone, which has no open sidebar, draw either the run or the list."""
    application().archive.summaries.begin()
    (run_id,), found = read_selections(navigation.RUN_SELECTION), application().archive.facets()
    if is_phone():
        _draw_on_phone(found, run_id)
        return
    if found.states:
        draw_sidebar_opener(_("All runs"))
    with st.sidebar:
        run_list.draw_run_list(run_list.draw_filters(found, run_id), run_id)
    if run_id:
        run.draw_run(run_id)
    else:
        overview.draw_overview(found)


def _draw_on_phone(found: RunFacets, run_id: str) -> None:
    laid_open, runs = st.empty(), st.empty()  # separate placeholders, so that the old view disappears at once
    if run_id:
        with laid_open.container():
            st.button(_("All runs"), icon=":material/arrow_back:", type="tertiary", on_click=navigation.show_overview)
            run.draw_run(run_id)
        return
    with runs.container():
        st.title(Page.INSPECT.title, anchor=False)
        overview.draw_gaps_button()
        run_list.draw_run_list(run_list.draw_filters(found, run_id), run_id)


main()
