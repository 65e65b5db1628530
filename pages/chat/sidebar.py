"""Chat sidebar: trace, conversation list or notes, and the menu of the open conversation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from itertools import groupby
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from crag.conversations.conversation_list import FoundConversations
from crag.errors import CragError, NotFound
from crag.runs.run import Run
from crag.text.formatting import current_date, format_count, to_local_time
from crag.translation import N_, _
from crag.types import Conversation, is_account
from pages.chat import state
from pages.parts import dialogs, labels, markdown, notes, sharing
from pages.parts.layout import draw_search_field
from pages.parts.services import application, current_owner
from pages.parts.session import NOT_REMEMBERED, has_other_users, is_browser_remembered, is_phone
from pages.parts.trace import TraceDrawing, draw_legend

_RENAME_ITEM = N_(":material/edit: Rename")
_PIN_ITEM = N_(":material/keep: Pin")
_UNPIN_ITEM = N_(":material/keep_off: Unpin")
_EXPORT_ITEM = N_(":material/download: Export…")
_DELETE_ITEM = N_(":material/delete: Delete")
_RENAME_DIALOG, _EXPORT_DIALOG, _IMPORT_DIALOG = (
    "rename a conversation",
    "export a conversation",
    "import a conversation",
)


def _draw_conversation_menu(conversation: Conversation) -> None:
    """Draw the menu of the open conversation."""
    key = f"edit-{conversation.id}"
    choices = [
        _(_RENAME_ITEM),
        _(_UNPIN_ITEM) if conversation.pinned else _(_PIN_ITEM),
        _(_EXPORT_ITEM),
        _(_DELETE_ITEM),
    ]
    st.menu_button(_("Edit"), choices, key=key, type="tertiary", on_click=_choose_menu_item, args=(key, conversation))


_DELETIONS_SHOWN = 3


def _draw_undo_delete() -> None:
    """Draw a row for each of the last deletions that can be undone."""
    for conversation in application().conversations.list_deleted(_DELETIONS_SHOWN):
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", wrap=False):
            title = markdown.escape_line(conversation.title, 100)
            st.caption(_("Deleted “{title}”").format(title=title), wrap=False)
            st.button(
                _("Undo"),
                icon=":material/undo:",
                type="tertiary",
                key=f"undo-{conversation.id}",
                on_click=_undo_delete,
                args=(conversation.id,),
            )


def _choose_menu_item(key: str, conversation: Conversation) -> None:
    match st.session_state[key]:
        case chosen if chosen == _(_DELETE_ITEM):
            application().delete_conversation(conversation.id)
            state.open_conversation(None)
        case chosen if chosen in (_(_PIN_ITEM), _(_UNPIN_ITEM)):
            with suppress(NotFound):  # deleted elsewhere; the next draw no longer lists it
                application().conversations.pin(conversation.id, pinned=not conversation.pinned)
        case chosen:
            dialogs.open_dialog(_EXPORT_DIALOG if chosen == _(_EXPORT_ITEM) else _RENAME_DIALOG, conversation.id)


def _undo_delete(conversation_id: str) -> None:
    application().conversations.restore(conversation_id)
    state.open_conversation(conversation_id)


def _draw_rename_dialog(conversation_id: str) -> None:
    try:
        conversation = application().conversations.get(conversation_id)
    except NotFound:
        dialogs.close_dialog()
        return
    _draw_rename_form(conversation)


@dialogs.dialog(N_("Rename the conversation"))
def _draw_rename_form(conversation: Conversation) -> None:
    with st.form("rename", border=False):  # a form, so that Enter in the field renames
        title = st.text_input(_("Title"), value=conversation.title, max_chars=80)
        sent = st.form_submit_button(_("Rename"), icon=":material/check:")
    if sent and title and title.strip():
        try:
            application().conversations.rename(conversation.id, title)
        except CragError as error:
            dialogs.draw_error(error)
            return
        dialogs.close_and_rerun()


def _draw_import_dialog(_unused: None) -> None:
    sharing.draw_import_dialog(lambda taken: state.open_conversation(taken.id))


CONVERSATION_DIALOGS: dict[str, Callable[[Any], None]] = {
    _RENAME_DIALOG: _draw_rename_dialog,
    _EXPORT_DIALOG: sharing.draw_export_dialog,
    _IMPORT_DIALOG: _draw_import_dialog,
}


_OTHER_BROWSER = N_(
    "Each browser has its own history. To continue a conversation from another one here, export it there as JSON, "
    "then import it. To move all of them, see *Settings*, *Privacy*."
)
_PAGE_SIZE = 50
_SHOWN_KEY = "conversations_shown"
_MENU_WIDTH = 60  # pixels; the automatic width is less than the button's, so the row would scroll
_BIDI_ISOLATES = "\u2068", "\u2069"  # right-to-left titles would reorder the text beside them


def _draw_conversations() -> None:
    """Draw undo for deletions, search field, conversations, and the import button."""
    _draw_undo_delete()
    search = draw_search_field(_("Search conversations"), "conversation_search")
    shown = st.session_state.get(_SHOWN_KEY, _PAGE_SIZE)
    found = application().conversations.find(search, shown)
    _draw_search_summary(search, found)
    twice = {title for title, count in Counter(one.title for one in found.conversations).items() if count > 1}
    for group, members in _group_by_age(found.conversations):
        with st.container(gap="xxsmall"):
            st.caption(group)
            for conversation in members:
                with st.container(gap=None):
                    _draw_conversation(conversation, search, dated=conversation.title in twice)
                    if conversation.imported:
                        st.caption(labels.import_origin(conversation.imported), wrap=False)
                    if snippet := found.snippets.get(conversation.id):
                        st.caption(_highlight_match(snippet.before, snippet.match, snippet.after))
    with st.container(horizontal=True):
        if found.total > shown:
            st.button(_("Show more"), icon=":material/expand_more:", type="tertiary", on_click=_show_more_conversations)
        dialogs.draw_opener(_("Import"), ":material/upload:", _IMPORT_DIALOG, type="tertiary")


def _draw_search_summary(search: str, found: FoundConversations) -> None:
    if search:
        st.caption(
            _("{conversations} found.").format(conversations=format_count(found.total, "conversation"))
            if found.total
            else _("No conversations found.")
        )
    elif not found.total:
        st.caption(_("Your conversations appear here."))
        if has_other_users() and not is_account(current_owner()):
            st.caption(_(_OTHER_BROWSER))
    if not is_browser_remembered():
        st.caption(f":material/info: {_(NOT_REMEMBERED)}")


def _group_by_age(found: Sequence[Conversation]) -> Iterator[tuple[str, list[Conversation]]]:
    def group(conversation: Conversation) -> str:
        day = to_local_time(conversation.updated_at).date()
        if conversation.pinned:
            return _("Pinned")
        if day >= current_date():
            return _("Today")
        return _("This week") if day > current_date() - timedelta(days=7) else _("Earlier")

    for name, members in groupby(found, key=group):
        yield name, list(members)


def _draw_conversation(conversation: Conversation, search: str, *, dated: bool) -> None:
    """Draw a conversation; `dated` adds its time, for titles that occur twice."""
    current = state.is_open(conversation.id)
    title = _title_markdown(conversation.title, search)
    if dated:
        title = f"{_BIDI_ISOLATES[0]}{title}{_BIDI_ISOLATES[1]}"
    if current:  # outside of the isolates, beside which Markdown takes no asterisks after an ellipsis
        title = f"**{title}**"
    if dated:
        title = f"{labels.grey_text(_update_time(conversation))} {title}"
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", wrap=False):
        with st.container():
            st.button(
                title,
                key=f"open-{conversation.id}",
                type="tertiary",
                wrap=False,
                on_click=state.open_conversation,
                args=(conversation.id,),
            )
        if current:
            with st.container(width=_MENU_WIDTH):
                _draw_conversation_menu(conversation)


def _title_markdown(title: str, search: str) -> str:
    found = re.search(re.escape(search), title, re.IGNORECASE) if search else None
    if found is None:
        return markdown.escape_line(title, 100)
    return _highlight_match(title[: found.start()], found.group(), title[found.end() :])


def _highlight_match(before: str, match: str, after: str) -> str:
    escape = markdown.escape_verbatim
    return f"{escape(before)}:yellow-background[{escape(match)}]{escape(after)}"


def _update_time(conversation: Conversation) -> str:
    moment = to_local_time(conversation.updated_at)
    return f"{moment:%H:%M}" if moment.date() == current_date() else f"{moment:%d %b %H:%M}"


def _show_more_conversations() -> None:
    st.session_state[_SHOWN_KEY] = st.session_state.get(_SHOWN_KEY, _PAGE_SIZE) + _PAGE_SIZE


def draw_sidebar(active: Run | None, last_run: str | None) -> DeltaGenerator | None:
    """Draw the chosen view; return the place of the trace if it belongs to the active run."""
    # Set, not given as the default: a rerun may overtake the first drawing, and the browser would show no choice.
    st.session_state[state.SIDEBAR_VIEW_KEY] = st.session_state.get(state.SIDEBAR_VIEW_KEY) or _first_view()
    with st.sidebar:
        with st.container(horizontal=True, vertical_alignment="center", wrap=False):
            view = st.segmented_control(
                _("Show"),
                [state.TRACE_VIEW, state.HISTORY_VIEW, state.NOTES_VIEW],
                format_func=_,
                key=state.SIDEBAR_VIEW_KEY,
                required=True,
                label_visibility="collapsed",
                width="stretch",
                persist_state="session",
            )
            st.button(
                _("New"), icon=":material/edit_square:", type="tertiary", key="open-new", on_click=_start_conversation
            )
        place = st.container(gap="small")
    if view == state.HISTORY_VIEW:
        with place:
            _draw_conversations()
        return None
    if view == state.NOTES_VIEW:
        with place:
            notes.draw_conversation_notes(state.current_conversation())
        return None
    shown = state.shown_run_id() or last_run
    if active is not None and shown == active.id:
        return place
    with place:
        draw_trace(shown)
    return None


def draw_trace(run_id: str | None, prefix: str = "trace") -> None:
    """Draw the trace of a run, or the legend if there is none."""
    if run_id is None:
        draw_legend()
    else:
        TraceDrawing(application().runs.trace(run_id), run_id, state.passage_opener(run_id), prefix).draw()


def _first_view() -> str:
    """Return the initial view; on a phone the trace has a drawer instead."""
    return state.HISTORY_VIEW if is_phone() else state.TRACE_VIEW


def _start_conversation() -> None:
    state.open_conversation(None)
    st.session_state[state.SIDEBAR_VIEW_KEY] = _first_view()
