"""State of the chat page: open conversation, its options, shown trace, open drawers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import streamlit as st

from crag.conversations.conversations import Conversations
from crag.errors import NotFound
from crag.options import DOCUMENT_OPTIONS, SAVED_OPTIONS, OptionChanges, RunOptions, diff_options
from crag.storage.preferences import ValueOrigin
from crag.translation import N_
from crag.types import Conversation
from pages.parts import dialogs
from pages.parts.address import AddressSelection, read_selections
from pages.parts.option_controls import DRAWN_OPTIONS
from pages.parts.services import application
from pages.parts.session import is_phone
from pages.parts.source_drawer import SourceView

TRACE_VIEW, HISTORY_VIEW, NOTES_VIEW = N_("Trace"), N_("History"), N_("Notes")
MESSAGES_AT_ONCE = 40  # shown at first, and added by each “Show earlier messages”
CURRENT_PART = "current_part"  # fragment of all but the messages above the newest ones
_SELECTION = AddressSelection("c")
_NEW_CHANGES_KEY = "new_changes"
_SHOWN_RUN_KEY = "shown_run"
_SOURCE_KEY, _TRACE_KEY = "source", "trace_open"
_EDITED_KEY = "edited"
_KEEP_SCROLL_KEY = "stays"
SIDEBAR_VIEW_KEY = "sidebar_view"
_UNASKED_FILES_KEY, _ACTIVE_RUN_KEY, _LAST_RUN_KEY = "unasked_files", "active_run", "last_run"
MESSAGES_SHOWN_KEY = "messages_shown"
FOLLOWED_RUN_KEY = "followed"
_BEGUN_KEY = "begun"
_KEYS_OF_A_CONVERSATION = (
    _NEW_CHANGES_KEY,
    _SHOWN_RUN_KEY,
    _SOURCE_KEY,
    _TRACE_KEY,
    _UNASKED_FILES_KEY,
    _ACTIVE_RUN_KEY,
    _LAST_RUN_KEY,
    MESSAGES_SHOWN_KEY,
    FOLLOWED_RUN_KEY,
    _BEGUN_KEY,
)


def read_address() -> Conversation | None:
    """Open the conversation of the address, and return it; call it once in each draw, outside of callbacks."""
    before = _SELECTION.selected
    (conversation_id,) = read_selections(_SELECTION)
    if conversation_id != before:
        open_conversation(conversation_id)
    return current_conversation()


def current_conversation() -> Conversation | None:
    """Return the open conversation; None before the first question, and for one that is unknown."""
    if _SELECTION.selected:
        with suppress(NotFound):
            return _conversations().get(_SELECTION.selected)
    return None


def selected_conversation_id() -> str:
    """Return the id in the address, also of an unknown conversation; empty for a new one."""
    return _SELECTION.selected


def is_conversation_missing() -> bool:
    """Return whether the address names a conversation that was deleted or belongs to another browser."""
    return bool(_SELECTION.selected) and current_conversation() is None


def open_conversation(conversation_id: str | None) -> None:
    """Open another conversation, or an empty page for a new one with the home's options."""
    for name in _KEYS_OF_A_CONVERSATION:
        st.session_state.pop(name, None)
    dialogs.close_dialog()
    _SELECTION.select(conversation_id or "")


def start_conversation_about(source_ids: Sequence[str]) -> None:
    """Start a conversation whose questions are limited to these documents."""
    open_conversation(None)
    st.session_state[_NEW_CHANGES_KEY] = {"source_ids": tuple(source_ids)}


def option_changes() -> OptionChanges:
    """Return how the options of the next question differ from those of the home."""
    conversation = current_conversation()
    return conversation.changes if conversation else st.session_state.get(_NEW_CHANGES_KEY, {})


def current_options() -> RunOptions:
    """Return the options of the next question."""
    return application().preferences.options(option_changes())


def has_web_search() -> bool:
    """Return whether a web search is set up."""
    return application().web.provider() is not None


def change_options(**values: Any) -> None:
    """Change options for the next questions of this conversation."""
    _save_changes({**option_changes(), **values})


def reset_options(*names: str) -> None:
    """Reset these options to the home's values."""
    _save_changes({name: value for name, value in option_changes().items() if name not in names})


def use_preset(name: str) -> None:
    """Use a preset in place of this conversation's own options, except the choice of documents."""
    documents = {own: value for own, value in option_changes().items() if own in DOCUMENT_OPTIONS}
    _save_changes({**documents, **application().preferences.presets()[name], "preset": name})
    application().prepare_in_background(current_options())


def changed_options(own: RunOptions | None = None) -> dict[str, Any]:
    """Return the options with a control that differ from the home's; `own` are the current ones, if known."""
    between = diff_options(application().preferences.options(), own or current_options())
    return {name: value for name, value in between.items() if name in DRAWN_OPTIONS}


def option_origins() -> dict[str, ValueOrigin]:
    """Return the origin of each option's value in this conversation."""
    preferences, own = application().preferences, changed_options()
    held: dict[str, ValueOrigin] = {name: preferences.effective(name).origin for name in SAVED_OPTIONS}
    return held | dict.fromkeys(own, "conversation")


def _save_changes(changed: OptionChanges) -> None:
    if conversation := current_conversation():
        _conversations().set_changes(conversation.id, changed)
    else:
        st.session_state[_NEW_CHANGES_KEY] = changed


def ensure_conversation() -> Conversation:
    """Return the open conversation; create it if there is none."""
    conversation = current_conversation()
    if conversation is None:
        conversation = _conversations().create(option_changes())
        st.session_state.pop(_NEW_CHANGES_KEY, None)
        st.session_state[_BEGUN_KEY] = True
        _SELECTION.select(conversation.id)
    return conversation


def has_begun_here() -> bool:
    """Return whether the open conversation began on the page for a new one, and has not been left since."""
    return bool(st.session_state.get(_BEGUN_KEY))


def edited_question_id() -> int | None:
    """Return the id of the question that is edited in the open conversation."""
    return _edited_questions().get(_SELECTION.selected)


def handle_branch_switch() -> None:
    """Reset the shown trace and the editor after a switch of branch, and keep the scroll position."""
    st.session_state.pop(_SHOWN_RUN_KEY, None)
    stop_editing()
    st.session_state[_KEEP_SCROLL_KEY] = True


def pop_keep_scroll() -> bool:
    """Return whether to keep the scroll position, and clear the flag."""
    return bool(st.session_state.pop(_KEEP_SCROLL_KEY, False))


def show_trace(run_id: str) -> None:
    """Show a run in the sidebar; on a phone only select it, since the trace has a drawer there."""
    st.session_state[_SHOWN_RUN_KEY] = run_id
    choose_trace_view()


def choose_trace_view() -> None:
    """Let the sidebar show a trace instead of the history or notes; on a phone a drawer does."""
    if not is_phone():
        st.session_state[SIDEBAR_VIEW_KEY] = TRACE_VIEW


def follow_active_run(run_id: str) -> None:
    """Show the trace of the run that is active now, when it began without this session."""
    if st.session_state.get(_ACTIVE_RUN_KEY) != run_id:
        st.session_state[_ACTIVE_RUN_KEY] = st.session_state[_SHOWN_RUN_KEY] = run_id


def follow_last_run(run_id: str | None) -> None:
    """Show the trace of the last run when it is new: one that begins and ends between two draws is never active."""
    if st.session_state.get(_LAST_RUN_KEY, run_id) != run_id:
        st.session_state.pop(_SHOWN_RUN_KEY, None)
    st.session_state[_LAST_RUN_KEY] = run_id


def open_trace(run_id: str) -> None:
    """Show a run in the sidebar, or in a drawer on a phone."""
    show_trace(run_id)
    if is_phone():
        st.session_state[_TRACE_KEY] = run_id


def open_source(run_id: str, passage_id: int, quote: str = "") -> None:
    """Open the source drawer with the next draw."""
    st.session_state[_SOURCE_KEY] = SourceView(run_id, passage_id, quote)


def passage_opener(run_id: str) -> Callable[[int], None]:
    """Return a callback that opens a passage of the run."""

    def opened(passage_id: int) -> None:
        open_source(run_id, passage_id, application().runs.trace(run_id).quote(passage_id))

    return opened


def close_source() -> None:
    """Close the source drawer; a trace drawer it was opened from shows again."""
    st.session_state.pop(_SOURCE_KEY, None)


def close_drawers() -> None:
    """Close all drawers."""
    st.session_state.pop(_SOURCE_KEY, None)
    st.session_state.pop(_TRACE_KEY, None)


def opened_source() -> SourceView | None:
    """Return the passage in the source drawer; None while it is closed."""
    view: SourceView | None = st.session_state.get(_SOURCE_KEY)
    return view


def opened_trace() -> str:
    """Return the run whose trace has a drawer open; empty for none."""
    run_id: str = st.session_state.get(_TRACE_KEY, "")
    return run_id


def add_unasked_files(jobs: Mapping[str, str]) -> None:
    """Keep the files, ingest jobs with their names, that came before the question about them."""
    st.session_state[_UNASKED_FILES_KEY] = {**unasked_files(), **jobs}


def unasked_files() -> dict[str, str]:
    """Return the files, ingest jobs with their names, that wait for a question about them."""
    files: dict[str, str] = st.session_state.get(_UNASKED_FILES_KEY, {})
    return files


def pop_unasked_files() -> dict[str, str]:
    """Return these files for the question that is asked now, and forget them."""
    files: dict[str, str] = st.session_state.pop(_UNASKED_FILES_KEY, {})
    return files


def is_open(conversation_id: str) -> bool:
    """Return whether this conversation is the open one."""
    return _SELECTION.selected == conversation_id


def start_editing(message_id: int) -> None:
    """Open the editor of this question; it is still open when the user comes back to the conversation."""
    _edited_questions()[_SELECTION.selected] = message_id


def stop_editing() -> None:
    """Close the editor of a question."""
    _edited_questions().pop(_SELECTION.selected, None)


def _edited_questions() -> dict[str, int]:
    """Return the questions being edited, by conversation."""
    edited: dict[str, int] = st.session_state.setdefault(_EDITED_KEY, {})
    return edited


def shown_run_id() -> str | None:
    """Return the run that was chosen for the sidebar."""
    run_id: str | None = st.session_state.get(_SHOWN_RUN_KEY)
    return run_id


def is_drawer_open() -> bool:
    """Return whether a drawer is open."""
    return _SOURCE_KEY in st.session_state or _TRACE_KEY in st.session_state


def _conversations() -> Conversations:
    return application().conversations
