"""The last handlers of errors: of a page, of a fragment, and of what a click or a changed field causes.

Streamlit replaces a page by a redacted message when a callback fails, and the input is gone. Here every failure is
logged and shown in the application's words, and the page stays.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.state.session_state import SessionState

from crag.errors import CragError
from crag.translation import _, translate_text
from pages.parts import dialogs, markdown

_log = logging.getLogger(__name__)
_run_callback = SessionState._run_callback_and_record_rerun  # noqa: SLF001 — Streamlit offers no other way


def describe_fault(error: Exception) -> tuple[str, str]:
    """Return what happened and what to do; an unexpected error is logged."""
    if isinstance(error, CragError):
        return translate_text(error.message), translate_text(error.remedy)
    _log.error("Unexpected error on a page", exc_info=error)
    return _("Something went wrong in the app."), _("Your data is safe. Try again; the log has the details.")


def draw_fault(error: Exception) -> bool:
    """Draw an error in place of what failed. Returns True, so that Streamlit draws nothing of its own."""
    message, remedy = describe_fault(error)
    with st.container(border=True):
        st.markdown(f":red[:material/error:] **{markdown.escape_line(message)}**  \n{markdown.sanitize_answer(remedy)}")
    return True


def install_callback_handler() -> None:
    """Make callbacks that fail leave a message for the next draw instead of ending it."""
    SessionState._run_callback_and_record_rerun = _run_callback_safely  # type: ignore[method-assign] # noqa: SLF001


def _run_callback_safely(session: SessionState, votes: Any, callback: Callable[[], object]) -> None:
    def run() -> None:
        try:
            callback()
        except Exception as error:  # noqa: BLE001 — reruns and stops are no `Exception`
            context = get_script_run_ctx()
            is_page_drawn = context is None or not context.fragment_ids_this_run
            show = dialogs.keep_refusal if is_page_drawn else dialogs.toast_error
            show(" ".join(describe_fault(error)))

    _run_callback(session, votes, run)
