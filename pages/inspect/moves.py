"""Navigation from a run: to its chat, evaluation, passages and new versions."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from crag.errors import CragError
from crag.runs.run import Run
from crag.types import Ruling
from pages.chat import state as chat
from pages.inspect import chosen
from pages.parts import dialogs, refusals, source
from pages.parts.person import person
from pages.parts.resources import application

SOURCE, REVISE = "passage of a run", "go on from a node"
COMPARE, SHARE = "compare with another run", "share a run"
_CHAT = "pages/chat/page.py"
_EVALUATE = "pages/evaluate/page.py"


def begin(begins: Callable[[], Run]) -> bool:
    """Start a version and select it; return whether it started. A refusal is shown on the next rerun."""
    try:
        run = begins()
    except CragError as error:
        refusals.keep(error)
        return False
    chosen.open_run(run.id)
    return True


def overrule(run_id: str, passage_id: int, ruling: Ruling) -> None:
    """Start a version in which the user's ruling on a passage replaces the grader's verdict."""
    begin(lambda: application().runs.overrule(run_id, {passage_id: ruling}))


def open_chat(run_id: str) -> None:
    """Open the conversation of a run, with the trace shown."""
    conversation = application().conversations.of_run(run_id, person())
    if conversation is None:
        st.toast("This question was asked outside of any conversation.", icon=":material/info:")
        return
    chat.open_conversation(conversation.id)
    chat.show_trace(run_id)
    st.switch_page(_CHAT, query_params={"c": conversation.id})


def open_evaluation(evaluation_id: str) -> None:
    """Open the evaluation that a run belongs to."""
    st.switch_page(_EVALUATE, query_params={"evaluation": evaluation_id})


def open_source(about: tuple[str, int]) -> None:
    """Open the source drawer for a (run id, passage id) pair."""
    run_id, passage_id = about
    quote = application().runs.trace(run_id).quote(passage_id)
    actions = source.Actions(dialogs.close, _ask_only, overrule)
    source.open_drawer(source.SourceView(run_id, passage_id, quote), actions)


def _ask_only(source_id: str) -> None:
    dialogs.close()
    chat.ask_only([source_id])
    st.switch_page(_CHAT)
