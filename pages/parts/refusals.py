"""Refusals kept until the next draw: anything drawn in a callback would not be seen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from crag.errors import CragError
from pages.parts import markdown

_KEY = "refused"


def keep(reason: object) -> None:
    """Keep an error or message to be shown with the next draw."""
    st.session_state[_KEY] = str(reason)


@contextmanager
def kept() -> Iterator[None]:
    """Catch `CragError` and keep it as a refusal, since nothing else catches errors of callbacks and dialogs."""
    try:
        yield
    except CragError as error:
        keep(error)


def tell() -> None:
    """Show the kept refusal once, as a toast."""
    if reason := st.session_state.pop(_KEY, None):
        st.toast(markdown.label(reason), icon=":material/error:", duration="long")
