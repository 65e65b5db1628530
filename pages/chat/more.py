"""Menu *More* below an answer: rare actions, and for an earlier answer the way to all others."""

from __future__ import annotations

import streamlit as st

from crag.runs import Trace
from pages.chat import copying, editing, pinning, state
from pages.parts import dialogs

INSPECT = "pages/inspect/page.py"
EDIT = ":material/edit: Edit question"
COPY = ":material/content_copy: Copy with sources"
TRACE = ":material/route: Trace"
OPEN = ":material/account_tree: Open in Inspect"
SHARE = ":material/share: Share this answer"
SHARING = "share an answer"  # the dialog
ALL = ":material/unfold_more: Everything else about this answer"


def draw(run_id: str, trace: Trace, question_id: int, *, folded: bool = False) -> None:
    """Draw the menu; `folded` adds entries for an answer whose other actions are hidden."""
    key = f"more-{run_id}"
    choices = [
        EDIT,
        *([TRACE, ALL] if folded else []),
        *([COPY] if trace.text else []),
        SHARE,
        pinning.choice(run_id),
        OPEN,
    ]
    chosen = st.menu_button(
        "More",
        choices,
        icon=":material/more_horiz:",
        type="tertiary",
        key=key,
        on_click=_choose,
        args=(key, run_id, question_id),
    )
    if chosen == OPEN:
        st.switch_page(INSPECT, query_params={"run": run_id})


def _choose(key: str, run_id: str, question_id: int) -> None:
    match st.session_state[key]:
        case chosen if chosen == EDIT:
            editing.begin(question_id)
        case chosen if chosen == TRACE:
            state.open_trace(run_id)
        case chosen if chosen == ALL:
            st.session_state.acted_on = run_id
        case chosen if chosen == COPY:
            dialogs.ask(copying.DIALOG, run_id)
        case chosen if chosen == SHARE:
            dialogs.ask(SHARING, run_id)
        case chosen if chosen in (pinning.PIN, pinning.CHANGE):
            dialogs.ask(pinning.DIALOG, run_id)
