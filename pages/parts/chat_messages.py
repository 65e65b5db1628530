"""Messages of the question box that arrive in one rerun; Streamlit alone would keep only the last one."""

from __future__ import annotations

from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime.scriptrunner_utils import script_requests

_SEPARATOR = "\x1e"  # record separator: not typed, and removed from questions
_merge_states = script_requests._coalesce_widget_states  # noqa: SLF001 — Streamlit offers no other way


def keep_all_messages() -> None:
    """Make Streamlit join messages sent before it could handle the first; call it before the server starts."""
    script_requests._coalesce_widget_states = join_messages  # noqa: SLF001


def join_messages(older: WidgetStates | None, newer: WidgetStates | None) -> WidgetStates | None:
    """Merge the widget states of two reruns, with the texts and files of both in every chat input."""
    merged = _merge_states(older, newer)
    sent = {state.id: state for state in (older.widgets if older else ()) if _is_message(state)}
    again = {state.id for state in (newer.widgets if newer else ()) if _is_message(state)}
    for state in merged.widgets if merged else ():
        if state.id in sent and state.id in again:
            value, before = state.chat_input_value, sent[state.id].chat_input_value
            value.data = before.data + _SEPARATOR + value.data
            files = [*before.file_uploader_state.uploaded_file_info, *value.file_uploader_state.uploaded_file_info]
            del value.file_uploader_state.uploaded_file_info[:]
            value.file_uploader_state.uploaded_file_info.extend(files)
    return merged


def split_messages(text: str) -> list[str]:
    """Return the texts that were joined, without empty ones."""
    return [part for part in text.split(_SEPARATOR) if part.strip()]


def _is_message(state: WidgetState) -> bool:
    return state.WhichOneof("value") == "chat_input_value" and state.chat_input_value.HasField("data")
