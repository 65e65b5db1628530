"""Follow-up questions below the last answer, drawn from its sources after the rest of the page."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from crag.errors import CragError
from crag.runs import Trace
from crag.types import Message
from pages.chat.questions import ask
from pages.parts import markdown
from pages.parts.resources import application

_LENGTH = 100
_KEPT_SECONDS = 600  # documents may be added or removed


def draw(run_id: str, trace: Trace, messages: Sequence[Message]) -> None:
    """Draw up to three questions, none selected; nothing for an answer not based on documents."""
    if trace.state != "done" or trace.outcome not in ("documents", "documents_and_web"):
        return
    asked = tuple(message.text for message in messages if message.role == "user")
    try:
        offered = _offered(run_id, asked)
    except CragError:  # optional: an error only hides the questions
        return
    if offered:
        key = f"next-{run_id}"
        st.pills(
            "Ask next",
            offered,
            format_func=lambda question: markdown.label(question, _LENGTH),
            key=key,
            on_change=_ask,
            args=(key,),
            label_visibility="collapsed",
        )


@st.cache_data(max_entries=256, ttl=_KEPT_SECONDS, show_spinner=False)
def _offered(run_id: str, asked: tuple[str, ...]) -> list[str]:
    trace = application().runs.trace(run_id)
    used = [cited.passage_id for cited in trace.citations if cited.origin == "library"]
    options = trace.options
    return application().library.follow_ups(
        used, trace.text, asked, collection=options.collection, source_ids=options.source_ids
    )


def _ask(key: str) -> None:
    question = st.session_state[key]
    st.session_state[key] = None
    if question:
        ask(question)
