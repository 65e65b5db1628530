"""Questions that wait in a conversation: why, and their editor, order and removal; files that wait for a question."""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import partial

import streamlit as st

from crag.runs.question_queue import QueuedQuestion
from crag.runs.run import Run
from crag.text.formatting import format_count
from crag.translation import _
from pages.chat import question_editor, questions, state
from pages.parts import layout, markdown
from pages.parts.services import application

_POLL_SECONDS = 1.0


def draw_queue(conversation_id: str, active: Run | None, *, waits: bool) -> None:
    """Draw the questions that wait behind the active run; `waits` means that this run waits for consent."""
    queued = application().queue.questions(conversation_id)
    if not queued:
        return
    for place, question in enumerate(queued):
        questions.keep_attachments(conversation_id, question.text, question.files)
        with question_editor.question_message():
            if question.on_hold:
                _draw_editor(question)
            else:
                question_editor.draw_question_text(question.text, f"queued-{question.id}")
                questions.draw_attachments(conversation_id, question.text)
                _draw_controls(question, place, len(queued), _reason(question, place, active, waits=waits))
    # It may also be asked or changed in another tab, or wait for files that another process reads.
    layout.draw_watching((queued, active and active.id), lambda: _read_queue(conversation_id), _POLL_SECONDS)


def draw_unasked_files() -> None:
    """Draw the files that were sent without a question, as long as their jobs are listed."""
    unasked = state.unasked_files()
    jobs = {job.id for job in application().jobs.jobs()} if unasked else ()
    files = {job_id: name for job_id, name in unasked.items() if job_id in jobs}
    if not files:
        return
    unfinished = _count_unfinished(files)  # before the rows: a file that is ready in between is drawn by the next watch
    with question_editor.question_message():
        questions.draw_unasked_files(files)
        if unfinished:
            layout.draw_watching(unfinished, lambda: _count_unfinished(files), _POLL_SECONDS)
        else:
            st.caption(_("Your next question is asked with these files in your documents."))


def _count_unfinished(files: Container[str]) -> int:
    return sum(job.id in files and not job.finished for job in application().jobs.jobs())


def _read_queue(conversation_id: str) -> tuple[list[QueuedQuestion], str | None]:
    application().queue.wake()
    active = application().runs.active(conversation_id)
    return application().queue.questions(conversation_id), active and active.id


def _reason(question: QueuedQuestion, place: int, active: Run | None, *, waits: bool) -> str:
    """Return why the question has not been asked yet; safe Markdown."""
    if unread := application().queue.unread_files(question):
        name = f"“{markdown.escape_line(unread[0], 60)}”"
        return (
            _("{name} is being read").format(name=name)
            if len(unread) == 1
            else _("{files} are being read").format(files=format_count(len(unread), "file"))
        )
    if place:
        return _("asked after the question above")
    if waits:
        return _("decide about the web search first")
    return _("asked when this answer is done") if active else _("asked next")


def _draw_controls(question: QueuedQuestion, place: int, count: int, reason: str) -> None:
    queue = application().queue
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(_(":material/hourglass_empty: Waiting: {reason}.").format(reason=reason), width="content")
        _draw_button(_("Edit"), ":material/edit:", question, queue.hold)
        if place:
            _draw_button(_("Move up"), ":material/arrow_upward:", question, partial(queue.move, up=True))
        if place < count - 1:
            _draw_button(_("Move down"), ":material/arrow_downward:", question, partial(queue.move, up=False))
        _draw_button(_("Remove"), ":material/close:", question, queue.remove)


def _draw_button(word: str, icon: str, question: QueuedQuestion, act: Callable[[int], object]) -> None:
    st.button(word, icon=icon, type="tertiary", key=f"queued-{word}-{question.id}", on_click=act, args=(question.id,))


def _draw_editor(question: QueuedQuestion) -> None:
    release, key = application().queue.release, f"queued-text-{question.id}"
    with question_editor.draw_editor(key, question.text):
        st.form_submit_button(
            _("Save"), icon=":material/check:", on_click=lambda: release(question.id, st.session_state[key] or "")
        )
        st.form_submit_button(_("Cancel"), type="tertiary", on_click=release, args=(question.id,))
        st.caption(_("It is asked after you save or cancel."), width="content")
