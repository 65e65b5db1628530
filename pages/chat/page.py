"""The chat: questions, answers with citations, and the trace of each run beside them."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from crag.runs.run import Run
from crag.types import Conversation, Message, Ruling
from pages.chat import (
    answer,
    asked,
    box,
    conversations,
    copying,
    editing,
    feedback,
    live,
    options,
    questions,
    sidebar,
    start,
    state,
)
from pages.parts import setup, source
from pages.parts.components import cited, page_glue
from pages.parts.device import is_phone
from pages.parts.resources import application


def main() -> None:
    """Draw the page; the run that is being answered comes last, since it is followed while the page stands."""
    questions.ask_waiting()
    conversation = state.current()
    active = application().runs.active(conversation.id) if conversation else None
    asks = active if active is not None and application().runs.trace(active.id).waiting else None
    live_run = None if asks else active
    messages = _messages(conversation)
    if conversation:
        st.set_page_config(page_title=f"{conversation.title[:80]} · CRAG Chat")
    trace_place = sidebar.draw(live_run, messages[-1].run_id if messages else None)
    with box.draw(active, waits=asks is not None):
        page_glue(
            _status(messages, active),
            (messages[-1].run_id or "") if messages else "",
            _open_cited,
            stays=state.page_stays(),
            focus=editing.field(),
        )
    questions.show_refusal()
    _draw_dialog()
    live_place = _draw_messages(conversation, messages, live_run)
    _draw_waiting(asks)
    if live_run is not None and live_place is not None:
        with live_place:
            live.draw(live_run, trace_place)


def _messages(conversation: Conversation | None) -> Sequence[Message]:
    if conversation is None:
        return []
    shown = st.session_state.get("messages_shown", state.MESSAGES_SHOWN)
    return application().conversations.messages(conversation.id, last=shown)


def _draw_messages(
    conversation: Conversation | None, messages: Sequence[Message], live_run: Run | None
) -> DeltaGenerator | None:
    """Every message; returns the place of the one that is being written."""
    if conversation is None or not messages:
        start.draw()
        return None
    if len(messages) < application().conversations.count(conversation.id):
        st.button("Show earlier", icon=":material/expand_less:", type="tertiary", on_click=_show_earlier)
    live_place, asked_last = None, 0
    for message in messages:
        if message.role == "user":
            editing.draw(message)
            asked_last = message.id
        elif live_run is not None and message.run_id == live_run.id:
            live_place = st.chat_message("assistant", avatar=answer.AVATAR)
        else:
            with st.chat_message("assistant", avatar=answer.AVATAR):
                _draw_answer(message, asked_last, last=message is messages[-1])
    return live_place


def _draw_answer(message: Message, question_id: int, *, last: bool) -> None:
    run_id = message.run_id or ""
    trace = application().runs.trace(run_id)
    if trace.waiting:
        answer.draw_waiting(run_id, trace)
    else:
        answer.draw(run_id, trace, question_id, last=last)


def _draw_waiting(asks: Run | None) -> None:
    """The question that was sent while another one is answered, waits for a person, or while its files are read."""
    waiting = st.session_state.get("waiting")
    if waiting is None:
        return
    with asked.message():
        asked.draw_text(waiting, "waiting")
    reason = "asked when this answer is done"
    if asks is not None:
        reason = "decide about the web search first"
    elif st.session_state.get("files_first"):
        reason = "its files are read first"
    st.caption(f":material/hourglass_empty: Waiting: {reason}.")
    st.fragment(_look_again, run_every=1.0)()


def _look_again() -> None:
    if questions.ask_waiting():
        st.rerun()


def _draw_dialog() -> None:
    """At most one thing lies over the page."""
    remembered = st.session_state
    if "editing" in remembered:
        conversations.draw_dialog()
    elif "asks_why" in remembered:
        feedback.ask_why(remembered.asks_why)
    elif "copied" in remembered:
        copying.draw_dialog(remembered.copied)
    elif "options_open" in remembered:
        options.draw_options()
    elif "comparing" in remembered:
        options.draw_comparison()
    elif "source" in remembered:
        source.open_drawer(remembered.source, source.Actions(state.close_source, _only, _overrule))
    elif "trace_open" in remembered and is_phone():
        _trace_drawer(remembered.trace_open)
    else:
        setup.draw_dialog()


def _trace_drawer(run_id: str) -> None:
    drawer = st.dialog("Trace", icon=":material/account_tree:", position="right", on_dismiss=state.close_drawers)
    drawer(_trace_in_drawer)(run_id)


def _trace_in_drawer(run_id: str) -> None:
    if "source" in st.session_state:  # a passage was clicked: only the whole page can open another drawer
        st.rerun()
    sidebar.draw_trace(run_id, "drawer")


def _only(source_id: str) -> None:
    state.change_options(source_ids=(source_id,), collection="")
    state.close_drawers()


def _overrule(run_id: str, passage_id: int, ruling: Ruling) -> None:
    questions.overrule(run_id, passage_id, ruling)
    state.close_drawers()


def _open_cited() -> None:
    if clicked := cited():
        run_id, number = clicked
        trace = application().runs.trace(run_id)
        found = next((citation for citation in trace.citations if citation.n == number), None)
        if found:
            state.open_source(run_id, found.passage_id, found.quote)


def _show_earlier() -> None:
    shown = st.session_state.get("messages_shown", state.MESSAGES_SHOWN)
    st.session_state.messages_shown = shown + state.MESSAGES_SHOWN


def _status(messages: Sequence[Message], active: Run | None) -> str:
    if active is not None:
        waiting = application().runs.trace(active.id).waiting
        return "Waiting for you: may this query go to the web?" if waiting else "Working on the answer"
    if not messages or not messages[-1].run_id:
        return ""
    return answer.sentence_of_outcome(application().runs.trace(messages[-1].run_id))


main()
