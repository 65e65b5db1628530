"""The list of conversations: searched, grouped by age, the open one with its menu."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import groupby

import streamlit as st

from crag.errors import CragError
from crag.types import Conversation
from pages.chat import state
from pages.parts import markdown
from pages.parts.person import person
from pages.parts.resources import application
from pages.parts.search import search_field

_SHOWN = 100
_RENAME = ":material/edit: Rename"
_DELETE = ":material/delete: Delete"


def draw() -> None:
    """Search, then the conversations, the latest first."""
    search = search_field("Search conversations", "conversation_search")
    found = application().conversations.list(search, person())
    current = st.session_state.get("conversation")
    if not found:
        st.caption("Nothing found." if search else "Your conversations will be listed here.")
    for group, members in _groups(found[:_SHOWN]):
        st.caption(group)
        with st.container(gap="xxsmall"):
            for conversation in members:
                _row(conversation, current=conversation.id == current)
    if len(found) > _SHOWN:
        st.caption(f"{len(found) - _SHOWN:,} more: search to find them.")


def _groups(found: list[Conversation]) -> Iterator[tuple[str, list[Conversation]]]:
    today = datetime.now(UTC).astimezone().date()

    def age(conversation: Conversation) -> str:
        day = datetime.fromtimestamp(conversation.updated_at, UTC).astimezone().date()
        if day >= today:
            return "Today"
        return "This week" if day > today - timedelta(days=7) else "Earlier"

    for name, members in groupby(found, key=age):
        yield name, list(members)


def _row(conversation: Conversation, *, current: bool) -> None:
    title = markdown.label(conversation.title, 100)
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", wrap=False):
        with st.container():
            st.button(
                f"**{title}**" if current else title,
                key=f"open-{conversation.id}",
                type="tertiary",
                wrap=False,
                on_click=_open,
                args=(conversation.id,),
            )
        if current:
            key = f"edit-{conversation.id}"
            st.menu_button(
                "Edit", [_RENAME, _DELETE], key=key, type="tertiary", on_click=_edit, args=(key, conversation)
            )


def _open(conversation_id: str) -> None:
    state.open_conversation(conversation_id)


def _edit(key: str, conversation: Conversation) -> None:
    st.session_state.editing = (st.session_state[key], conversation.id)


def draw_dialog() -> None:
    """The dialog of the menu, when one was chosen."""
    choice, conversation_id = st.session_state.get("editing") or ("", "")
    try:
        conversation = application().conversations.get(conversation_id, person())
    except CragError:
        _close()
        return
    if choice == _RENAME:
        st.dialog("Rename the conversation", on_dismiss=_close)(_rename)(conversation)
    else:
        st.dialog("Delete the conversation?", on_dismiss=_close)(_delete)(conversation)


def _rename(conversation: Conversation) -> None:
    with st.form("rename", border=False):  # Enter in the field renames, too
        title = st.text_input("Title", value=conversation.title, max_chars=80)
        sent = st.form_submit_button("Rename", icon=":material/check:")
    if sent and title and title.strip():
        application().conversations.rename(conversation.id, title)
        _close()
        st.rerun()


def _delete(conversation: Conversation) -> None:
    st.markdown(f"**{markdown.label(conversation.title)}** goes with its questions, answers and traces.")
    with st.container(horizontal=True):
        if st.button("Delete it", icon=":material/delete:"):
            application().delete_conversation(conversation.id)
            state.open_conversation(None)
            _close()
            st.rerun()
        if st.button("Keep it", type="tertiary"):
            _close()
            st.rerun()


def _close() -> None:
    st.session_state.pop("editing", None)
