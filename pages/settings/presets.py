"""Presets: the known variants of Corrective RAG and saved ones."""

from __future__ import annotations

import streamlit as st

from crag.inspection import run_labels
from crag.options import MAIN_OPTIONS, SAVED_OPTIONS, OptionChanges, RunOptions, get_option
from crag.reference_systems import REFERENCE_SYSTEMS, preset_title
from pages.chat import state
from pages.parts import dialogs, labels, markdown
from pages.parts.services import application
from pages.settings import setting_row

PRESET_WORDS = " ".join(
    (
        "presets variant save the present settings under a name use for this home conversation",
        *(f"{name} {preset.title} {preset.origin}" for name, preset in REFERENCE_SYSTEMS.items()),
    )
)
DELETE_PRESET_DIALOG = "delete_preset"
_FOR_HOME, _FOR_CONVERSATION = "As default", "In the open conversation"
_NAME_KEY = "preset_name"


def draw_presets() -> None:
    """Draw every preset with the ways to use it, and the form that saves another."""
    st.caption("A preset changes several settings at once. Built-in presets keep your models.")
    with st.container(border=True):
        for name, changes in application().preferences.presets().items():
            _draw_preset(name, changes)
    _draw_save_form()


def _draw_preset(name: str, changes: OptionChanges) -> None:
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", wrap=False):
        with st.container():
            origin = f"{REFERENCE_SYSTEMS[name].origin} (`{name}`)" if name in REFERENCE_SYSTEMS else None
            title = markdown.escape_line(preset_title(name), 60)
            st.markdown(f"**{title}**  \n{labels.grey_text(_describe_preset(changes))}", help=origin)
        with st.container(horizontal=True, width="content", gap="small"):
            if name not in REFERENCE_SYSTEMS:
                dialogs.draw_opener("Delete", None, DELETE_PRESET_DIALOG, name, type="tertiary", key=f"delete-{name}")
            key = f"use-{name}"
            st.menu_button(
                "Use",
                [_FOR_HOME, _FOR_CONVERSATION],
                key=key,
                type="tertiary",
                on_click=_use_preset,
                args=(key, name, changes),
            )


def _describe_preset(changes: OptionChanges) -> str:
    """Return the main options of a preset and those that differ from the defaults, in one line; safe Markdown."""
    usual = RunOptions()
    named = {name: value for name, value in changes.items() if name in MAIN_OPTIONS or value != get_option(usual, name)}
    return markdown.escape_line(
        " · ".join(run_labels.describe_option(name, value) for name, value in named.items()), 300
    )


def _use_preset(key: str, name: str, changes: OptionChanges) -> None:
    title = markdown.escape_line(preset_title(name), 60)
    if st.session_state[key] == _FOR_CONVERSATION:
        state.use_preset(name)
        st.toast(f"The next question uses “{title}”.", icon=":material/check:")
        return
    preferences = application().preferences
    for changed, value in changes.items():
        if changed in SAVED_OPTIONS and preferences.effective(changed).origin != "environment":
            preferences.save(changed, value)
    left_out = " Web results as one passage works only in a conversation." if changes.get("join_web") else ""
    st.toast(f"“{title}” is now the default.{left_out}", icon=":material/check:")


def _draw_save_form() -> None:
    with st.form("save-preset", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input("Save current settings as a preset", max_chars=60, key=_NAME_KEY)
        st.form_submit_button("Save", icon=":material/bookmark_add:", on_click=_save_preset)
    setting_row.draw_refusal(_NAME_KEY)


def _save_preset() -> None:
    preferences = application().preferences
    if setting_row.attempt_change(
        _NAME_KEY, preferences.save_preset, st.session_state[_NAME_KEY], preferences.options()
    ):
        st.session_state[_NAME_KEY] = ""


def draw_delete_preset_dialog(name: str) -> None:
    """Draw the confirmation before a preset is deleted."""
    dialogs.confirm(
        "Delete preset?",
        lambda: st.markdown(f"**{markdown.escape_line(name, 60)}** will be deleted. Current settings do not change."),
        "Delete",
        lambda: application().preferences.delete_preset(name),
    )
