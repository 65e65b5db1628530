"""Row of the settings: name, origin and explanation on the left, control on the right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from crag.errors import CragError
from crag.options import OPTIONS, Option
from crag.settings import Settings
from crag.storage.preferences import EffectiveValue, ValueOrigin
from crag.translation import _, translate_text
from pages.chat import state
from pages.parts import labels, markdown, option_controls
from pages.parts.option_controls import ORIGIN_BADGES
from pages.parts.services import application
from pages.parts.session import is_phone

_REFUSALS_KEY = "refused_settings"


@dataclass(frozen=True, slots=True)
class SettingsRow:
    """Part of a section; `words` is the text that search looks through.

    A `framed` row shares a box with its neighbours; any other draws its own.
    """

    words: str
    draw: Callable[[], None]
    framed: bool = True


@contextmanager
def lay_out_row(name: str, explanation: str, origin: ValueOrigin | None = None, variable: str = "") -> Iterator[None]:
    """Lay out a row whose right side is drawn inside the `with` block; `explanation` is shown as plain text.

    `variable` is the environment variable that sets the value if its origin is the environment.
    """
    badge = _(ORIGIN_BADGES[origin]) if origin else ""
    if origin == "environment" and variable:
        explanation = (
            _("{explanation} Set by {variable}. Change it there.")
            .format(explanation=explanation, variable=variable)
            .strip()
        )
    explained = f"{name} {badge}  \n{labels.grey_text(markdown.escape_line(explanation))}"
    if is_phone():  # stacked columns would put the value closer to the next name than to its own
        with st.container(gap="xxsmall"):
            st.markdown(explained)
            yield
        return
    left, right = st.columns([1, 1], vertical_alignment="top", gap="medium")
    left.markdown(explained)
    with right:
        yield


def read_only_row(
    name: str, explanation: str, value: Callable[[], str], variable: str = "", field: str = ""
) -> SettingsRow:
    """Return a read-only row.

    `variable` is the environment variable that sets the value, `field` its name in `Settings`; both are empty for
    computed values.
    """

    def draw() -> None:
        is_set = bool(field) and _is_set_by_environment(field)
        origin: ValueOrigin | None = ("environment" if is_set else "default") if field else None
        with lay_out_row(name, explanation, origin, variable):
            st.text(value())

    return SettingsRow(f"{name} {variable} {explanation}", draw)


def _is_set_by_environment(field: str) -> bool:
    """Return whether the environment or `.env` changes this setting from its default."""
    value, default = getattr(application().settings, field), getattr(Settings(), field)
    return value != (default.resolve() if isinstance(default, Path) else default)


def attempt_change(name: str, act: Callable[..., Any], *values: Any) -> bool:
    """Call `act` for the row `name`; return False if refused. The refusal is shown in that row at the next draw."""
    try:
        act(*values)
    except CragError as error:
        st.session_state.setdefault(_REFUSALS_KEY, {})[name] = str(error)
        return False
    return True


def draw_refusal(name: str) -> None:
    """Show the refusal of this row once."""
    if refusal := st.session_state.get(_REFUSALS_KEY, {}).pop(name, ""):
        st.markdown(f":small[:orange[:material/error:] {markdown.escape_line(translate_text(refusal))}]")


DrawControl = Callable[[Option, EffectiveValue], None]
ExplainValue = Callable[[Option, EffectiveValue], str]


def option_row(
    name: str, draw: DrawControl | None = None, explain: ExplainValue | None = None, title: str = ""
) -> SettingsRow:
    """Return the row of an option; `draw`, `explain` and `title` replace the usual control, explanation and title."""
    setting = OPTIONS[name]
    return SettingsRow(
        _search_words(setting),
        lambda: _draw_option_row(
            setting, title or setting.label, draw or draw_option_control, explain or _explain_option
        ),
    )


def draw_option_control(setting: Option, effective: EffectiveValue, highest: float | None = None) -> None:
    """Draw the usual control, which saves at once."""
    key = control_key(setting)
    option_controls.draw_control(
        setting,
        effective.value,
        key,
        lambda: save_option(setting.name, option_controls.read_control(setting, key)),
        titled=False,
        locked=effective.origin == "environment",
        highest=highest,
    )


def _explain_option(setting: Option, effective: EffectiveValue) -> str:
    """Return the explanation of the option and of its current value."""
    if effective.value not in setting.values:
        return _(setting.help)
    word, explained = map(_, setting.values[effective.value])
    return f"{_(setting.help)} {word}: {explained}."


def control_key(setting: Option) -> str:
    """Return the widget key of the option's control."""
    return f"setting-{setting.name}"


def save_option(name: str, value: Any) -> None:
    """Save a value for this home; a refusal is shown in the row."""
    if value != application().preferences.effective(name).value:  # the browser may report the same value twice
        attempt_change(name, application().preferences.save, name, value)


def _draw_option_row(setting: Option, title: str, draw: DrawControl, explain: ExplainValue) -> None:
    effective = application().preferences.effective(setting.name)
    row = lay_out_row(title, explain(setting, effective), effective.origin, setting.variable)
    with row, st.container(gap="xxsmall"):
        draw(setting, effective)
        draw_refusal(setting.name)
        if effective.origin == "saved":
            _draw_reset_button(setting)
        _draw_conversation_value(setting, effective)


def _draw_reset_button(setting: Option) -> None:
    st.button(
        _("Back to default"),
        icon=":material/undo:",
        type="tertiary",
        key=f"reset-{setting.name}",
        on_click=application().preferences.reset,
        args=(setting.name,),
    )


def _draw_conversation_value(setting: Option, effective: EffectiveValue) -> None:
    """Draw that the open conversation has its own value, and the button that resets it."""
    changes = state.option_changes()
    if setting.name not in changes or changes[setting.name] == effective.value:
        return
    own = option_controls.format_value(setting.name, state.current_options())
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(_(":orange-badge[this conversation: {own}]").format(own=own), width="content")
        st.button(
            _("Use the saved value in the conversation")
            if effective.origin == "saved"
            else _("Use this value in the conversation"),
            type="tertiary",
            key=f"forget-{setting.name}",
            on_click=state.reset_options,
            args=(setting.name,),
        )


def _search_words(setting: Option) -> str:
    """Return title, explanation, choices and names of the option, for the search."""
    choices = (f"{word} {meant} {_(word)} {_(meant)}" for word, meant in setting.values.values())
    return " ".join(
        (
            setting.label,
            setting.title,
            _(setting.help),
            setting.help,
            *choices,
            setting.name,
            setting.variable,
            setting.unit,
        )
    )
