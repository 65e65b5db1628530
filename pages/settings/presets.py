"""Presets: the known variants of Corrective RAG and saved ones, each used as a whole."""

from __future__ import annotations

import streamlit as st

from crag.graph.presets import PRESETS
from crag.options import Changes, RunOptions, with_changes
from crag.preferences import CATALOG
from pages.chat import state
from pages.parts import dialogs, markdown, settings, words
from pages.parts.resources import application
from pages.settings import rows

WORDS = " ".join(("presets variant save the present settings under a name use for this home conversation", *PRESETS))
DELETE = "delete_preset"
_FOR_HOME, _FOR_CONVERSATION = "For this home", "In the open conversation"
_NAME = "preset_name"


def draw() -> None:
    """Draw every preset with the ways to use it, and the form that saves another."""
    st.caption("A preset settles several things at once. Known variants leave your models as they are.")
    with st.container(border=True):
        for name, changes in application().preferences.presets().items():
            _preset(name, changes)
    _form()


def _preset(name: str, changes: Changes) -> None:
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", wrap=False):
        with st.container():
            st.markdown(f"**{markdown.label(name, 60)}**  \n{words.grey(_described(changes))}")
        with st.container(horizontal=True, width="content", gap="small"):
            if name not in PRESETS:
                st.button("Delete", type="tertiary", key=f"delete-{name}", on_click=dialogs.ask, args=(DELETE, name))
            key = f"use-{name}"
            st.menu_button(
                "Use",
                [_FOR_HOME, _FOR_CONVERSATION],
                key=key,
                type="tertiary",
                on_click=_use,
                args=(key, name, changes),
            )


def _described(changes: Changes) -> str:
    """Return the options of a preset in one line; safe Markdown."""
    options = with_changes(RunOptions(), changes)
    facts = [
        settings.value_word("policy", options),
        f"k {options.k}",
        f"web: {settings.value_word('web', options).lower()}, {words.count(options.web_results, 'result')}",
        f"rewritten as: {settings.value_word('rewrite', options).lower()}",
        *(word for name, word in _SWITCHES.items() if getattr(options, name)),
    ]
    if "model" in changes:
        facts.append(settings.value_word("model", options))
    return " · ".join(facts)


_SWITCHES = {
    "refine": "strips",
    "join_web": "web results as one document",
    "parent_context": "wider context",
    "fetch_pages": "whole web pages",
    "thinking": "thinks first",
}


def _use(key: str, name: str, changes: Changes) -> None:
    if st.session_state[key] == _FOR_CONVERSATION:
        state.use_preset(name)
        st.toast(f"The next question is asked under {markdown.label(name, 60)}.", icon=":material/check:")
        return
    preferences = application().preferences
    for changed, value in changes.items():
        if changed in CATALOG and preferences.effective(changed).origin != "environment":
            preferences.save(changed, value)
    left_out = " Joining web results can be used in a conversation only." if changes.get("join_web") else ""
    st.toast(f"{markdown.label(name, 60)} holds for this home now.{left_out}", icon=":material/check:")


def _form() -> None:
    with st.form("save-preset", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input("Save the present settings under a name", max_chars=60, key=_NAME)
        st.form_submit_button("Save", icon=":material/bookmark_add:", on_click=_save)
    rows.tell_refusal(_NAME)


def _save() -> None:
    preferences = application().preferences
    if rows.attempt(_NAME, preferences.save_preset, st.session_state[_NAME], preferences.options()):
        st.session_state[_NAME] = ""


def draw_delete_dialog(name: str) -> None:
    """Draw the confirmation before a preset is deleted."""
    st.dialog("Delete this preset?", icon=":material/delete:", on_dismiss=dialogs.close)(_confirm)(name)


def _confirm(name: str) -> None:
    st.markdown(f"**{markdown.label(name, 60)}** is forgotten. What it set stays as it is.")
    with st.container(horizontal=True):
        if st.button("Delete it", icon=":material/delete:"):
            rows.attempt(_NAME, application().preferences.delete_preset, name)
            dialogs.close_and_redraw()
        if st.button("Keep it"):
            dialogs.close_and_redraw()
