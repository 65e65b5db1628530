"""Documents page: add documents, follow ingestion, browse and remove."""

from __future__ import annotations

import streamlit as st

from crag.ingest.site import SiteLimits
from crag.translation import N_, _
from pages.documents import collections, removal, table, watched_folders
from pages.parts import dialogs, document_drawer, document_intake, ingest_jobs, labels, layout
from pages.parts.address import open_page
from pages.parts.routes import Page
from pages.parts.services import application
from pages.parts.session import is_phone

DIALOGS = {
    collections.NEW_DIALOG: collections.draw_new_dialog,
    collections.RENAME_DIALOG: collections.draw_rename_dialog,
    collections.DELETE_DIALOG: collections.draw_delete_dialog,
    collections.SHARE_DIALOG: collections.draw_share_dialog,
    collections.EXPORT_DIALOG: collections.draw_export_dialog,
    collections.IMPORT_DIALOG: collections.draw_import_dialog,
    table.RENAME_DIALOG: table.draw_rename_dialog,
    table.MOVE_DIALOG: table.draw_move_dialog,
    table.REFRESH_DIALOG: table.draw_refresh_dialog,
    removal.REMOVE_DIALOG: removal.draw_remove_dialog,
    watched_folders.FOLDERS_DIALOG: watched_folders.draw_folders_dialog,
    table.DOCUMENT_DIALOG: document_drawer.draw_document,
}
_MAX_ADDRESSES_LENGTH = 100_000  # characters
_ADD_BOX_WIDTH = 432  # pixels: two side by side on a screen of 1440 pixels, below each other on a smaller one
_SITE_DEFAULTS = SiteLimits()
_WITH_LINKS_HELP = N_(
    "Up to {pages} pages of the same site, one link away. Pages that its robots.txt excludes are skipped and listed."
)


def main() -> None:
    """Draw the page."""
    drawn = _read_revision()
    collection = collections.draw_collections()
    _draw_head()
    layout.draw_sidebar_opener(labels.collection_label(collection))
    if is_phone():
        with st.expander(_("Add documents"), expanded=not application().library.counts()[0]):
            _draw_add_form(collection)
    else:
        _draw_add_form(collection)
    table.draw_document_table(collection)
    table.draw_rename_undo()
    removal.draw_undo()  # below the table, like the jobs, so that neither moves it under the pointer
    ingest_jobs.draw_jobs()
    dialogs.draw_open_dialog(DIALOGS)
    if not dialogs.is_dialog_open():
        layout.watch_other_tabs(drawn, _read_revision)


def _read_revision() -> tuple[object, ...]:
    """Return a value that changes when another tab or the command line changes what this page shows."""
    library = application().library
    jobs, watched = application().jobs.jobs(), application().watched_folders.revision()
    return *library.revision(), len(library.removed()), len(jobs), watched


def _draw_head() -> None:
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.title(Page.DOCUMENTS.title, anchor=False, width="content")
        with st.container(horizontal=True, width="content"):
            watched_folders.draw_opener()
            if application().library.counts()[0]:
                if st.button(_("Coverage gaps"), icon=Page.GAPS.icon):
                    open_page(Page.GAPS)
                if st.button(Page.RETRIEVAL.title, icon=Page.RETRIEVAL.icon):
                    open_page(Page.RETRIEVAL)
                if st.button(Page.CALIBRATION.title, icon=Page.CALIBRATION.icon):
                    open_page(Page.CALIBRATION)
                dialogs.draw_opener(_("Refresh all"), ":material/sync:", table.REFRESH_DIALOG)


def _draw_add_form(collection: str) -> None:
    if collection and application().library.access(collection) == "read":
        st.caption(_("You may only read this collection. Its owner can let you add documents."))
        return
    boxes = st.container(horizontal=True, gap="medium")
    with boxes.container(width=_ADD_BOX_WIDTH):
        document_intake.draw_uploader(_("Add files"), collection)
        ingest_jobs.draw_jobs_notice(_("below the table"))
    with boxes.container(width=_ADD_BOX_WIDTH):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            st.text_area(
                _("Add web pages, one address per line"),
                height=68,
                max_chars=_MAX_ADDRESSES_LENGTH,
                placeholder="https://example.com/report",
                key="addresses",
            )
            st.button(_("Add"), icon=":material/add_link:", on_click=_add_addresses, args=(collection,))
        st.checkbox(
            _("Include linked pages on this site"),
            key="with_links",
            help=_(_WITH_LINKS_HELP).format(pages=_SITE_DEFAULTS.pages),
        )


def _add_addresses(collection: str) -> None:
    remembered = st.session_state
    if document_intake.add_addresses(
        remembered.addresses, collection, _SITE_DEFAULTS if remembered.with_links else None
    ):
        remembered.addresses, remembered.with_links = "", False


main()
