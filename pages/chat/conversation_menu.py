"""What is done with a conversation of the list: renamed, pinned, handed over, deleted and taken back, taken in."""

from __future__ import annotations

import time
from contextlib import suppress

import streamlit as st

from crag.conversations.purging import UNDO_SECONDS
from crag.errors import CragError, NotFound
from crag.types import Conversation
from pages.chat import state
from pages.parts import markdown, refusals, sharing
from pages.parts.person import person
from pages.parts.resources import application

_RENAME = ":material/edit: Rename"
_PIN = ":material/keep: Pin"
_UNPIN = ":material/keep_off: Unpin"
_EXPORT = ":material/download: Export…"
_DELETE = ":material/delete: Delete"
_IMPORT = "import"
DIALOG = "conversation_dialog"
_DELETED = "deleted"


def draw(conversation: Conversation) -> None:
    """The menu of the conversation that is open."""
    key = f"edit-{conversation.id}"
    choices = [_RENAME, _UNPIN if conversation.pinned else _PIN, _EXPORT, _DELETE]
    st.menu_button("Edit", choices, key=key, type="tertiary", on_click=_choose, args=(key, conversation))


def draw_undo() -> None:
    """The row that takes a deletion back, until something else is done or it is too late."""
    conversation_id, title, at = st.session_state.get(_DELETED, ("", "", 0.0))
    if time.time() - at >= UNDO_SECONDS:
        return
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", wrap=False):
        st.caption(f"Deleted “{markdown.label(title, 100)}”", wrap=False)
        st.button("Undo", icon=":material/undo:", type="tertiary", on_click=_undo, args=(conversation_id,))


def draw_import() -> None:
    """The way to take a conversation in."""
    st.button("Import", icon=":material/upload:", type="tertiary", on_click=_begin, args=(_IMPORT, ""))


def draw_dialog() -> None:
    """The dialog of what was chosen."""
    choice, conversation_id = st.session_state[DIALOG]
    if choice == _IMPORT:
        sharing.draw_import(lambda taken: state.open_conversation(taken.id), _close)
        return
    try:
        conversation = application().conversations.get(conversation_id, person())
    except CragError:
        _close()
        return
    if choice == _EXPORT:
        sharing.draw_export(conversation.id, _close)
    else:
        st.dialog("Rename the conversation", on_dismiss=_close)(_rename)(conversation)


def _choose(key: str, conversation: Conversation) -> None:
    st.session_state.pop(_DELETED, None)
    match st.session_state[key]:
        case chosen if chosen == _DELETE:
            _delete(conversation)
        case chosen if chosen in (_PIN, _UNPIN):
            with suppress(NotFound):  # deleted elsewhere: the list no longer shows it
                application().conversations.pin(conversation.id, pinned=not conversation.pinned)
        case chosen:
            _begin(chosen, conversation.id)


def _begin(choice: str, conversation_id: str) -> None:
    st.session_state[DIALOG] = (choice, conversation_id)


def _delete(conversation: Conversation) -> None:
    application().delete_conversation(conversation.id)
    state.open_conversation(None)
    st.session_state[_DELETED] = (conversation.id, conversation.title, time.time())


def _undo(conversation_id: str) -> None:
    application().conversations.restore(conversation_id)
    state.open_conversation(conversation_id)


def _rename(conversation: Conversation) -> None:
    with st.form("rename", border=False):  # Enter in the field renames, too
        title = st.text_input("Title", value=conversation.title, max_chars=80)
        sent = st.form_submit_button("Rename", icon=":material/check:")
    if sent and title and title.strip():
        with refusals.kept():
            application().conversations.rename(conversation.id, title)
        _close()
        st.rerun()


def _close() -> None:
    st.session_state.pop(DIALOG, None)
