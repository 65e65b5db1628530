"""Document table with filters, and the dialogs that remove, move and refresh documents."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import streamlit as st

from crag.errors import CragError, NotFound
from crag.library.library import MAX_TITLE_LENGTH
from crag.text import sanitization
from crag.text.formatting import format_count, format_location, format_number, format_size, to_local_time
from crag.translation import N_, _, translate_text
from crag.types import AddResult, MoveResult, Progress, Source
from pages.chat.state import start_conversation_about
from pages.documents.removal import REMOVE_DIALOG
from pages.parts import dialogs, document_drawer, labels, layout, markdown, reruns, source_drawer
from pages.parts.address import open_page
from pages.parts.ingest_jobs import draw_refusals, summarize_results
from pages.parts.routes import Page
from pages.parts.services import application
from pages.parts.session import is_phone

MOVE_DIALOG = "move documents"
_MOVED_KEY, _REFRESHED_KEY = "move_results", "refresh_results"
_MOVE_RESULT_TEXT = {
    "merged": N_("was already there, so only one copy is kept"),
    "kept": N_("was not moved: another version is already there. Remove one of them first"),
}


def draw_move_dialog(source_ids: list[str]) -> None:
    """Ask for the target collection, then move."""
    title = _("Move {documents}").format(documents=format_count(len(source_ids), "document"))
    st.dialog(title, icon=":material/drive_file_move:", on_dismiss=_close_move_dialog)(_draw_move_form)(source_ids)


def _close_move_dialog() -> None:
    st.session_state.pop(_MOVED_KEY, None)
    dialogs.close_dialog()


def _draw_move_form(source_ids: list[str]) -> None:
    if _MOVED_KEY in st.session_state:
        _draw_move_report(st.session_state[_MOVED_KEY])
        return
    names = [collection.name for collection in application().library.collections()]
    with st.form("move", border=False):
        name = st.selectbox(
            _("Collection"), names, index=None, accept_new_options=True, placeholder=_("Choose, or type a new name")
        )
        sent = st.form_submit_button(_("Move"), icon=":material/drive_file_move:")
    if not sent or not name:
        return
    try:
        moved = application().library.move(source_ids, name)
    except CragError as error:
        dialogs.draw_error(error)
        return
    if all(one.status == "moved" for one in moved):
        _close_move_dialog()
    else:
        st.session_state[_MOVED_KEY] = moved
    st.rerun()


def _draw_move_report(moved: list[MoveResult]) -> None:
    count = format_count(sum(one.status == "moved" for one in moved), "document")
    st.markdown(_("{documents} moved.").format(documents=count))
    for one in moved:
        if one.status in _MOVE_RESULT_TEXT:
            st.caption(f"**{markdown.escape_line(one.title, 80)}** {_(_MOVE_RESULT_TEXT[one.status])}.")
    if st.button(_("Close")):
        _close_move_dialog()
        st.rerun()


RENAME_DIALOG = "rename document"
_RENAMED_KEY = "renamed_document"


def draw_rename_dialog(source_ids: list[str]) -> None:
    """Draw the dialog that gives a document another title."""
    try:
        source = application().library.source(source_ids[0])
    except CragError:  # removed elsewhere
        dialogs.close_dialog()
        return
    _draw_rename_form(source)


@dialogs.dialog(N_("Rename document"), icon=":material/edit:")
def _draw_rename_form(source: Source) -> None:
    own = source.own_title or source.title
    with st.form("rename-document", border=False):  # a form, so that Enter in the field renames
        title = st.text_input(
            _("Title"), value=source.title, max_chars=MAX_TITLE_LENGTH, placeholder=sanitization.to_one_line(own)
        )
        st.caption(
            _("Lists and answers show this title. The file keeps its name: {location}").format(
                location=markdown.escape_line(format_location(source.location), 200)
            )
        )
        sent = st.form_submit_button(_("Rename"), icon=":material/check:")
    if not sent:
        return
    try:
        renamed = application().library.rename(source.id, title or "")
    except CragError as error:
        dialogs.draw_error(error)
        return
    if renamed.title != source.title:
        st.session_state[_RENAMED_KEY] = (source, renamed.title)
    dialogs.close_and_rerun()


def draw_rename_undo() -> None:
    """Draw the row that gives the document renamed last its title back, until it is renamed again or removed."""
    if _RENAMED_KEY not in st.session_state:
        return
    before, title = st.session_state[_RENAMED_KEY]
    with suppress(NotFound):
        if application().library.source(before.id).title == title:
            _draw_rename_undo(before, title)
            return
    del st.session_state[_RENAMED_KEY]


def _draw_rename_undo(before: Source, title: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        old, new = (f"**{markdown.escape_line(one, 80)}**" for one in (before.title, title))
        st.markdown(_(":gray[:material/edit:] Renamed {old} to {new}.").format(old=old, new=new), width="content")
        st.button(
            _("Undo"), icon=":material/undo:", type="tertiary", key="undo-rename", on_click=_undo_rename, args=(before,)
        )


def _undo_rename(before: Source) -> None:
    st.session_state.pop(_RENAMED_KEY, None)
    application().library.rename(before.id, before.title if before.own_title else "")


REFRESH_DIALOG = "refresh documents"


def _close_refresh_dialog() -> None:
    st.session_state.pop(_REFRESHED_KEY, None)
    dialogs.close_dialog()


@dialogs.dialog(N_("Refresh"), icon=":material/sync:", on_dismiss=_close_refresh_dialog)
def draw_refresh_dialog(source_ids: list[str] | None) -> None:
    """Refresh these documents, or all, with progress; closing the dialog stops between two documents."""
    if _REFRESHED_KEY not in st.session_state:
        bar = st.progress(0.0, text=_("Starting"))

        def show(progress: Progress) -> None:
            bar.progress(
                layout.progress_share(progress.done, progress.total),
                text=markdown.escape_line(translate_text(progress.stage), 80),
            )

        with reruns.let_others_draw():
            st.session_state[_REFRESHED_KEY] = application().library.pipeline.refresh(source_ids, progress=show)
        bar.empty()
    results: list[AddResult] = st.session_state[_REFRESHED_KEY]
    summary = summarize_results(results) or _("nothing to refresh")
    st.markdown(
        _("{documents} refreshed: {summary}.").format(documents=format_count(len(results), "document"), summary=summary)
    )
    draw_refusals(results)
    if st.button(_("Close")):
        _close_refresh_dialog()
        st.rerun()


DOCUMENT_DIALOG = "document"
_ALL_KINDS = N_("All kinds")
_OPEN_LABEL = N_(":material/visibility: Open")
_ROW_ACTIONS = {
    N_(":material/edit: Rename"): RENAME_DIALOG,
    N_(":material/sync: Refresh"): REFRESH_DIALOG,
    N_(":material/drive_file_move: Move"): MOVE_DIALOG,
    N_(":material/delete: Remove"): REMOVE_DIALOG,
}
_ROW_HEIGHT = 35
_MAX_HEIGHT = 400
_MOST_ROWS = 1_000  # sent to the browser at once: 270 bytes each


def draw_document_table(collection: str) -> None:
    """Draw the documents of a collection, or all if it is empty."""
    sources = application().library.sources(collection)
    if not sources:
        st.caption(_("No documents yet. Add files or web addresses above."))
        return
    matching = _filter_documents(sources)
    if not matching:
        st.caption(_("No documents match."))
        return
    shown = matching[:_MOST_ROWS]
    # Streamlit keeps a selection by row number, so another set of rows needs another key.
    key = f"documents-{hash(tuple(source.id for source in shown))}"
    state: Any = st.dataframe(
        _table_data(shown),
        key=key,
        hide_index=True,
        placeholder="",
        on_select="rerun",
        selection_mode="multi-row",
        height=min(_MAX_HEIGHT, len(shown) * _ROW_HEIGHT + _ROW_HEIGHT + 3) if len(shown) < 12 else "auto",
        alt=_("Table of {documents}").format(documents=format_count(len(shown), "document")),
        column_config=_column_config(shown),
    )
    if len(shown) < len(matching):
        counts = {"shown": format_number(len(shown)), "documents": format_count(len(matching), "document")}
        st.caption(_("The newest {shown} of {documents}. Find others by name.").format(**counts))
    chosen = [shown[row] for row in state.selection.rows if row < len(shown)]
    if chosen:
        _draw_actions([source.id for source in chosen])


def _draw_actions(ids: list[str]) -> None:
    """Draw the actions on the selected documents; the keyboard does not reach those in the rows."""

    def name_action(of_one: str, of_several: str) -> str:
        return _(of_one) if len(ids) == 1 else _(of_several).format(named=format_count(len(ids), "document"))

    with st.container(horizontal=True):
        if len(ids) == 1:
            st.button(_("Open"), icon=":material/visibility:", on_click=_open_document, args=(ids[0],))
            dialogs.draw_opener(_("Rename"), ":material/edit:", RENAME_DIALOG, ids)
        if st.button(name_action(N_("Ask only this document"), N_("Ask only {named}")), icon=":material/filter_alt:"):
            start_conversation_about(ids)
            open_page(Page.CHAT)
        dialogs.draw_opener(name_action(N_("Move"), N_("Move {named}")), ":material/drive_file_move:", MOVE_DIALOG, ids)
        dialogs.draw_opener(name_action(N_("Remove"), N_("Remove {named}")), ":material/delete:", REMOVE_DIALOG, ids)


def _open_document(source_id: str) -> None:
    dialogs.open_dialog(DOCUMENT_DIALOG, document_drawer.DocumentView(source_id))


def _filter_documents(sources: list[Source]) -> list[Source]:
    kinds = sorted({_kind_label(source) for source in sources})
    with st.container(horizontal=True):  # both on the left: the toolbar of the table covers the right end
        wanted = layout.draw_search_field(_("Find a document"), width=320)
        kind = st.selectbox(_("Kind"), [_(_ALL_KINDS), *kinds], label_visibility="collapsed", width=160)
    needle = wanted.casefold()
    return [
        source
        for source in sources
        if needle in f"{source.title} {source.location}".casefold() and kind in {_(_ALL_KINDS), _kind_label(source)}
    ]


def _kind_label(source: Source) -> str:
    from_web = source.kind == "html" and source.location.startswith(("http://", "https://"))
    kind = _(
        labels.DOCUMENT_KINDS["web"] if from_web else labels.DOCUMENT_KINDS.get(source.kind, source.kind.capitalize())
    )
    return f"{kind} · {_(source_drawer.FOUND_BY_WEB_SEARCH)}" if source.found_on_web else kind


_NAME_WIDTH = 150  # pixels


def _title_width() -> int:
    return 190 if is_phone() else 200


def _table_data(sources: list[Source]) -> dict[str, list[Any]]:
    """Return the table columns: few on a phone; “Found for” only if a page was added for a question.

    “Collection” is left out where it would say the same in each row. All but the actions must then fit beside the
    sidebar on a screen of 1280 pixels.
    """
    name = {_("Document"): [layout.fit_cell(source.title, _title_width()) for source in sources]}
    actions = {_("Actions"): [[_(_OPEN_LABEL), *map(_, _ROW_ACTIONS)] for _unused in sources]}
    if is_phone():  # further columns would need horizontal scrolling
        return name | {_("Pages"): [source.pages for source in sources]} | actions
    questions = [sanitization.strip_invisible(source.found_by) for source in sources]
    has_several = len({source.collection for source in sources}) > 1
    collections = [layout.fit_cell(source.collection, _NAME_WIDTH) for source in sources]
    return {
        **name,
        _("Kind"): [_kind_label(source) for source in sources],
        _("Added"): [to_local_time(source.added_at).date() for source in sources],
        _("File or address"): [layout.fit_cell(format_location(source.location), _NAME_WIDTH) for source in sources],
        **({_("Found for"): questions} if any(questions) else {}),
        **({_("Collection"): collections} if has_several else {}),
        _("Pages"): [source.pages for source in sources],
        _("Passages"): [source.passages for source in sources],
        _("Size"): [format_size(source.size) for source in sources],
        **actions,
    }


def _column_config(sources: list[Source]) -> dict[str, Any]:
    click = "document_action"

    def clicked() -> None:
        chosen = st.session_state[click]
        source_id = sources[chosen.row].id
        if chosen.label == _(_OPEN_LABEL):
            _open_document(source_id)
        else:
            actions = {_(label): dialog for label, dialog in _ROW_ACTIONS.items()}
            dialogs.open_dialog(actions[chosen.label], [source_id])

    return {
        _("Document"): layout.link_column(
            lambda row: _open_document(sources[row].id), "opened_document", _title_width()
        ),
        _("Kind"): st.column_config.TextColumn(width=84),
        _("File or address"): st.column_config.TextColumn(width=_NAME_WIDTH),
        _("Collection"): st.column_config.TextColumn(width=_NAME_WIDTH),
        _("Pages"): st.column_config.NumberColumn(format="localized", width=60),
        _("Passages"): st.column_config.NumberColumn(format="localized", width=60),
        _("Size"): st.column_config.TextColumn(alignment="right", width=56),
        _("Added"): st.column_config.DateColumn(format=_("D MMM YYYY"), width=96),
        _("Actions"): st.column_config.ButtonColumn(key=click, on_click=clicked, type="tertiary"),
    }
