"""Controls for numeric options: sliders with useful steps, durations in words."""

from __future__ import annotations

from typing import Any

import streamlit as st

from crag.amounts import count
from crag.preferences import Setting

_SLIDER_STEPS = 32
_FOREVER = -1
_TIMES = (300, 1800, 7200, _FOREVER)


def draw(setting: Setting, value: float, title: str, common: dict[str, Any], highest: float | None = None) -> None:
    """Draw the control of a number, limited to `highest` if given; `common` holds the widget's arguments."""
    highest = setting.highest if highest is None else min(highest, setting.highest)
    if setting.unit == "tokens":
        st.select_slider(title, _sizes(setting, value, highest), format_func=lambda size: f"{size:,}", **common)
    elif setting.unit == "seconds":
        st.selectbox(title, _times(value), format_func=duration_word, accept_new_options=True, **common)
    elif (setting.highest - setting.lowest) / setting.step <= _SLIDER_STEPS:
        kind = type(setting.step)
        shown = "%d" if kind is int else "%.1f"
        st.slider(title, kind(setting.lowest), kind(setting.highest), step=setting.step, format=shown, **common)
    else:
        st.number_input(title, setting.lowest, setting.highest, step=setting.step, **common)


def chosen(setting: Setting, value: Any) -> Any:
    """Convert a control's value for the option: a typed duration arrives as text.

    Text that is no number is returned unchanged.
    """
    if setting.unit != "seconds" or not isinstance(value, str):
        return value
    typed = value.strip().removesuffix("s").strip()
    return int(typed) if typed.removeprefix("-").isdecimal() else value


def duration_word(seconds: Any) -> str:
    """Return how long a model stays loaded, such as "30 minutes (1,800 s)"; other input as typed."""
    if not isinstance(seconds, int):
        return str(seconds)
    if seconds == _FOREVER:
        return "Until the server stops (-1)"
    for length, unit in ((3600, "hour"), (60, "minute")):
        if seconds and seconds % length == 0:
            return f"{count(seconds // length, unit)} ({seconds:,} s)"
    return count(seconds, "second")


def _sizes(setting: Setting, value: float, highest: float) -> list[int]:
    """Return the powers of two within the bounds, plus the current value."""
    powers = (2**exponent for exponent in range(32))
    sizes = {size for size in powers if setting.lowest <= size <= highest}
    return sorted(sizes | {int(value)})


def _times(value: float) -> list[int]:
    return list(dict.fromkeys([*_TIMES, int(value)]))
