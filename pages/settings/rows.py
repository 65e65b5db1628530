"""Row of the settings: name, origin and meaning on the left, value on the right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from crag.errors import CragError
from crag.settings import Settings
from pages.parts import markdown, words
from pages.parts.device import is_phone
from pages.parts.resources import application
from pages.parts.settings import ORIGINS

_REFUSED = "refused_settings"


@dataclass(frozen=True, slots=True)
class Row:
    """Part of a section; `words` is the text that search looks through.

    A `framed` row shares a box with its neighbours; any other draws its own.
    """

    words: str
    draw: Callable[[], None]
    framed: bool = True


@contextmanager
def control(name: str, badge: str, meaning: str) -> Iterator[None]:
    """Lay out a row whose right side is drawn inside the `with` block; `meaning` is shown as plain text."""
    explained = f"{name} {badge}  \n{words.grey(markdown.label(meaning))}"
    if is_phone():  # stacked columns would put the value closer to the next name than to its own
        with st.container(gap="xxsmall"):
            st.markdown(explained)
            yield
        return
    left, right = st.columns([1, 1], vertical_alignment="top", gap="medium")
    left.markdown(explained)
    with right:
        yield


def telling(name: str, meaning: str, value: Callable[[], str], variable: str = "", field: str = "") -> Row:
    """Return a read-only row.

    `variable` is the environment variable that sets the value, `field` its name in `Settings`; both are empty for
    computed values.
    """

    def draw() -> None:
        is_set = bool(field) and _is_set(field)
        badge = ORIGINS["environment" if is_set else "default"] if field else ""
        with control(name, badge, f"{meaning} Set by {variable}." if is_set else meaning):
            st.text(value())

    return Row(f"{name} {variable} {meaning}", draw)


def _is_set(field: str) -> bool:
    """Return whether the environment or `.env` changes this setting from its default."""
    value, default = getattr(application().settings, field), getattr(Settings(), field)
    return value != (default.resolve() if isinstance(default, Path) else default)


def attempt(name: str, act: Callable[..., Any], *values: Any) -> bool:
    """Call `act` for the row `name`; return False if refused. The refusal is shown in that row at the next draw."""
    try:
        act(*values)
    except CragError as error:
        st.session_state.setdefault(_REFUSED, {})[name] = str(error)
        return False
    return True


def tell_refusal(name: str) -> None:
    """Show the refusal of this row once."""
    if told := st.session_state.get(_REFUSED, {}).pop(name, ""):
        st.markdown(f":small[:orange[:material/error:] {markdown.label(told)}]")
