"""Document table with filters, and the dialog that removes documents."""

from __future__ import annotations

from typing import Any

import streamlit as st

from crag.moments import local
from crag.types import Source
from pages.chat import state as chat
from pages.documents import moving, refresh
from pages.parts import dialogs, found, markdown, words
from pages.parts.device import is_phone
from pages.parts.resources import application
from pages.parts.search import search_field

REMOVE = "remove documents"
_ALL_KINDS = "All kinds"
_ROW_ACTIONS = {
    ":material/sync: Refresh": refresh.REFRESH,
    ":material/drive_file_move: Move": moving.MOVE,
    ":material/delete: Remove": REMOVE,
}
_NAMED = 8
_ROW_HEIGHT = 35
_MOST_ROWS = 400


def draw(collection: str) -> None:
    """Draw the documents of a collection, or all if it is empty."""
    sources = application().library.sources(collection)
    if not sources:
        st.caption("Nothing here yet: add files or addresses above.")
        return
    shown = _filtered(sources)
    if not shown:
        st.caption("No document matches.")
        return
    # Streamlit keeps a selection by row number, so another set of rows needs another key.
    key = f"documents-{hash(tuple(source.id for source in shown))}"
    state: Any = st.dataframe(
        _rows(shown),
        key=key,
        hide_index=True,
        placeholder="",
        on_select="rerun",
        selection_mode="multi-row",
        height=min(_MOST_ROWS, len(shown) * _ROW_HEIGHT + _ROW_HEIGHT + 3) if len(shown) < 12 else "auto",
        alt=f"Table of {words.count(len(shown), 'document')}",
        column_config=_columns(shown),
    )
    chosen = [shown[row] for row in state.selection.rows if row < len(shown)]
    if chosen:
        _draw_actions([source.id for source in chosen])


def _draw_actions(ids: list[str]) -> None:
    """Draw the actions on the selected documents."""
    named = words.count(len(ids), "document")
    with st.container(horizontal=True):
        if st.button(f"Ask only {named}", icon=":material/filter_alt:"):
            chat.ask_only(ids)
            st.switch_page("pages/chat/page.py")
        st.button(f"Move {named}", icon=":material/drive_file_move:", on_click=dialogs.ask, args=(moving.MOVE, ids))
        st.button(f"Remove {named}", icon=":material/delete:", on_click=dialogs.ask, args=(REMOVE, ids))


def _filtered(sources: list[Source]) -> list[Source]:
    kinds = sorted({_kind(source) for source in sources})
    with st.container(horizontal=True, horizontal_alignment="distribute"):
        wanted = search_field("Find a document", width=320)
        kind = st.selectbox("Kind", [_ALL_KINDS, *kinds], label_visibility="collapsed", width=160)
    needle = wanted.casefold()
    return [
        source
        for source in sources
        if needle in f"{source.title} {source.location}".casefold() and kind in {_ALL_KINDS, _kind(source)}
    ]


def _kind(source: Source) -> str:
    from_web = source.kind == "html" and source.location.startswith(("http://", "https://"))
    kind = words.KINDS["web"] if from_web else words.KINDS.get(source.kind, source.kind.capitalize())
    return f"{kind} · {found.SIGN}" if source.found_by else kind


def _rows(sources: list[Source]) -> dict[str, list[Any]]:
    """Return the table columns: few on a phone; “Found for” only if a page was added for a question."""
    name = {"Document": [markdown.visible(source.title) for source in sources]}
    actions = {"Actions": [[*_ROW_ACTIONS] for _ in sources]}
    if is_phone():  # further columns would need horizontal scrolling
        return name | {"Pages": [source.pages for source in sources]} | actions
    questions = found.questions(sources)
    found_for = {
        "Found for": [markdown.visible(source.found_by) if source.found_by in questions else "" for source in sources]
    }
    return {
        **name,
        "Kind": [_kind(source) for source in sources],
        **(found_for if questions else {}),
        "Collection": [markdown.visible(source.collection) for source in sources],
        "Pages": [source.pages for source in sources],
        "Passages": [source.passages for source in sources],
        "Size": [words.size(source.size) for source in sources],
        "Added": [local(source.added_at).date() for source in sources],
        **actions,
    }


def _columns(sources: list[Source]) -> dict[str, Any]:
    click = "document_action"

    def clicked() -> None:
        chosen = st.session_state[click]
        ids = [sources[chosen.row].id]
        dialogs.ask(_ROW_ACTIONS[chosen.label], ids)

    return {
        "Document": st.column_config.TextColumn(width=190 if is_phone() else 360),
        "Pages": st.column_config.NumberColumn(format="localized", width=60),
        "Passages": st.column_config.NumberColumn(format="localized"),
        "Size": st.column_config.TextColumn(alignment="right"),
        "Added": st.column_config.DateColumn(format="D MMM YYYY"),
        "Actions": st.column_config.ButtonColumn(key=click, on_click=clicked, type="tertiary"),
    }


def draw_dialog(ids: list[str]) -> None:
    """Ask for confirmation, with the names of the documents to remove."""
    sources = [source for source in application().library.sources() if source.id in set(ids)]
    if not sources:
        return
    title = f"Remove {words.count(len(sources), 'document')}?"
    st.dialog(title, icon=":material/delete:", on_dismiss=dialogs.close)(_remove)(sources)


def _remove(sources: list[Source]) -> None:
    for source in sources[:_NAMED]:
        st.markdown(f"**{markdown.label(source.title, 120)}** {words.grey(words.count(source.passages, 'passage'))}")
    if len(sources) > _NAMED:
        st.caption(f"and {len(sources) - _NAMED:,} more")
    st.caption("They go from this library with all their passages. Answers that cite them stay as they are.")
    with st.container(horizontal=True):
        if st.button("Remove", icon=":material/delete:", key="remove-confirmed"):
            application().library.remove([source.id for source in sources])
            dialogs.close_and_redraw()
        if st.button("Keep", type="tertiary"):
            dialogs.close_and_redraw()
