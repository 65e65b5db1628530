"""Presets of a conversation: use a known variant or a saved preset, or save one."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from crag.errors import CragError
from pages.chat import state
from pages.parts import markdown
from pages.parts.resources import application

_NAME = "new_preset"


def draw() -> None:
    """Draw the preset menu and the button that resets the conversation's own values."""
    with st.container(horizontal=True, vertical_alignment="center"):
        draw_menu(state.options().preset, state.use_preset, "chosen_preset")
        if own := state.overrides():
            st.button(
                "Back to the home's values",
                icon=":material/undo:",
                type="tertiary",
                key="forget_all",
                on_click=state.forget_changes,
                args=(*own, "preset"),
            )


def draw_menu(chosen: str, choose: Callable[[str], None], key: str) -> None:
    """Draw the menu of presets, labelled with the current one."""
    st.menu_button(
        f"Preset: {markdown.label(chosen, 40)}" if chosen else "Use a preset",
        list(application().preferences.presets()),
        format_func=lambda name: markdown.label(name, 60),
        icon=":material/bookmark:",
        key=key,
        on_click=lambda: choose(st.session_state[key]),
    )


def draw_saving() -> None:
    """Draw the form that saves the current options as a preset."""
    with (
        st.expander("Save these as a preset…", type="compact", key="saving_preset"),
        st.form("save_preset", border=False),
        st.container(horizontal=True, vertical_alignment="bottom"),
    ):
        name = st.text_input("Name", max_chars=60, key=_NAME, placeholder="Long answers")
        if st.form_submit_button("Save", icon=":material/check:"):
            _save(name or "")


def _save(name: str) -> None:
    try:
        application().preferences.save_preset(name, state.options())
    except CragError as error:
        st.toast(markdown.label(str(error)), icon=":material/error:")
    else:
        st.toast(f"Saved: “{markdown.label(name, 60)}”", icon=":material/bookmark:")
