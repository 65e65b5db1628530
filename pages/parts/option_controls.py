"""Control, value and origin of one option."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import streamlit as st

from crag.inspection.run_labels import format_option_value
from crag.options import OPTIONS, Option, RunOptions, get_option
from crag.storage.preferences import ValueOrigin
from crag.text.formatting import format_count
from crag.translation import N_, _, translate_text
from pages.parts import markdown
from pages.parts.labels import ALL_COLLECTIONS
from pages.parts.markdown import visible
from pages.parts.services import available_models

_SLIDER_STEPS = 32
_FOREVER = -1
_KEEP_ALIVE_SECONDS = (300, 1800, 7200, _FOREVER)


def _draw_number(
    setting: Option, value: float, title: str, common: dict[str, Any], highest: float | None = None
) -> None:
    """Draw the control of a number, limited to `highest` if given; `common` holds the widget's arguments."""
    highest = setting.highest if highest is None else min(highest, setting.highest)
    if setting.unit == "tokens":
        st.select_slider(title, _token_sizes(setting, value, highest), format_func=lambda size: f"{size:,}", **common)
    elif setting.unit == "seconds":
        st.selectbox(
            title, _keep_alive_choices(value), format_func=_format_keep_alive, accept_new_options=True, **common
        )
    elif (setting.highest - setting.lowest) / setting.step <= _SLIDER_STEPS:
        kind = type(setting.step)
        shown = "%d" if kind is int else "%.1f"
        st.slider(title, kind(setting.lowest), kind(setting.highest), step=setting.step, format=shown, **common)
    else:
        st.number_input(title, setting.lowest, setting.highest, step=setting.step, **common)


def _parse_number(setting: Option, value: Any) -> Any:
    """Convert a control's value for the option: a typed duration arrives as text.

    Text that is no number is returned unchanged.
    """
    if setting.unit != "seconds" or not isinstance(value, str):
        return value
    typed = value.strip().removesuffix("s").strip()
    return int(typed) if typed.removeprefix("-").isdecimal() else value


def _format_keep_alive(seconds: Any) -> str:
    """Return how long a model stays loaded, such as "30 minutes (1,800 s)"; other input as typed."""
    if not isinstance(seconds, int):
        return str(seconds)
    if seconds == _FOREVER:
        return _("Until Ollama stops (-1)")
    if seconds and seconds % 3600 == 0:
        return f"{format_count(seconds // 3600, 'hour')} ({seconds:,} s)"
    if seconds and seconds % 60 == 0:
        return f"{format_count(seconds // 60, 'minute')} ({seconds:,} s)"
    return format_count(seconds, "second")


def _token_sizes(setting: Option, value: float, highest: float) -> list[int]:
    """Return the powers of two within the bounds, plus the current value."""
    powers = (2**exponent for exponent in range(32))
    sizes = {size for size in powers if setting.lowest <= size <= highest}
    return sorted(sizes | {int(value)})


def _keep_alive_choices(value: float) -> list[int]:
    return list(dict.fromkeys([*_KEEP_ALIVE_SECONDS, int(value)]))


def draw_collection_select(title: str, names: Iterable[str], **common: Any) -> str:
    """Draw the choice of a collection and return its name, empty for all documents."""
    chosen: str = st.selectbox(
        title, ["", *names], format_func=lambda name: visible(name) or _(ALL_COLLECTIONS), **common
    )
    return chosen


DRAWN_OPTIONS = [name for name, known in OPTIONS.items() if known.scope == "home" or known.kind == "thresholds"]
_MODEL_LABELS_KEY = "models_shown"


def draw_model_box(title: str, labels: Mapping[str, str], common: dict[str, Any]) -> None:
    """Draw the select box; `labels` maps names to plain text, `common` holds the widget's arguments."""
    # A model's label changes with its state, and the browser may still send the label of an earlier draw.
    st.session_state.setdefault(_MODEL_LABELS_KEY, {}).update({label: name for name, label in labels.items()})
    st.selectbox(
        title, list(labels), format_func=lambda name: labels.get(name, name), accept_new_options=True, **common
    )


def read_model_box(key: str) -> str:
    """Return the name chosen or typed in the box under `key`."""
    typed = (st.session_state[key] or "").strip()
    return str(st.session_state.get(_MODEL_LABELS_KEY, {}).get(typed, typed))


ORIGIN_BADGES: dict[ValueOrigin, str] = {
    "default": N_(":gray-badge[default]"),
    "saved": N_(":blue-badge[saved]"),
    "environment": N_(":violet-badge[:material/lock: environment]"),
    "conversation": N_(":orange-badge[this conversation]"),
}
_MOST_SEGMENTS = 3


def draw_control(
    setting: Option,
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
            st.toggle(setting.label, **common)
        case "choice":
            _draw_choice(setting, common)
        case "model":
            names = dict.fromkeys([_unset_model(setting), *_known_models(setting), value])
            draw_model_box(setting.label, {name: format_model(setting.name, name) for name in names}, common)
        case "number":
            _draw_number(setting, value, setting.heading, common, highest)


def read_control(setting: Option, key: str) -> Any:
    """Return the current value of the control under `key`, converted for the option."""
    if setting.kind == "model":
        return read_model_box(key)
    return _parse_number(setting, st.session_state[key]) if setting.kind == "number" else st.session_state[key]


def tuning_options(role: str) -> list[str]:
    """Return the names of the tuning options of a role."""
    return [name for name, option in OPTIONS.items() if option.role == role]


def short_title(setting: Option) -> str:
    """Return the option's title without the name of its role."""
    title = setting.title.rpartition(": ")[2]
    return _(title[:1].upper() + title[1:])


def format_value(name: str, options: RunOptions) -> str:
    """Return the value of an option in words; safe Markdown."""
    value = get_option(options, name)
    match OPTIONS[name].kind:
        case "number" | "switch" | "choice" | "thresholds":
            return format_option_value(name, value)
        case "model":
            return markdown.escape_line(format_model(name, value), 60)
    return markdown.escape_line(format_option_value(name, value), 60)


def format_model(name: str, model: str) -> str:
    """Return the screen name of a model for the option `name`; plain text."""
    if model in ("", "auto"):
        return _(OPTIONS[name].empty_means).capitalize()
    known = {choice.name: choice for choice in available_models()}
    if model not in known:
        return model
    return (
        _("{label} (on another machine)").format(label=translate_text(known[model].label))
        if known[model].cloud
        else translate_text(known[model].label)
    )


def _draw_choice(setting: Option, common: dict[str, Any]) -> None:
    """Draw a few choices side by side, more in a select box."""

    def shown(chosen: Any) -> str:
        return _(setting.values[chosen][0])

    if len(setting.values) <= _MOST_SEGMENTS:
        st.segmented_control(setting.label, list(setting.values), format_func=shown, required=True, **common)
    else:
        st.selectbox(setting.label, list(setting.values), format_func=shown, **common)


def _unset_model(setting: Option) -> str:
    return "auto" if setting.name == "model" else ""


def _known_models(setting: Option) -> list[str]:
    """Return the models that can play the role.

    The built-in engine is offered for answering only; it grades and rewrites whenever it answers.
    """
    return [model.name for model in available_models() if setting.name == "model" or not model.builtin]
