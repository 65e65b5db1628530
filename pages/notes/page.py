"""Notes page: all notes of the user, newest first."""

from __future__ import annotations

import streamlit as st

from crag.translation import N_, _
from crag.types import Citation
from pages.parts import dialogs, layout, notes, source_drawer
from pages.parts.routes import Page
from pages.parts.services import application

_SOURCE_KEY = "note_source"
_MEANING = N_("What you kept: answers and passages with their sources, and notes of your own.")


def main() -> None:
    """Draw the page."""
    layout.draw_heading(Page.NOTES, _(_MEANING))
    dialogs.draw_open_dialog(notes.NOTE_DIALOGS)
    search = layout.draw_search_field(_("Search notes"), "note_search")
    found = application().notes.list(search)
    notes.draw_notes(found, _open_source)
    if not (found or search):
        st.caption(_("To keep an answer, choose *More*, *Keep as a note* below it."))
    if view := st.session_state.get(_SOURCE_KEY):
        source_drawer.open_passage(view, _close_source)


def _open_source(cited: Citation) -> None:
    st.session_state[_SOURCE_KEY] = source_drawer.SourceView("", cited.passage_id, cited.quote)


def _close_source() -> None:
    st.session_state.pop(_SOURCE_KEY, None)


main()
