"""Chat page: questions, answers with citations, and the trace of each run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from crag.runs.run import Run
from crag.types import Conversation, Message, Ruling
from pages.chat import (
    answer,
    asked,
    attachments,
    box,
    conversation_menu,
    copying,
    editing,
    feedback,
    live,
    more,
    next_questions,
    options,
    pinning,
    questions,
    sidebar,
    state,
)
from pages.chat.messages import draw as draw_messages
from pages.chat.messages import shown
from pages.parts import dialogs, refusals, setup, sharing, source
from pages.parts.components import cited, page_glue
from pages.parts.device import is_phone
from pages.parts.person import person
from pages.parts.resources import application

_DIALOGS: dict[str, Callable[[Any], None]] = {
    feedback.WHY: feedback.ask_why,
    copying.DIALOG: copying.draw_dialog,
    more.SHARING: sharing.draw_share,
    pinning.DIALOG: pinning.draw_dialog,
    **conversation_menu.DIALOGS,
}


def main() -> None:
    """Draw the page.

    The running answer is drawn last, since it is followed after everything else is on the page.
    """
    questions.ask_waiting()
    conversation = state.current()
    active = application().runs.active(conversation.id) if conversation else None
    consent_run = active if active is not None and application().runs.trace(active.id).waiting else None
    running = None if consent_run else active
    messages = shown(conversation)
    last_run = messages[-1].run_id if messages else None
    if conversation:
        st.set_page_config(page_title=f"{conversation.title[:80]} · CRAG Chat")
    trace_place = sidebar.draw(running, last_run)
    with box.draw(active, waits=consent_run is not None):
        page_glue(
            _status(messages, active),
            last_run or "",
            _open_cited,
            stays=state.page_stays(),
            focus=editing.field(),
            left=state.sidebar_left(),
        )
    refusals.tell()
    _draw_dialog()
    places = draw_messages(conversation, messages, running)
    _draw_waiting(conversation, consent_run)
    if running is not None and running.id in places:
        with places[running.id]:
            live.draw(running, trace_place)
    elif last_run and active is None:
        with places[last_run]:
            next_questions.draw(last_run, application().runs.trace(last_run), messages)


def _draw_waiting(conversation: Conversation | None, consent_run: Run | None) -> None:
    """Draw the question that waits for another answer, for the user's consent, or for its files to be read."""
    waiting = st.session_state.get("waiting")
    if waiting is None:
        return
    with asked.message():
        asked.draw_text(waiting, "waiting")
        if conversation:
            attachments.draw_of(conversation.id, waiting)
    reason = "asked when this answer is done"
    if consent_run is not None:
        reason = "decide about the web search first"
    elif st.session_state.get("files_first"):
        reason = "its files are read first"
    st.caption(f":material/hourglass_empty: Waiting: {reason}.")
    st.fragment(_look_again, run_every=1.0)()


def _look_again() -> None:
    if questions.ask_waiting():
        st.rerun()


def _draw_dialog() -> None:
    """Draw the drawer or dialog that is open; at most one at a time."""
    remembered = st.session_state
    if "options_open" in remembered:
        options.draw_options()
    elif "comparing" in remembered:
        options.draw_comparison()
    elif "source" in remembered:
        source.open_drawer(remembered.source, source.Actions(state.close_source, _only, _overrule))
    elif "trace_open" in remembered and is_phone():
        _trace_drawer(remembered.trace_open)
    else:
        dialogs.draw(_DIALOGS)
        setup.draw_dialog()


def _trace_drawer(run_id: str) -> None:
    drawer = st.dialog("Trace", icon=":material/account_tree:", position="right", on_dismiss=state.close_drawers)
    drawer(_trace_in_drawer)(run_id)


def _trace_in_drawer(run_id: str) -> None:
    if "source" in st.session_state:  # a passage was clicked, and only the whole page can open another drawer
        st.rerun()
    sidebar.draw_trace(run_id, "drawer")


def _only(source_id: str) -> None:
    state.change_options(source_ids=(source_id,), collection="")
    state.close_drawers()


def _overrule(run_id: str, passage_id: int, ruling: Ruling) -> None:
    questions.overrule(run_id, passage_id, ruling)
    state.close_drawers()


def _open_cited() -> None:
    """Open the source of the clicked citation.

    The run id comes from the browser, so runs of other users and deleted runs are refused.
    """
    run_id, number = cited()
    with refusals.kept():
        application().conversations.of_run(run_id, person())
        citations = application().runs.trace(run_id).citations
        if found := next((citation for citation in citations if str(citation.n) == number), None):
            state.open_source(run_id, found.passage_id, found.quote)


def _status(messages: Sequence[Message], active: Run | None) -> str:
    if active is not None:
        waiting = application().runs.trace(active.id).waiting
        return "Waiting for you: may this query go to the web?" if waiting else "Working on the answer"
    if not messages or not messages[-1].run_id:
        return ""
    return answer.sentence_of_outcome(application().runs.trace(messages[-1].run_id))


main()
