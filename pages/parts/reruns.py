"""What Streamlit does not offer: reruns of one part of a page, clicks that wait, sessions in turns, late texts."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cache
from typing import NoReturn

import streamlit as st
from streamlit import runtime
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.NewSession_pb2 import CustomThemeConfig
from streamlit.runtime import app_session
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.scriptrunner import RerunData, ScriptRunner, get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequestType
from streamlit.runtime.scriptrunner_utils.script_run_context import RunLocation, ThreadState

from crag.cancellation import Wait
from crag.concurrency.processor import drawing_turns

_MAX_WAIT_SECONDS = 10.0  # then a session draws, even if the scripts of others neither end nor pause
_CLICK, _PAGE, _OTHER = 0, 1, 2  # priorities
_POLLS_PER_SECOND = 5.0  # of all pages together
_request_rerun = ScriptRunner.request_rerun
_run_script = ScriptRunner._run_script  # noqa: SLF001 — Streamlit has no hook around it


def draw_in_turns() -> None:
    """Let only a few sessions draw at once, first those a user has just used; call it before the server starts."""
    ScriptRunner._run_script = _run_in_turn  # type: ignore[method-assign] # noqa: SLF001
    ScriptRunner.request_rerun = _request_in_turn  # type: ignore[method-assign]


def _run_in_turn(runner: ScriptRunner, rerun: RerunData) -> None:
    rerun = _on_current_page(runner, rerun)
    due = rerun.fragment_id_queue
    if rerun.is_auto_rerun and due and not any(map(runner._fragment_storage.contains, due)):  # noqa: SLF001
        _run_script(runner, rerun)  # draws nothing: the fragments have been replaced since their timers were set
        return
    with drawing_turns.hold(_priority_of(rerun), _MAX_WAIT_SECONDS, owner=runner):
        _run_script(runner, rerun)


def _on_current_page(runner: ScriptRunner, rerun: RerunData) -> RerunData:
    """Return a rerun of fragments as one of the page that is shown: the browser empties the page for any other.

    A timer or a click of the page before may be handled only when the next page has been drawn.
    """
    shown = runner._pages_manager.current_page_script_hash  # noqa: SLF001
    if not rerun.fragment_id_queue or not shown or rerun.page_script_hash == shown:
        return rerun
    context = get_script_run_ctx()
    query_string = context.query_string if context else ""
    return replace(rerun, page_script_hash=shown, page_name="", query_string=query_string or rerun.query_string)


def _request_in_turn(runner: ScriptRunner, rerun: RerunData) -> bool:
    is_accepted = _request_rerun(runner, rerun)
    drawing_turns.promote(runner, _priority_of(rerun))  # of a script of this session, which has to end first
    return is_accepted


def _priority_of(rerun: RerunData) -> int:
    if rerun.is_auto_rerun:
        return _OTHER
    return _CLICK if rerun.fragment_id_queue else _PAGE


def let_others_go_first(tell: Callable[[Wait], object]) -> None:
    """Let sessions go first whose users have seen nothing yet; `tell` is given the wait every few seconds."""
    drawing_turns.give_way(_OTHER, tell)


def are_others_waiting() -> bool:
    """Return whether other sessions wait to draw."""
    return drawing_turns.is_contended


def let_others_draw() -> AbstractContextManager[None]:
    """Return a context in which this script waits, or works for long, while other sessions may draw."""
    return drawing_turns.pause()


def poll_interval(seconds: float) -> float:
    """Return every how many seconds this page may look for changes: `seconds`, or less often if many pages are open."""
    while _count_open_pages() > _POLLS_PER_SECOND * seconds:
        seconds *= 2  # the browser's timer starts again whenever it changes
    return seconds


def _count_open_pages() -> int:
    sessions = getattr(runtime.get_instance(), "_session_mgr", None) if runtime.exists() else None
    return sessions.num_active_sessions() if sessions else 1


def change_interval(seconds: float) -> None:
    """Have the fragment that is being drawn drawn again every `seconds` from now on."""
    context, fragment_id = get_script_run_ctx(), ThreadState.get().fragment_id
    if context is not None and fragment_id is not None:
        message = ForwardMsg()
        message.auto_rerun.fragment_id, message.auto_rerun.interval = fragment_id, seconds
        context.enqueue(message)


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


_HISTORY = "crag_history"  # attribute of a session
_request_session_rerun = AppSession.request_rerun


def follow_history() -> None:
    """Let Back and Forward lead to their page whatever was typed just before; call it before the server starts."""
    AppSession.request_rerun = _request_after_history  # type: ignore[method-assign]


def _request_after_history(session: AppSession, state: ClientState | None) -> None:
    _request_session_rerun(session, after_history(session, state) if state else state)


def after_history(session: AppSession, state: ClientState) -> ClientState:
    """Return a request of the page that Back or Forward has just left as one for the page that they lead to.

    The browser sends the text of a field only after it has asked for the other page, and Streamlit would return.
    """
    history: ClientState | None = getattr(session, _HISTORY, None)
    if state.is_history_navigation:
        setattr(session, _HISTORY, state)
    if history is None or state.is_history_navigation or state.is_auto_rerun:
        return state
    is_page_choice = _widget_ids(state) <= _widget_ids(history)  # Streamlit sends no widgets of a page with these two
    if is_page_choice or state.page_script_hash == history.page_script_hash:
        setattr(session, _HISTORY, None)  # the browser has arrived, or gone on
    if is_page_choice:
        return state
    state.page_script_hash, state.page_name = history.page_script_hash, history.page_name
    state.fragment_id, state.is_history_navigation = "", True
    return state


def _widget_ids(state: ClientState) -> set[str]:
    return {widget.id for widget in state.widget_states.widgets}


_fill_theme = app_session._populate_theme_msg  # noqa: SLF001 — a tenth of what a redraw costs


def keep_themes() -> None:
    """Read the themes from the configuration once instead of for every redraw; call it before the server starts."""
    app_session._populate_theme_msg = copy_theme  # noqa: SLF001


def copy_theme(message: CustomThemeConfig, section: str = "theme") -> None:
    """Fill in the theme of a section, which does not change while the application runs."""
    message.CopyFrom(_read_theme(section))


@cache
def _read_theme(section: str) -> CustomThemeConfig:
    theme = CustomThemeConfig()
    _fill_theme(theme, section)
    return theme


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
