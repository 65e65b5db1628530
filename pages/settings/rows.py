"""One row a setting: its name, where it comes from and what it means on the left; what it is on the right."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from pages.parts import markdown, words
from pages.parts.device import is_phone

DEFAULT = ":gray-badge[default]"
SAVED = ":blue-badge[saved]"
ENVIRONMENT = ":violet-badge[:material/lock: environment]"


@contextmanager
def control(name: str, badge: str, meaning: str) -> Iterator[None]:
    """A row whose right side is drawn within the block; `meaning` is shown as plain text."""
    explained = f"{name} {badge}  \n{words.grey(markdown.label(meaning))}"
    if is_phone():  # columns would stack, with the value nearer to the next name than to its own
        with st.container(gap="xxsmall"):
            st.markdown(explained)
            yield
        return
    left, right = st.columns([3, 2], vertical_alignment="top", gap="medium")
    left.markdown(explained)
    with right:
        yield


def text(name: str, variable: str, meaning: str, value: str) -> None:
    """A row that only tells; `variable` is what sets it, empty where nothing does."""
    is_set = bool(variable and os.environ.get(variable))
    badge = (ENVIRONMENT if is_set else DEFAULT) if variable else ""
    with control(name, badge, meaning + (f" Set by {variable}." if is_set else "")):
        st.text(value)
