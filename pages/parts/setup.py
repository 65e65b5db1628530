"""What is set up and what is not: one row each, with the one thing that mends it."""

from __future__ import annotations

import streamlit as st

from crag.types import Check
from pages.parts import markdown, words
from pages.parts.resources import checks

_SIGNS = {
    "ok": ":green[:material/check_circle:]",
    "warn": ":gray[:material/radio_button_unchecked:]",
    "fail": ":red[:material/error:]",
}
LLAMA = "Llama 3 on Ollama"
_ACTIONS = {LLAMA: "How to install", "Nomic embeddings": "How to get", "Web search": "How to add a key"}
_AGAIN_SECONDS = 5.0
_BUILTIN = "Built-in engine"


def draw(*, folded: bool = False) -> None:
    """The rows, looked at again every few seconds; `folded` to one line for those who have begun already."""
    if folded:
        missing = [check.name for check in checks() if check.status != "ok"]
        facts = f"not set up: {', '.join(missing)}" if missing else "everything is in place"
        with st.expander(f"Set-up {words.grey(markdown.label(facts))}", type="compact", key="set-up"):
            _rows()
    else:
        st.fragment(_rows, run_every=_AGAIN_SECONDS)()


def _rows() -> None:
    with st.container(gap=None):
        for check in checks():
            _row(check)


def _row(check: Check) -> None:
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", wrap=False):
        # The built-in engine is always there: what counts is whether it is in use.
        state, detail = check.detail.split(": ", 1) if check.name == _BUILTIN else ("", check.detail)
        name = markdown.label(check.name, 60)
        st.markdown(f"{_SIGNS[check.status]} {name} {words.grey(markdown.label(detail, 140))}")
        if state:
            st.badge(markdown.label(state), color="green" if state == "in use" else "gray")
        elif check.fix:
            word = _ACTIONS.get(check.name, "How to mend")
            if st.button(word, type="tertiary", key=f"mend-{check.name}"):
                st.session_state.mending = check
                st.rerun()


def draw_dialog() -> None:
    """How to mend what was asked about."""
    if check := st.session_state.get("mending"):
        st.dialog(markdown.label(check.name, 60), on_dismiss=_close)(_mend)(check)


def _mend(check: Check) -> None:
    st.caption(markdown.label(check.detail))
    st.markdown(check.fix)
    st.caption("This page notices by itself when it is done; a key in .env counts after the next start.")


def _close() -> None:
    st.session_state.pop("mending", None)
