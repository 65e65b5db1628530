"""At most one thing lies over a page: what it is, and what it is about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

_KEY = "dialog"


def ask(name: str, about: Any = None) -> None:
    """Open a dialog with the next drawing of the page."""
    st.session_state[_KEY] = (name, about)


def close() -> None:
    """Nothing lies over the page any more."""
    st.session_state.pop(_KEY, None)


def close_and_redraw() -> None:
    """For a button within the dialog."""
    close()
    st.rerun()


def draw(dialogs: dict[str, Callable[[Any], None]]) -> None:
    """Draw the one that was asked for."""
    name, about = st.session_state.get(_KEY, ("", None))
    if name in dialogs:
        dialogs[name](about)
