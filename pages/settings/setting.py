"""Row of one option that can be saved: origin, control, reset buttons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from crag.preferences import CATALOG, Effective, Setting
from pages.chat import state
from pages.parts import settings
from pages.parts.resources import application
from pages.settings import rows

Draw = Callable[[Setting, Effective], None]
Explain = Callable[[Setting, Effective], str]


def row(name: str, draw: Draw | None = None, explain: Explain | None = None, title: str = "") -> rows.Row:
    """Return the row of an option; `draw`, `explain` and `title` replace the usual control, meaning and title."""
    setting = CATALOG[name]
    return rows.Row(
        _searched(setting), lambda: _draw(setting, title or setting.title, draw or control, explain or meaning)
    )


def control(setting: Setting, effective: Effective, highest: float | None = None) -> None:
    """Draw the usual control, which saves at once."""
    key = key_of(setting)
    settings.control(
        setting,
        effective.value,
        key,
        lambda: save(setting.name, settings.taken(setting, key)),
        titled=False,
        locked=effective.origin == "environment",
        highest=highest,
    )


def meaning(setting: Setting, effective: Effective) -> str:
    """Return the meaning of the option and of its current value."""
    if setting.name not in settings.CHOICES:
        return setting.meaning
    word, explained = settings.CHOICES[setting.name][effective.value]
    return f"{setting.meaning} {word}: {explained}."


def key_of(setting: Setting) -> str:
    """Return the widget key of the option's control."""
    return f"setting-{setting.name}"


def save(name: str, value: Any) -> None:
    """Save a value for this home; a refusal is shown in the row."""
    if value != application().preferences.effective(name).value:  # the browser may report the same value twice
        rows.attempt(name, application().preferences.save, name, value)


def _draw(setting: Setting, title: str, draw: Draw, explain: Explain) -> None:
    effective = application().preferences.effective(setting.name)
    sentence = explain(setting, effective)
    if effective.origin == "environment":
        sentence = f"{sentence} Set by {setting.variable}; change it there."
    with rows.control(title, settings.ORIGINS[effective.origin], sentence), st.container(gap="xxsmall"):
        draw(setting, effective)
        rows.tell_refusal(setting.name)
        if effective.origin == "saved":
            _back(setting)
        _differing(setting, effective)


def _back(setting: Setting) -> None:
    st.button(
        "Back to default",
        icon=":material/undo:",
        type="tertiary",
        key=f"reset-{setting.name}",
        on_click=application().preferences.reset,
        args=(setting.name,),
    )


def _differing(setting: Setting, effective: Effective) -> None:
    """Draw that the open conversation has its own value, and the button that resets it."""
    changes = state.changes()
    if setting.name not in changes or changes[setting.name] == effective.value:
        return
    own = settings.value_word(setting.name, state.options())
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f":orange-badge[this conversation: {_unit(setting)}{own}]", width="content")
        st.button(
            "Use the saved value there" if effective.origin == "saved" else "Use this value there",
            type="tertiary",
            key=f"forget-{setting.name}",
            on_click=state.forget_changes,
            args=(setting.name,),
        )


def _unit(setting: Setting) -> str:
    return "k " if setting.name == "k" else ""


def _searched(setting: Setting) -> str:
    """Return title, meaning, choices and names of the option, for the search."""
    choices = (f"{word} {meant}" for word, meant in settings.CHOICES.get(setting.name, {}).values())
    return " ".join((setting.title, setting.meaning, *choices, setting.name, setting.variable, setting.unit))
