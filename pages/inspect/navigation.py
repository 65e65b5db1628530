"""Selected run of the Inspect page, and navigation from a run to other pages."""

from __future__ import annotations

import streamlit as st

from crag.translation import _
from crag.types import Ruling
from pages.chat import state
from pages.parts import dialogs, source_drawer
from pages.parts.address import AddressSelection, open_page
from pages.parts.routes import Page
from pages.parts.services import application

RUN_SELECTION = AddressSelection("run")


def open_run(found: str) -> None:
    """Select a run for the next rerun and close any open dialog."""
    dialogs.close_dialog()
    RUN_SELECTION.select(found)


def show_overview() -> None:
    """Clear the selection and return to the overview."""
    open_run("")


PASSAGE_DIALOG, REVISE_DIALOG = "passage of a run", "go on from a node"
COMPARE_DIALOG, SHARE_DIALOG = "compare with another run", "share a run"


def overrule_verdict(run_id: str, passage_id: int, ruling: Ruling) -> None:
    """Start and select a version in which the user's ruling on a passage replaces the grader's verdict."""
    open_run(application().runs.overrule(run_id, {passage_id: ruling}).id)


def open_chat(run_id: str) -> None:
    """Open the conversation of a run, with the trace shown."""
    conversation = application().conversations.find_by_run(run_id)
    if conversation is None:
        st.toast(_("This question does not belong to a conversation."), icon=":material/info:")
        return
    state.open_conversation(conversation.id)
    state.show_trace(run_id)
    open_page(Page.CHAT, c=conversation.id)


def open_evaluation(evaluation_id: str) -> None:
    """Open the evaluation that a run belongs to."""
    open_page(Page.EVALUATE, evaluation=evaluation_id)


def open_passage(run_id: str, passage_id: int) -> None:
    """Open the source drawer with the next draw."""
    quote = application().runs.trace(run_id).quote(passage_id)
    dialogs.open_dialog(PASSAGE_DIALOG, source_drawer.SourceView(run_id, passage_id, quote))


def draw_passage(view: source_drawer.SourceView) -> None:
    """Draw the source drawer."""
    actions = source_drawer.DrawerActions(dialogs.close_dialog, _ask_only_source, overrule_verdict)
    source_drawer.open_drawer(view, actions)


def _ask_only_source(source_id: str) -> None:
    dialogs.close_dialog()
    state.start_conversation_about([source_id])
    open_page(Page.CHAT)
