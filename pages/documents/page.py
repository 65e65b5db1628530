"""Documents page: add documents, follow ingestion, browse and remove."""

from __future__ import annotations

import streamlit as st

from crag.library.web.site import SiteLimits
from pages.documents import collections, exchange, moving, refresh, table
from pages.parts import adding, dialogs, jobs
from pages.parts.resources import application

DIALOGS = {
    collections.NEW: collections.draw_new,
    collections.RENAME: collections.draw_rename,
    collections.DELETE: collections.draw_delete,
    exchange.EXPORT: exchange.draw_export,
    exchange.IMPORT: exchange.draw_import,
    moving.MOVE: moving.draw_dialog,
    refresh.REFRESH: refresh.draw_dialog,
    table.REMOVE: table.draw_dialog,
}
_SITE = SiteLimits()
_WITH_LINKS = (
    f"At most {_SITE.pages} pages of the same site, one link away. What the site asks programs not to read "
    "(robots.txt) is left out, and said."
)


def main() -> None:
    """Draw the page."""
    collection = collections.draw()
    _head()
    _add(collection)
    jobs.draw()
    table.draw(collection)
    dialogs.draw(DIALOGS)


def _head() -> None:
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.title("Documents", anchor=False, width="content")
        if application().library.counts()[0]:
            with st.container(horizontal=True, width="content"):
                if st.button("What is missing", icon=":material/content_paste_search:"):
                    st.switch_page("pages/gaps/page.py")
                if st.button("Try retrieval", icon=":material/manage_search:"):
                    st.switch_page("pages/retrieval/page.py")
                if st.button("Calibrate", icon=":material/straighten:"):
                    st.switch_page("pages/calibration/page.py")
                st.button("Refresh all", icon=":material/sync:", on_click=dialogs.ask, args=(refresh.REFRESH,))


def _add(collection: str) -> None:
    files, addresses = st.columns(2, gap="medium")
    with files:
        adding.uploader("Add files", collection)
    with addresses:
        with st.container(horizontal=True, vertical_alignment="bottom"):
            st.text_area(
                "Add web pages, one address a line",
                height=68,
                placeholder="https://example.com/report",
                key="addresses",
            )
            st.button("Add", icon=":material/add_link:", on_click=_add_addresses, args=(collection,))
        st.checkbox("Also what it links to on this site", key="with_links", help=_WITH_LINKS)


def _add_addresses(collection: str) -> None:
    remembered = st.session_state
    if adding.add_addresses(remembered.addresses, collection, _SITE if remembered.with_links else None):
        remembered.addresses, remembered.with_links = "", False


main()
