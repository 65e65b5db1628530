"""Actions of the question box and of buttons: ask, edit, override a verdict, consent, stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from crag.errors import CragError
from crag.options import RunOptions
from crag.runs.run import Run
from crag.types import DEFAULT_COLLECTION, Ruling
from pages.chat import attachments, state
from pages.parts import refusals
from pages.parts.resources import application

_STOP_SECONDS = 0.5
BOX = "question_box"


def ask(question: str, options: RunOptions | None = None) -> None:
    """Answer a question in the open conversation; let it wait while another answer or its files are in progress."""
    conversation = state.ensure_conversation()
    application_ = application()
    if application_.runs.active(conversation.id) or st.session_state.get("files_first"):
        st.session_state.waiting = question
        return
    _begin(lambda: application_.runs.start(conversation.id, question, options or state.options()))


def ask_otherwise(message_id: int, question: str) -> bool:
    """Answer an edited question in a new branch; return whether the run started."""
    return _begin(lambda: application().runs.edit(message_id, question, state.options())) is not None


def show_branch(conversation_id: str, message_id: int) -> None:
    """Show the branch of the conversation that contains this question."""
    with refusals.kept():
        application().conversations.show_branch(conversation_id, message_id)
        state.branch_shown()


def answer_again(run_id: str, options: RunOptions) -> str | None:
    """Create another version of an answer under these options; return its run id, None on refusal."""
    return _begin(lambda: application().runs.ask_again(run_id, options))


def go_on(run_id: str) -> None:
    """Create another version that continues an incomplete answer from its text so far."""
    _begin(lambda: application().runs.go_on(run_id))


def allow_and_answer(run_id: str, model: str, options: RunOptions) -> None:
    """Allow questions and passages to be sent to an external model, and answer again."""
    application().preferences.allow_model(model)
    answer_again(run_id, options)


def overrule(run_id: str, passage_id: int, ruling: Ruling) -> None:
    """Create another version of an answer with the user's verdict on one passage."""
    _begin(lambda: application().runs.overrule(run_id, {passage_id: ruling}))


def search_for(run_id: str, sentence: str) -> None:
    """Create another version of an answer after a web search for one of its sentences."""
    _begin(lambda: application().runs.search_for(run_id, sentence))


def decide_web(run_id: str, query: str | None) -> None:
    """Resume a waiting run: send this query, or with None answer from the documents only."""
    _begin(lambda: application().runs.answer_consent(run_id, query))


def show_version(run_id: str) -> None:
    """Show this version of an answer in its message."""
    with refusals.kept():
        application().runs.show_version(run_id)
        state.show_trace(run_id)


def _begin(begin: Callable[[], Run]) -> str | None:
    try:
        run = begin()
    except CragError as error:
        refusals.keep(error)
        return None
    state.show_trace(run.id)
    return run.id


def submitted() -> None:
    """Handle a submitted question box: add its files to the library, then ask, waiting for them."""
    value: Any = st.session_state[BOX]
    jobs, collection = application().jobs, state.options().collection or DEFAULT_COLLECTION
    added = {jobs.submit_bytes(file.name, file.getvalue(), collection): file.name for file in value.files}
    st.session_state.files_first = bool(added)
    if value.text.strip():
        attachments.keep(state.ensure_conversation().id, value.text, added)
        ask(value.text)


def ask_waiting() -> bool:
    """Ask the waiting question if nothing blocks it; return whether it was asked."""
    conversation = state.current()
    app = application()
    if (conversation and app.runs.active(conversation.id)) or (st.session_state.get("files_first") and app.jobs.active):
        return False
    st.session_state.pop("files_first", None)
    question = st.session_state.pop("waiting", None)
    if question is None:
        return False
    ask(question)
    return True


def stop(run_id: str) -> None:
    """Stop a run; the text so far is kept."""
    runs = application().runs
    with refusals.kept():
        runs.stop(run_id)
        for _ in runs.attach(run_id).follow(seconds=_STOP_SECONDS):
            pass
