"""Reruns of one part of a page, and whether a click waits for one; Streamlit offers neither to a running script."""

from __future__ import annotations

from typing import NoReturn

import streamlit as st
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.scriptrunner import RerunData, get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequestType
from streamlit.runtime.scriptrunner_utils.script_run_context import RunLocation, ThreadState


def is_whole_page_drawn() -> bool:
    """Return whether the whole page is being drawn, not only a fragment."""
    context = get_script_run_ctx()
    return context is None or not context.fragment_ids_this_run


def rerun_part(key: str) -> NoReturn:
    """Rerun the fragment of this key from a fragment inside it; the whole page if that is being drawn now."""
    if is_whole_page_drawn():
        st.rerun()
    with ThreadState.scoped(run_location=RunLocation.CALLBACK):  # elsewhere Streamlit refuses keys
        st.rerun(key)


def rerun_part_next(key: str) -> None:
    """Rerun the fragment of this key as soon as the script that draws now has ended."""
    context = get_script_run_ctx()
    if context is None or context.script_requests is None:
        return
    rerun = RerunData(
        query_string=context.query_string,
        page_script_hash=context.page_script_hash,
        fragment_id_queue=context.fragment_storage.resolve_target(key),
        is_auto_rerun=True,
        cached_message_hashes=context.cached_message_hashes,
        context_info=context.context_info,
    )
    context.script_requests.request_rerun(rerun)


def is_click_waiting() -> bool:
    """Return whether the user has clicked something in a fragment, which does not interrupt a running script."""
    context = get_script_run_ctx()
    requests = context.script_requests if context else None
    if requests is None or requests._state is not ScriptRequestType.RERUN:  # noqa: SLF001
        return False
    return not requests._rerun_data.is_auto_rerun  # noqa: SLF001


_clear = ForwardMsgQueue.clear


def keep_undelivered_messages() -> None:
    """Make Streamlit deliver all that was drawn before a fragment starts; call it before the server starts.

    Streamlit drops undelivered elements of the fragment but not those of fragments inside it, whose place the browser
    then does not know, and takes back that other fragments have ended, so that what they no longer draw stays.
    """
    ForwardMsgQueue.clear = clear_queue  # type: ignore[method-assign]


def clear_queue(
    queue: ForwardMsgQueue, retain_lifecycle_msgs: bool = False, fragment_ids_this_run: list[str] | None = None
) -> None:
    """Clear a queue of undelivered messages for a run of the whole page; leave it as it is for one of fragments."""
    if fragment_ids_this_run:
        queue._delta_index_map = {}  # noqa: SLF001 — what is drawn now comes after what was drawn before
    else:
        _clear(queue, retain_lifecycle_msgs, fragment_ids_this_run)
