"""LangSmith: nothing is sent without a key; evaluations on request, traces while switched on."""

from __future__ import annotations

import streamlit as st

from pages.parts import away, markdown
from pages.parts.resources import application
from pages.parts.settings import ORIGINS
from pages.settings import rows

_NAME = "Traces of answers"
_KEY = "traces-allowed"
_NO_KEY = "There is no key, so nothing can go there. It would be `LANGSMITH_API_KEY=…` in the file `.env`."
WORDS = "LangSmith traces of answers LANGSMITH_API_KEY LANGSMITH_TRACING CRAG_LANGSMITH evaluations sent away"


def draw() -> None:
    """Draw the part of the section about LangSmith."""
    with st.container(gap=None):
        st.header("LangSmith", anchor=False)
        with st.container(border=True):
            if not application().settings.langsmith.key:
                st.caption(_NO_KEY)
                return
            host = markdown.label(application().settings.langsmith.host, 60)
            st.markdown(f"An evaluation goes to **{host}** when you send it, each time anew, and only then.")
            _draw_traces()


def _draw_traces() -> None:
    account = application().settings.langsmith
    allowed, traces = application().preferences.may_trace(), application().traces
    meaning = (
        f"While this is on: each question that anybody asks here, the conversation before it, every prompt with its "
        f"passages, and the answer go to {account.host}, project “{account.project}”. Each is listed above, and told "
        "with its answer."
    )
    origin = ORIGINS["environment" if account.always else "saved" if allowed else "default"]
    sentence = f"{meaning} Set by CRAG_LANGSMITH; change it there." if account.always else meaning
    with rows.control(_NAME, origin, sentence), st.container(gap="xxsmall"):
        st.session_state[_KEY] = allowed
        fixed = account.always or not (traces.asked_for or allowed)
        st.toggle(_NAME, key=_KEY, label_visibility="collapsed", disabled=fixed, on_change=_switch)
        rows.tell_refusal(_NAME)
        _tell_state(allowed)


def _tell_state(allowed: bool) -> None:
    """Draw whether traces are sent now, and otherwise what is missing."""
    if application().traces.on:
        st.markdown(f":small[:orange[{away.ICON}] Traces go there now.]")
    elif not application().settings.langsmith.tracing:
        also = "" if allowed else " to be able to switch this on"
        st.caption(f"Nothing goes: set `LANGSMITH_TRACING=true`{also}, then start again.")
    else:
        st.caption("Nothing goes. LANGSMITH_TRACING asks for traces; switch this on if you want them.")


def _switch() -> None:
    rows.attempt(_NAME, application().preferences.allow_traces, bool(st.session_state[_KEY]))
