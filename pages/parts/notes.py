"""Notes: keeping answers and passages, and the list of notes with its dialogs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from crag.conversations.conversation_list import remove_answer_markup
from crag.errors import CragError
from crag.text.formatting import format_count, format_date, format_place
from crag.translation import N_, _
from crag.types import Citation, Conversation, Passage
from pages.parts import dialogs, labels, markdown
from pages.parts.address import open_page
from pages.parts.layout import draw_file_download, draw_menu
from pages.parts.routes import Page
from pages.parts.services import application

if TYPE_CHECKING:
    from crag.sharing.notes import Note, Notes

_TEXT_LENGTH = 100_000
_NEW_KEY = "new_note"
_REMOVED_KEY = "removed_note"
_SHOWN_KEY = "notes_shown"
_PAGE_SIZE = 50  # a note may be as long as a document
_EDIT_DIALOG = "edit a note"
_EXPORT_DIALOG = "export notes"
_PREVIEW_LENGTH = 160
_PLACE_LENGTH = 90
_LINE_END = re.compile(r"(?<!\n)\n(?!\n)")  # people expect a line of their own where they wrote one


def keep_answer(run_id: str) -> None:
    """Keep an answer as a note; a callback."""
    application().notes.keep_answer(run_id)
    _say_kept()


def draw_keep_button(run_id: str, passage: Passage) -> None:
    """Draw the button that keeps a passage of a run as a note."""
    if run_id and st.button(
        _("Keep as a note"), icon=":material/note_add:", type="tertiary", on_click=_keep_passage, args=(run_id, passage)
    ):
        st.rerun()


def _keep_passage(run_id: str, passage: Passage) -> None:
    application().notes.keep_passage(run_id, passage)
    _say_kept()


def _say_kept() -> None:
    dialogs.keep_notice(_("Kept. Find it under “Notes” in the sidebar."), ":material/note_add:")


def draw_conversation_notes(conversation: Conversation | None) -> None:
    """Draw a field for a new note, and the notes of this conversation, each with its beginning."""
    conversation_id = conversation.id if conversation else ""
    with st.form("note", border=False):
        st.text_area(
            _("New note"),
            key=_NEW_KEY,
            height=90,
            max_chars=_TEXT_LENGTH,
            placeholder=_("Write a note"),
            label_visibility="collapsed",
        )
        st.form_submit_button(_("Add note"), icon=":material/add:", on_click=_add_note, args=(conversation_id,))
    _draw_undo()
    kept = application().notes.list(conversation_id=conversation_id) if conversation_id else []
    _draw_first_notes(kept, _draw_note_summary)
    if not kept:
        st.caption(_("Notes of this conversation appear here. To keep an answer, choose *More*, *Keep as a note*."))
    st.page_link(Page.NOTES.path, label=_("All notes"), icon=Page.NOTES.icon)


def _draw_note_summary(note: Note) -> None:
    with st.container(gap=None):
        title, key = markdown.escape_line(note.title, 100), f"note-{note.id}"
        st.button(title, type="tertiary", key=key, on_click=_open_editor, args=(note.id,))
        st.caption(markdown.escape_line(_preview(note), _PREVIEW_LENGTH))


def _preview(note: Note) -> str:
    return remove_answer_markup(note.text.replace("> ", "")).strip() or format_date(note.created_at)


def _add_note(conversation_id: str) -> None:
    application().notes.add(st.session_state[_NEW_KEY], conversation_id)
    st.session_state[_NEW_KEY] = ""


def _draw_note(note: Note, open_source: Callable[[Citation], None]) -> None:
    """Draw a whole note with its sources, which `open_source` opens, and actions."""
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            title = f"**{markdown.escape_line(note.title)}** {labels.grey_text(format_date(note.created_at))}"
            st.markdown(title, width="content")
            _draw_note_menu(note)
        text = note.text if note.sources else _LINE_END.sub("  \n", note.text)
        st.markdown(markdown.sanitize_answer(text))
        for cited in note.sources:
            _draw_source(note, cited, open_source)


def _draw_source(note: Note, cited: Citation, open_source: Callable[[Citation], None]) -> None:
    """Draw a source: a passage of a document as a button, a web page with its address."""
    if cited.origin == "web":
        st.caption(f"{cited.n} {markdown.escape_line(format_place(cited.title, cited.location))}")
        return
    place = markdown.escape_place(cited.title, cited.locator, _PLACE_LENGTH)
    st.button(
        f":blue[**{cited.n}**] :material/description: {place}",
        key=f"source-{note.id}-{cited.n}",
        type="tertiary",
        on_click=open_source,
        args=(cited,),
    )


def _draw_note_menu(note: Note) -> None:
    actions: dict[str, Callable[[], object]] = {N_(":material/edit: Edit"): partial(_open_editor, note.id)}
    if note.conversation_id:
        actions[N_(":material/forum: Open conversation")] = partial(open_page, Page.CHAT, c=note.conversation_id)
    actions |= {
        N_(":material/download: Export…"): partial(dialogs.open_dialog, _EXPORT_DIALOG, (note.id,)),
        N_(":material/delete: Remove"): partial(_remove, note),
    }
    draw_menu(_("More"), f"menu-{note.id}", actions)


def _open_editor(note_id: str) -> None:
    """Open a note as it is now: fields that change while somebody types in them lose what was typed."""
    dialogs.open_dialog(_EDIT_DIALOG, application().notes.get(note_id))


def _remove(note: Note) -> None:
    with dialogs.catch_refusals():
        st.session_state[_REMOVED_KEY] = application().notes.remove(note.id)


def _draw_undo() -> None:
    """Draw the row that keeps the note removed last again."""
    removed: Note | None = st.session_state.get(_REMOVED_KEY)
    if removed is None:
        return
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", wrap=False):
        st.caption(_("Removed “{title}”").format(title=markdown.escape_line(removed.title, 100)), wrap=False)
        st.button(_("Undo"), icon=":material/undo:", type="tertiary", on_click=_undo)


def _undo() -> None:
    if removed := st.session_state.pop(_REMOVED_KEY, None):
        application().notes.restore(removed)


def draw_notes(notes: Sequence[Note], open_source: Callable[[Citation], None]) -> None:
    """Draw the notes with their number, their export and the way to undo a removal; `open_source` opens a source."""
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.caption(format_count(len(notes), "note"), width="content")
        if notes:
            about = tuple(note.id for note in notes)
            dialogs.draw_opener(_("Export"), ":material/download:", _EXPORT_DIALOG, about, type="tertiary")
    _draw_undo()
    _draw_first_notes(notes, partial(_draw_note, open_source=open_source))


def _draw_first_notes(notes: Sequence[Note], draw: Callable[[Note], None]) -> None:
    """Draw the first notes, and a button that draws more."""
    shown = st.session_state.get(_SHOWN_KEY, _PAGE_SIZE)
    for note in notes[:shown]:
        draw(note)
    if len(notes) > shown:
        st.button(_("Show more"), icon=":material/expand_more:", type="tertiary", on_click=_show_more)


def _show_more() -> None:
    st.session_state[_SHOWN_KEY] = st.session_state.get(_SHOWN_KEY, _PAGE_SIZE) + _PAGE_SIZE


@dialogs.dialog(N_("Note"), icon=Page.NOTES.icon, width="large")
def _draw_edit_dialog(note: Note) -> None:
    with st.form("edit-note", border=False):
        title = st.text_input(_("Title"), value=note.title, max_chars=80)
        text = st.text_area(_("Text"), value=note.text, height=300, max_chars=_TEXT_LENGTH)
        with st.container(horizontal=True):
            saved = st.form_submit_button(_("Save"), icon=":material/check:")
            removed = st.form_submit_button(_("Remove"), icon=":material/delete:")
    if removed:
        _remove(note)
    if saved:
        try:
            application().notes.edit(note, title or "", text or "")
        except CragError as error:
            dialogs.draw_error(error)
            return
    if saved or removed:
        dialogs.close_and_rerun()


@dialogs.dialog(N_("Export notes"), icon=":material/download:")
def _draw_export_dialog(note_ids: Sequence[str]) -> None:
    for name, ending in (("Markdown", "md"), (_("Word"), "docx")):
        make = partial(_export, application().notes, note_ids, ending)
        draw_file_download(name, _("titles, texts and sources"), _("Notes"), ending, make, "notes")
    st.caption(_("Includes quoted passages of your documents, but no folders or keys."))


def _export(notes: Notes, note_ids: Sequence[str], ending: str) -> str | bytes:
    """Return the file; called outside of the session, when it is downloaded."""
    from crag.sharing.note_export import write_notes_markdown, write_notes_word  # Word's library loads slowly

    chosen = [note for note in notes.list() if note.id in note_ids]
    return write_notes_word(chosen) if ending == "docx" else write_notes_markdown(chosen)


NOTE_DIALOGS: dict[str, Callable[[Any], None]] = {
    _EDIT_DIALOG: _draw_edit_dialog,
    _EXPORT_DIALOG: _draw_export_dialog,
}
