"""Chat page: questions, answers with citations, and the trace of each run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import streamlit as st
from streamlit.errors import FragmentHandledException

from crag.runs.run import Run
from crag.translation import N_, _
from crag.types import Conversation, Message, Ruling
from pages.chat import (
    answer,
    answer_actions,
    live_run,
    options,
    question_box,
    question_editor,
    questions,
    queued_questions,
    sidebar,
    state,
)
from pages.chat.messages import (
    draw_messages_above,
    draw_newest_messages,
    draw_next_questions,
    messages_above,
    move_messages_up,
    newest_messages,
    open_message_frames,
    open_place_above,
    shown_messages,
)
from pages.parts import dialogs, layout, notes, reruns, setup_checklist, sharing, source_drawer
from pages.parts.components import clicked_citation, install_history, sync_page
from pages.parts.services import application
from pages.parts.session import user_digest

_DIALOGS: dict[str, Callable[[Any], None]] = {
    answer_actions.REASON_DIALOG: answer_actions.draw_reason_dialog,
    answer_actions.COPY_DIALOG: answer_actions.draw_copy_dialog,
    answer_actions.SHARE_DIALOG: sharing.draw_share_dialog,
    answer_actions.PIN_DIALOG: answer_actions.draw_pin_dialog,
    options.OPTIONS_DRAWER: options.draw_options_drawer,
    options.COMPARISON_DRAWER: options.draw_comparison_drawer,
    **sidebar.CONVERSATION_DIALOGS,
    **notes.NOTE_DIALOGS,
}


def main() -> None:
    """Draw the page; what is above the view comes last."""
    setup_checklist.note_page_state()
    conversation = state.read_address()
    _draw_open_dialog()
    if conversation:
        application().queue.ask_next(conversation.id)
    messages = shown_messages(conversation)
    place = open_place_above(conversation, messages)
    above = messages_above(messages)
    with suppress(FragmentHandledException):  # shown where it happened
        st.fragment(_draw_current_part, key=state.CURRENT_PART)(state.selected_conversation_id(), above)
    draw_messages_above(messages, place)


def _draw_current_part(selected_id: str, above: Sequence[Message]) -> None:
    """Draw all but the messages `above`, which a question and its answer leave as they are.

    That is the sidebar, the running answer, the messages in view and the question box.
    """
    if _is_page_outdated(selected_id):
        st.rerun()
    conversation = state.current_conversation()
    active = application().runs.active(conversation.id) if conversation else None
    if conversation and active is None:
        active = application().queue.ask_next(conversation.id)
    consent_run = active if active is not None and application().runs.trace(active.id).waiting else None
    running = None if consent_run else active
    drawn = _read_revision(conversation)
    messages = shown_messages(conversation)
    newest = newest_messages(messages, above)
    if newest is None:
        st.rerun()
    last_run = messages[-1].run_id if messages else None
    _follow(conversation, active, last_run)
    trace_place = sidebar.draw_sidebar(running, last_run)
    dialogs.show_notice()
    frames = open_message_frames(conversation, newest)
    live = None
    if running is not None and running.id == last_run:
        with frames[messages[-1].id]:
            live = live_run.draw_live_run(running, trace_place, messages[:-1])
    draw_newest_messages(messages, frames, running, live.let_others_go_first if live else lambda: None)
    if conversation:
        queued_questions.draw_queue(conversation.id, active, waits=consent_run is not None)
        queued_questions.draw_unasked_files()
    _draw_bottom(conversation, messages, active, waits=consent_run is not None)
    if live:
        live.follow_first_slice()
    elif last_run and active is None:
        with frames[messages[-1].id]:
            draw_next_questions(last_run, application().runs.trace(last_run), messages)
    if active is None and not _is_user_busy():
        layout.watch_other_tabs(drawn, lambda: _read_revision(conversation))
        move_messages_up(newest)


def _follow(conversation: Conversation | None, active: Run | None, last_run: str | None) -> None:
    """Name the browser's tab after the conversation, and show the trace of its newest run."""
    if active is not None:
        state.follow_active_run(active.id)
    state.follow_last_run(last_run)
    if conversation:
        st.set_page_config(page_title=f"{conversation.title[:80]} · CRAG Chat")


def _draw_bottom(
    conversation: Conversation | None, messages: Sequence[Message], active: Run | None, *, waits: bool
) -> None:
    """Draw the question box, and in its row the components that nobody sees."""
    with question_box.draw_question_box(active, waits=waits):
        install_history()
        sync_page(
            _screen_reader_status(messages, active, waits=waits),
            (messages[-1].run_id or "") if messages else "",
            _open_clicked_citation,
            conversation_id=conversation.id if conversation else "",
            stays=state.pop_keep_scroll(),
            focus=question_editor.open_editor_key(),
            user=user_digest(),
            begun=state.has_begun_here(),
        )


def _is_page_outdated(selected_id: str) -> bool:
    """Return whether the whole page must be drawn, for another conversation or what only the whole page draws.

    That is a drawer, a dialog or an unsent message.
    """
    if state.selected_conversation_id() != selected_id:
        return True
    return not reruns.is_whole_page_drawn() and (_is_dialog_open() or questions.has_unsent_messages())


def _read_revision(conversation: Conversation | None) -> tuple[object, ...]:
    """Return a value that changes when another tab or the command line changes what this page shows."""
    return application().conversations.revision(conversation and conversation.id)


def _is_user_busy() -> bool:
    """Return whether something is open that should not be drawn again unasked."""
    return _is_dialog_open() or state.edited_question_id() is not None


def _is_dialog_open() -> bool:
    return state.is_drawer_open() or dialogs.is_dialog_open()


def _draw_open_dialog() -> None:
    """Draw the drawer or dialog that is open; at most one at a time."""
    if source := state.opened_source():
        source_drawer.open_drawer(
            source, source_drawer.DrawerActions(state.close_source, _ask_only_source, _override_and_close)
        )
    elif run_id := state.opened_trace():
        _draw_trace_drawer(run_id)
    else:
        dialogs.draw_open_dialog(_DIALOGS)
        setup_checklist.draw_help_dialog()


@dialogs.dialog(N_("Trace"), icon=":material/account_tree:", position="right", on_dismiss=state.close_drawers)
def _draw_trace_drawer(run_id: str) -> None:
    if state.opened_source():  # a passage was clicked, and only the whole page can open another drawer
        st.rerun()
    sidebar.draw_trace(run_id, "drawer")


def _ask_only_source(source_id: str) -> None:
    state.change_options(source_ids=(source_id,), collection="")
    state.close_drawers()


def _override_and_close(run_id: str, passage_id: int, ruling: Ruling) -> None:
    state.close_drawers()
    questions.override_verdict(run_id, passage_id, ruling)


def _open_clicked_citation() -> None:
    """Open the source of the clicked citation.

    The run id comes from the browser, so runs of other users and deleted runs are refused.
    """
    run_id, number = clicked_citation()
    application().conversations.find_by_run(run_id)
    trace = application().runs.trace(run_id)
    citations = {str(cited.n): cited for cited in trace.citations} | {
        f"{cited.n}.{index}": cited
        for index, sentence in enumerate(trace.sentences)
        for cited in trace.citations_of(sentence)
    }
    if found := citations.get(number):
        state.open_source(run_id, found.passage_id, found.quote)


def _screen_reader_status(messages: Sequence[Message], active: Run | None, *, waits: bool) -> str:
    if active is not None:
        return _("Waiting for you: allow this search?") if waits else _("Working on the answer")
    if not messages or not messages[-1].run_id:
        return ""
    return answer.outcome_sentence(application().runs.trace(messages[-1].run_id))


main()
