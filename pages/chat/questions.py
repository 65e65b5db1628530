"""Asking, correcting, deciding about the web and stopping: what the question box and the buttons set in motion."""

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
    """Answer a question in the open conversation; while another one is answered, or files are read, it waits."""
    conversation = state.ensure_conversation()
    application_ = application()
    if application_.runs.active(conversation.id) or st.session_state.get("files_first"):
        st.session_state.waiting = question
        return
    _begin(lambda: application_.runs.start(conversation.id, question, options or state.options()))


def ask_otherwise(message_id: int, question: str) -> bool:
    """Answer another wording of a question, in a branch of the conversation beside it; whether it was taken."""
    return _begin(lambda: application().runs.edit(message_id, question, state.options())) is not None


def show_branch(conversation_id: str, message_id: int) -> None:
    """Show the branch of the conversation that goes on from this question."""
    with refusals.kept():
        application().conversations.show_branch(conversation_id, message_id)
        state.branch_shown()


def answer_again(run_id: str, options: RunOptions) -> str | None:
    """Make another version of an answer, under these options; returns its run."""
    return _begin(lambda: application().runs.ask_again(run_id, options))


def go_on(run_id: str) -> None:
    """Make another version of an answer that is not whole: it keeps the text so far and goes on from it."""
    _begin(lambda: application().runs.go_on(run_id))


def allow_and_answer(run_id: str, model: str, options: RunOptions) -> None:
    """Let questions and passages go to this model, which runs elsewhere, and answer again."""
    application().preferences.allow_model(model)
    answer_again(run_id, options)


def overrule(run_id: str, passage_id: int, ruling: Ruling) -> None:
    """Make another version of an answer, with a person's word on a passage above the grader's."""
    _begin(lambda: application().runs.overrule(run_id, {passage_id: ruling}))


def search_for(run_id: str, sentence: str) -> None:
    """Make another version of an answer, for which the web is asked about a sentence of it."""
    _begin(lambda: application().runs.search_for(run_id, sentence))


def decide_web(run_id: str, query: str | None) -> None:
    """Let a run that waits send this query, or answer from the documents only."""
    _begin(lambda: application().runs.answer_consent(run_id, query))


def show_version(run_id: str) -> None:
    """Make this version of an answer the one that its message shows."""
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
    """The question box was sent: files go to the library, the question waits for them."""
    value: Any = st.session_state[BOX]
    jobs, collection = application().jobs, state.options().collection or DEFAULT_COLLECTION
    added = {jobs.submit_bytes(file.name, file.getvalue(), collection): file.name for file in value.files}
    st.session_state.files_first = bool(added)
    if value.text.strip():
        attachments.keep(state.ensure_conversation().id, value.text, added)
        ask(value.text)


def ask_waiting() -> bool:
    """Ask what waits, as soon as nothing is in its way; whether it was asked."""
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
    """Stop a run; what it has written is kept."""
    runs = application().runs
    with refusals.kept():
        runs.stop(run_id)
        for _ in runs.attach(run_id).follow(seconds=_STOP_SECONDS):
            pass
