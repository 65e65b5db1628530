"""List of conversations: searchable, pinned ones first, then newest first; the open one has a menu."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import groupby

import streamlit as st

from crag.conversations import Found
from crag.moments import local, today
from crag.types import Conversation
from pages.chat import conversation_menu, state
from pages.parts import markdown, words
from pages.parts.person import is_one_of_several, is_remembered, person
from pages.parts.resources import application
from pages.parts.search import search_field

_STEP = 50
_SHOWN = "conversations_shown"
_MENU_WIDTH = 60  # pixels; the automatic width is less than the button's, so the row would scroll
_ISOLATED = "\u2068", "\u2069"  # right-to-left titles would reorder the text beside them


def draw() -> None:
    """Draw undo for a deletion, search field, conversations, and the import button."""
    conversation_menu.draw_undo()
    search = search_field("Search conversations", "conversation_search")
    shown = st.session_state.get(_SHOWN, _STEP)
    found = application().conversations.find(search, person(), shown)
    _say_how_many(search, found)
    twice = {title for title, count in Counter(one.title for one in found.conversations).items() if count > 1}
    for group, members in _groups(found.conversations):
        with st.container(gap="xxsmall"):
            st.caption(group)
            for conversation in members:
                with st.container(gap=None):
                    _row(conversation, search, dated=conversation.title in twice)
                    if snippet := found.snippets.get(conversation.id):
                        st.caption(_marked(snippet.before, snippet.match, snippet.after))
    with st.container(horizontal=True):
        if found.total > shown:
            st.button("Show more", icon=":material/expand_more:", type="tertiary", on_click=_show_more)
        conversation_menu.draw_import()


def _say_how_many(search: str, found: Found) -> None:
    if search:
        st.caption(f"{words.count(found.total, 'conversation')} found." if found.total else "Nothing found.")
    elif not found.total:
        st.caption("Your conversations will be listed here.")
        if is_one_of_several():
            st.caption("Conversations of another browser are taken over in *Settings*, *Privacy*.")
    if not is_remembered():
        st.caption(":material/info: This browser keeps no cookie: they are listed until this tab is closed.")


def _groups(found: Sequence[Conversation]) -> Iterator[tuple[str, list[Conversation]]]:
    def group(conversation: Conversation) -> str:
        day = local(conversation.updated_at).date()
        if conversation.pinned:
            return "Pinned"
        if day >= today():
            return "Today"
        return "This week" if day > today() - timedelta(days=7) else "Earlier"

    for name, members in groupby(found, key=group):
        yield name, list(members)


def _row(conversation: Conversation, search: str, *, dated: bool) -> None:
    """Draw a conversation; `dated` adds its time, for titles that occur twice."""
    current = conversation.id == st.session_state.get("conversation")
    title = _title(conversation.title, search)
    if current:
        title = f"**{title}**"
    if dated:
        title = f"{words.grey(_when(conversation))} {_ISOLATED[0]}{title}{_ISOLATED[1]}"
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", wrap=False):
        with st.container():
            st.button(
                title,
                key=f"open-{conversation.id}",
                type="tertiary",
                wrap=False,
                on_click=state.choose_conversation,
                args=(conversation.id,),
            )
        if current:
            with st.container(width=_MENU_WIDTH):
                conversation_menu.draw(conversation)


def _title(title: str, search: str) -> str:
    found = re.search(re.escape(search), title, re.IGNORECASE) if search else None
    if found is None:
        return markdown.label(title, 100)
    return _marked(title[: found.start()], found.group(), title[found.end() :])


def _marked(before: str, match: str, after: str) -> str:
    return f"{markdown.verbatim(before)}:yellow-background[{markdown.verbatim(match)}]{markdown.verbatim(after)}"


def _when(conversation: Conversation) -> str:
    moment = local(conversation.updated_at)
    return f"{moment:%H:%M}" if moment.date() == today() else f"{moment:%d %b %H:%M}"


def _show_more() -> None:
    st.session_state[_SHOWN] = st.session_state.get(_SHOWN, _STEP) + _STEP
