"""Actions on a conversation: rename, pin, export, delete with undo, import."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import streamlit as st

from crag.conversations.purging import UNDO_SECONDS
from crag.errors import NotFound
from crag.types import Conversation
from pages.chat import state
from pages.parts import dialogs, markdown, refusals, sharing
from pages.parts.person import person
from pages.parts.resources import application

_RENAME = ":material/edit: Rename"
_PIN = ":material/keep: Pin"
_UNPIN = ":material/keep_off: Unpin"
_EXPORT = ":material/download: Export…"
_DELETE = ":material/delete: Delete"
_DELETED = "deleted"
_RENAMING, _EXPORTING, _IMPORTING = "rename a conversation", "export a conversation", "import a conversation"


def draw(conversation: Conversation) -> None:
    """Draw the menu of the open conversation."""
    key = f"edit-{conversation.id}"
    choices = [_RENAME, _UNPIN if conversation.pinned else _PIN, _EXPORT, _DELETE]
    st.menu_button("Edit", choices, key=key, type="tertiary", on_click=_choose, args=(key, conversation))


def draw_undo() -> None:
    """Draw the row that undoes a deletion, until another action or the deadline."""
    conversation_id, title, at = st.session_state.get(_DELETED, ("", "", 0.0))
    if time.time() - at >= UNDO_SECONDS:
        return
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", wrap=False):
        st.caption(f"Deleted “{markdown.label(title, 100)}”", wrap=False)
        st.button("Undo", icon=":material/undo:", type="tertiary", on_click=_undo, args=(conversation_id,))


def draw_import() -> None:
    """Draw the import button."""
    st.button("Import", icon=":material/upload:", type="tertiary", on_click=dialogs.ask, args=(_IMPORTING,))


def _choose(key: str, conversation: Conversation) -> None:
    st.session_state.pop(_DELETED, None)
    match st.session_state[key]:
        case chosen if chosen == _DELETE:
            _delete(conversation)
        case chosen if chosen in (_PIN, _UNPIN):
            with suppress(NotFound):  # deleted elsewhere; the next draw no longer lists it
                application().conversations.pin(conversation.id, pinned=not conversation.pinned)
        case chosen:
            dialogs.ask(_EXPORTING if chosen == _EXPORT else _RENAMING, conversation.id)


def _delete(conversation: Conversation) -> None:
    application().delete_conversation(conversation.id)
    state.open_conversation(None)
    st.session_state[_DELETED] = (conversation.id, conversation.title, time.time())


def _undo(conversation_id: str) -> None:
    application().conversations.restore(conversation_id)
    state.open_conversation(conversation_id)


def _draw_renaming(conversation_id: str) -> None:
    try:
        conversation = application().conversations.get(conversation_id, person())
    except NotFound:
        dialogs.close()
        return
    st.dialog("Rename the conversation", on_dismiss=dialogs.close)(_rename)(conversation)


def _rename(conversation: Conversation) -> None:
    with st.form("rename", border=False):  # a form, so that Enter in the field renames
        title = st.text_input("Title", value=conversation.title, max_chars=80)
        sent = st.form_submit_button("Rename", icon=":material/check:")
    if sent and title and title.strip():
        with refusals.kept():
            application().conversations.rename(conversation.id, title)
        dialogs.close_and_redraw()


def _draw_import(_: None) -> None:
    sharing.draw_import(lambda taken: state.open_conversation(taken.id))


DIALOGS: dict[str, Callable[[Any], None]] = {
    _RENAMING: _draw_renaming,
    _EXPORTING: sharing.draw_export,
    _IMPORTING: _draw_import,
}
