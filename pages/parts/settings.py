"""One option on screen: its control, its value in words, and the origin of the value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from crag.options import RunOptions, Thresholds, value_of
from crag.preferences import CATALOG, Setting, ValueOrigin
from pages.parts import markdown, model_box, numbers, words
from pages.parts.resources import models

ORIGINS: dict[ValueOrigin, str] = {
    "default": ":gray-badge[default]",
    "saved": ":blue-badge[saved]",
    "environment": ":violet-badge[:material/lock: environment]",
    "conversation": ":orange-badge[this conversation]",
}
CHOICES: dict[str, Mapping[Any, tuple[str, str]]] = {
    "policy": words.POLICIES,
    "grader": words.GRADERS,
    "web": words.WEB_MODES,
    "rewrite": words.REWRITES,
}
_SIDE_BY_SIDE = 3
_SAME_MODEL = "The one that answers"
_AUTOMATIC = "Automatic"


def control(
    setting: Setting,
    value: Any,
    key: str,
    on_change: Callable[[], None],
    *,
    titled: bool = True,
    locked: bool = False,
    highest: float | None = None,
) -> None:
    """Draw the control of an option with its current `value`; `titled` shows the title with it.

    A number is limited to `highest` where the option allows more than makes sense. Inside `on_change`,
    `read_control` returns the new value.
    """
    shown = "visible" if titled else "collapsed"
    common: dict[str, Any] = {"key": key, "on_change": on_change, "disabled": locked, "label_visibility": shown}
    # Set at each draw, since the value may have changed elsewhere.
    st.session_state[key] = type(setting.step)(value) if setting.kind == "number" else value
    match setting.kind:
        case "switch":
            st.toggle(setting.title, **common)
        case "choice":
            _choice(setting, common)
        case "model":
            names = dict.fromkeys([_no_model(setting), *_known_models(setting), value])
            model_box.draw(setting.title, {name: model_word(setting.name, name) for name in names}, common)
        case "number":
            title = f"{setting.title}, {setting.unit}" if setting.unit else setting.title
            numbers.draw(setting, value, title, common, highest)


def taken(setting: Setting, key: str) -> Any:
    """Return the current value of the control under `key`, converted for the option."""
    if setting.kind == "model":
        return model_box.taken(key)
    return numbers.chosen(setting, st.session_state[key]) if setting.kind == "number" else st.session_state[key]


def tuning_of(role: str) -> list[str]:
    """Return the names of the tuning options of a role."""
    return [name for name in CATALOG if name.startswith(f"{role}.")]


def short_title(setting: Setting) -> str:
    """Return the option's title without the name of its role."""
    title = setting.title.rpartition(": ")[2]
    return title[:1].upper() + title[1:]


def value_word(name: str, options: RunOptions) -> str:
    """Return the value of an option in words; safe Markdown."""
    value = value_of(options, name)
    if name in CHOICES:
        return CHOICES[name][value][0]
    if name.endswith("model"):
        return markdown.label(model_word(name, value), 60)
    match value:
        case bool():
            return "on" if value else "off"
        case int() | float():
            return f"{value:,}"
        case Thresholds():
            return f"{words.score(value.lower)} and {words.score(value.upper)}"
        case None:
            return "automatic"
    return markdown.label(str(value), 60)


def model_word(name: str, model: str) -> str:
    """Return the screen name of a model for the option `name`; plain text."""
    if model in ("", "auto"):
        return _AUTOMATIC if name == "model" else _SAME_MODEL
    known = {choice.name: choice for choice in models()}
    if model not in known:
        return model
    return f"{known[model].label} (runs elsewhere)" if known[model].cloud else known[model].label


def _choice(setting: Setting, common: dict[str, Any]) -> None:
    """Draw a few choices side by side, more in a select box."""

    def shown(chosen: Any) -> str:
        return CHOICES[setting.name][chosen][0]

    if len(setting.choices) <= _SIDE_BY_SIDE:
        st.segmented_control(setting.title, setting.choices, format_func=shown, required=True, **common)
    else:
        st.selectbox(setting.title, setting.choices, format_func=shown, **common)


def _no_model(setting: Setting) -> str:
    return "auto" if setting.name == "model" else ""


def _known_models(setting: Setting) -> list[str]:
    """Return the models that can play the role.

    The built-in engine is offered for answering only; it grades and rewrites whenever it answers.
    """
    return [model.name for model in models() if setting.name == "model" or not model.builtin]
