"""One row a setting: its name, where it comes from and what it means on the left; what it is on the right."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import streamlit as st

from crag.errors import CragError
from pages.parts import markdown, words
from pages.parts.device import is_phone
from pages.parts.settings import ORIGINS

_REFUSED = "refused_settings"


@dataclass(frozen=True, slots=True)
class Row:
    """What a section is made of, and what search finds: `words` are all that it goes by.

    A `framed` row shares a box with its neighbours; any other is a block that draws its own.
    """

    words: str
    draw: Callable[[], None]
    framed: bool = True


@contextmanager
def control(name: str, badge: str, meaning: str) -> Iterator[None]:
    """A row whose right side is drawn within the block; `meaning` is shown as plain text."""
    explained = f"{name} {badge}  \n{words.grey(markdown.label(meaning))}"
    if is_phone():  # columns would stack, with the value nearer to the next name than to its own
        with st.container(gap="xxsmall"):
            st.markdown(explained)
            yield
        return
    left, right = st.columns([1, 1], vertical_alignment="top", gap="medium")
    left.markdown(explained)
    with right:
        yield


def text(name: str, variable: str, meaning: str, value: str) -> None:
    """A row that only tells; `variable` is what sets it, empty where nothing does."""
    is_set = bool(variable and os.environ.get(variable))
    badge = ORIGINS["environment" if is_set else "default"] if variable else ""
    with control(name, badge, meaning + (f" Set by {variable}." if is_set else "")):
        st.text(value)


def telling(name: str, variable: str, meaning: str, value: Callable[[], str]) -> Row:
    """A row that only tells, for a section."""
    return Row(f"{name} {variable} {meaning}", lambda: text(name, variable, meaning, value()))


def attempt(name: str, act: Callable[..., Any], *values: Any) -> bool:
    """Do what a control of the row `name` asks for; a refusal is told in that row with the next drawing."""
    try:
        act(*values)
    except CragError as error:
        st.session_state.setdefault(_REFUSED, {})[name] = str(error)
        return False
    return True


def tell_refusal(name: str) -> None:
    """What was refused in this row just now, once."""
    if told := st.session_state.get(_REFUSED, {}).pop(name, ""):
        st.markdown(f":small[:orange[:material/error:] {markdown.label(told)}]")
