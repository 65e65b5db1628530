"""Messages of a conversation in their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from crag.runs.run import Run
from crag.types import Conversation, Message
from pages.chat import answer, editing, start, state
from pages.parts.resources import application


def shown(conversation: Conversation | None) -> Sequence[Message]:
    """Return the newest messages of the shown branch; none before the first question."""
    if conversation is None:
        return ()
    last = st.session_state.get("messages_shown", state.MESSAGES_SHOWN)
    return application().conversations.messages(conversation.id, last=last)


def draw(
    conversation: Conversation | None, messages: Sequence[Message], running: Run | None
) -> Mapping[str, DeltaGenerator]:
    """Draw every message, or the start page; return the places of the answers by run id.

    The place of the running answer stays empty, to be filled once the rest of the page is drawn.
    """
    places: dict[str, DeltaGenerator] = {}
    if conversation is None or not messages:
        start.draw()
        return places
    if len(messages) < application().conversations.count(conversation.id):
        st.button("Show earlier", icon=":material/expand_less:", type="tertiary", on_click=_show_earlier)
    question_id = 0
    for message in messages:
        if message.role == "user":
            question_id = message.id
            editing.draw(message)
            continue
        run_id = message.run_id or ""
        places[run_id] = st.chat_message("assistant", avatar=answer.AVATAR)
        if running is None or run_id != running.id:
            with places[run_id]:
                _draw_answer(message, question_id, last=message is messages[-1])
    return places


def _draw_answer(message: Message, question_id: int, *, last: bool) -> None:
    run_id = message.run_id or ""
    trace = application().runs.trace(run_id)
    if trace.waiting:
        answer.draw_waiting(run_id, trace)
    else:
        answer.draw(message, trace, question_id, last=last)


def _show_earlier() -> None:
    now = st.session_state.get("messages_shown", state.MESSAGES_SHOWN)
    st.session_state.messages_shown = now + state.EARLIER_SHOWN
