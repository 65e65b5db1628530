"""What was refused just now, kept until the page is drawn: what a callback draws would not be seen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from crag.errors import CragError
from pages.parts import markdown

_KEY = "refused"


def keep(reason: object) -> None:
    """Remember why, as an error or as text, to be told with the next drawing."""
    st.session_state[_KEY] = str(reason)


@contextmanager
def kept() -> Iterator[None]:
    """What is refused inside is kept to be told: nothing else catches what a callback or a dialog raises."""
    try:
        yield
    except CragError as error:
        keep(error)


def tell() -> None:
    """Tell it once."""
    if reason := st.session_state.pop(_KEY, None):
        st.toast(markdown.label(reason), icon=":material/error:", duration="long")
