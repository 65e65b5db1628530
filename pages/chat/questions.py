"""Actions that start, change or stop a run, and the files attached to a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from crag.errors import BadRequest
from crag.options import RunOptions
from crag.translation import _
from crag.types import Message, Ruling
from pages.chat import state
from pages.parts import dialogs, markdown
from pages.parts.chat_messages import split_messages
from pages.parts.faults import describe_fault
from pages.parts.ingest_jobs import describe_result
from pages.parts.services import application


@dataclass(slots=True)
class _Attachment:
    job_id: str
    name: str
    became: str = ""


def keep_attachments(conversation_id: str, question: str, jobs: Mapping[str, str]) -> None:
    """Remember in this session the ingest jobs of a question's files; `jobs` maps job ids to file names."""
    if jobs:
        own = [_Attachment(job_id, name) for job_id, name in jobs.items()]
        _attachments().setdefault((conversation_id, question.strip()), own)


def draw_question_attachments(question: Message) -> None:
    """Draw one line per file; results stay visible after their job was dismissed."""
    draw_attachments(question.conversation_id, question.text)


def draw_attachments(conversation_id: str, question: str) -> None:
    """Draw the files of a question that is not a message yet."""
    _draw_files(_attachments().get((conversation_id, question.strip()), []))


def draw_unasked_files(jobs: Mapping[str, str]) -> None:
    """Draw the files that came without a question; `jobs` maps job ids to file names."""
    _draw_files([_Attachment(job_id, name) for job_id, name in jobs.items()])


def _draw_files(files: Sequence[_Attachment]) -> None:
    unfinished = {file.job_id: file for file in files if not file.became}
    for job in application().jobs.jobs() if unfinished else []:
        if job.id in unfinished and job.finished:
            unfinished[job.id].became = describe_result(job.result) if job.result else f":gray[{job.state}]"
    for file in files:
        outcome = file.became or _(":gray[being added]")
        st.markdown(f":small[:gray[:material/attach_file: {markdown.escape_line(file.name, 80)} ·] {outcome}]")


_ATTACHMENTS_KEY = "attached"  # by conversation and question, so that they outlast a switch of conversation


def _attachments() -> dict[tuple[str, str], list[_Attachment]]:
    kept: dict[tuple[str, str], list[_Attachment]] = st.session_state.setdefault(_ATTACHMENTS_KEY, {})
    return kept


_STOP_SECONDS = 0.5
QUESTION_BOX_KEY = "question_box"


@dataclass(frozen=True, slots=True)
class _UnsentMessage:
    """A question with files that could not be saved, and why. It stays until it is sent or discarded."""

    text: str
    files: tuple[UploadedFile, ...]
    reason: str


_UNSENT_KEY = "unsent_messages"


def ask_question(question: str) -> None:
    """Answer a question in the open conversation; queue it while another answer or its files are in progress.

    A question that cannot be saved is kept for `draw_unsent_messages`.
    """
    _send(question, ())


def submit_question() -> None:
    """Queue the files of the question box for the library, then ask its questions once they are added.

    Files without a question are waited for by the next one.
    """
    value: Any = st.session_state[QUESTION_BOX_KEY]
    _send(value.text, tuple(value.files))


def _send(text: str, files: tuple[UploadedFile, ...]) -> None:
    unsent = split_messages(text)
    try:
        if files:
            collection = state.current_options().collection
            jobs = application().jobs
            state.add_unasked_files(
                {jobs.submit_bytes(file.name, file.getvalue(), collection): file.name for file in files}
            )
            files = ()
        while unsent:
            _queue_question(unsent[0])
            unsent.pop(0)
    except BadRequest as error:  # sending it again would not help
        dialogs.keep_refusal(error)
    except Exception as error:  # noqa: BLE001 — whatever failed, nothing that was typed may be lost
        _unsent_messages().append(_UnsentMessage("\n\n".join(unsent), files, " ".join(describe_fault(error))))


def _queue_question(question: str) -> None:
    files = state.unasked_files()
    conversation = state.ensure_conversation()
    run = application().queue.submit(conversation.id, question, files)
    keep_attachments(conversation.id, question, state.pop_unasked_files())
    if run:
        state.show_trace(run.id)
    else:  # it waits, and its trace is shown when it begins
        state.choose_trace_view()


def _unsent_messages() -> list[_UnsentMessage]:
    messages: list[_UnsentMessage] = st.session_state.setdefault(_UNSENT_KEY, [])
    return messages


def has_unsent_messages() -> bool:
    """Return whether `draw_unsent_messages` has something to draw."""
    return bool(_unsent_messages())


def draw_unsent_messages() -> None:
    """Draw the messages that could not be saved, each with its reason and two buttons."""
    for position, message in enumerate(_unsent_messages()):
        with st.chat_message("user", avatar=":material/person:"):
            st.markdown(markdown.escape_paragraphs(message.text), anchors=False)
            for file in message.files:
                st.markdown(f":small[:gray[:material/attach_file: {markdown.escape_line(file.name, 80)}]]")
            st.markdown(
                _(":red[:material/error: **Not sent.** {reason}]").format(reason=markdown.escape_line(message.reason))
            )
            with st.container(horizontal=True):
                keys = {"args": (position,), "type": "tertiary"}
                st.button(_("Try again"), icon=":material/refresh:", key=f"resend-{position}", on_click=_resend, **keys)
                st.button(_("Discard"), icon=":material/delete:", key=f"discard-{position}", on_click=_discard, **keys)


def _resend(position: int) -> None:
    message = _unsent_messages().pop(position)
    _send(message.text, message.files)


def _discard(position: int) -> None:
    _unsent_messages().pop(position)


def edit_question(message_id: int, question: str) -> None:
    """Answer an edited question in a new branch."""
    state.show_trace(application().runs.edit(message_id, question, state.current_options()).id)


def show_branch(conversation_id: str, message_id: int) -> None:
    """Show the branch of the conversation that contains this question."""
    application().conversations.show_branch(conversation_id, message_id)
    state.handle_branch_switch()


def regenerate_answer(run_id: str, options: RunOptions) -> str:
    """Create another version of an answer under these options; return its run id."""
    run = application().runs.regenerate(run_id, options)
    state.show_trace(run.id)
    return run.id


def stop_and_regenerate_answer(run_id: str, options: RunOptions) -> None:
    """Create another version of an answer under these options; stop the answer first if it is still being written."""
    state.show_trace(application().runs.stop_and_regenerate(run_id, options).id)


def continue_answer(run_id: str) -> None:
    """Create another version that continues an incomplete answer from its text so far."""
    state.show_trace(application().runs.continue_answer(run_id).id)


def allow_model_and_regenerate(run_id: str, model: str, options: RunOptions) -> None:
    """Allow questions and passages to be sent to an external model, and answer again."""
    application().preferences.allow_model(model)
    regenerate_answer(run_id, options)


def override_verdict(run_id: str, passage_id: int, ruling: Ruling) -> None:
    """Create another version of an answer with the user's verdict on one passage."""
    state.show_trace(application().runs.overrule(run_id, {passage_id: ruling}).id)


def search_web_for(run_id: str, sentence: str) -> None:
    """Create another version of an answer after a web search for one of its sentences."""
    state.show_trace(application().runs.search_web_for(run_id, sentence).id)


def decide_web_search(run_id: str, query: str | None) -> None:
    """Resume a waiting run: send this query, or with None answer from the documents only."""
    state.show_trace(application().runs.answer_consent(run_id, query).id)


def show_version(run_id: str) -> None:
    """Show this version of an answer in its message."""
    application().runs.show_version(run_id)
    state.show_trace(run_id)


def stop_run(run_id: str) -> None:
    """Stop a run; the text so far is kept."""
    runs = application().runs
    runs.stop(run_id)
    for _unused in runs.attach(run_id).follow(seconds=_STOP_SECONDS):
        pass
