"""Consent card for a web query: the query can be edited, sent or declined."""

from __future__ import annotations

import streamlit as st

from crag.protocols import MAX_QUERY_LENGTH
from crag.runs.trace import Trace
from crag.translation import N_, _, join_texts
from pages.chat import state
from pages.chat.questions import decide_web_search
from pages.parts import markdown
from pages.parts.layout import draw_watching
from pages.parts.services import application

_POLL_SECONDS = 1.5
_PAGES_NOTE = N_("Then the full pages found are fetched from their sites.")
_FROM_QUESTION_NOTE = N_("Written from your question, never from your documents.")
_FROM_ANSWER_NOTE = N_(
    "Taken from a sentence of the answer, so it may contain words from your documents. Check it before you send it."
)


def draw_consent_card(run_id: str, trace: Trace) -> None:
    """Draw the card of a waiting run."""
    asked = trace.waiting
    if asked is None:
        return
    key = f"query-{run_id}"
    with st.container(border=True):
        st.markdown(_("**Allow this search?**"))
        st.text_area(
            _("Query for the web"),
            value=application().runs.draft(run_id),
            max_chars=MAX_QUERY_LENGTH,
            height=68,
            key=key,
            label_visibility="collapsed",
            on_change=_keep_draft,
            args=(run_id,),
        )
        origin = _(_FROM_ANSWER_NOTE) if asked.from_answer else _(_FROM_QUESTION_NOTE)
        host = markdown.escape_line(asked.host, 80)
        fetches = trace.options.fetch_pages
        sent = _("Sends this query to {host}.") if fetches else _("Sends this query and nothing else to {host}.")
        said = join_texts(sent.format(host=host), origin, _(_PAGES_NOTE) if fetches else "")
        st.caption(f":material/arrow_circle_up: {said}")
        with st.container(horizontal=True):
            st.button(_("Allow"), icon=":material/public:", key=f"send-{run_id}", on_click=_send_query, args=(run_id,))
            st.button(_("Don't search"), key=f"keep-{run_id}", on_click=decide_web_search, args=(run_id, None))
        st.checkbox(_("Always allow in this conversation"), key=f"always-{run_id}")
    # It may also be decided in another tab.
    draw_watching(True, lambda: application().runs.trace(run_id).waiting is not None, _POLL_SECONDS)


def _keep_draft(run_id: str) -> None:
    application().runs.save_draft(run_id, st.session_state[f"query-{run_id}"])


def _send_query(run_id: str) -> None:
    if st.session_state.get(f"always-{run_id}"):
        state.change_options(web="auto")
    decide_web_search(run_id, st.session_state[f"query-{run_id}"])
