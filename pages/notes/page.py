"""Notes page: all notes of the user, newest first."""

from __future__ import annotations

from crag.translation import N_, _
from pages.parts import dialogs, layout, notes
from pages.parts.routes import Page
from pages.parts.services import application

_MEANING = N_("What you kept: answers and passages with their sources, and notes of your own.")


def main() -> None:
    """Draw the page."""
    layout.draw_heading(Page.NOTES, _(_MEANING))
    dialogs.draw_open_dialog(notes.NOTE_DIALOGS)
    search = layout.draw_search_field(_("Search notes"), "note_search")
    notes.draw_notes(application().notes.list(search))


main()
