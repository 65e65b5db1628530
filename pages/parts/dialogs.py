"""At most one thing lies over a page: what it is, and what it is about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

_KEY = "dialog"


def ask(name: str, about: Any = None) -> None:
    """Open a dialog with the next drawing of the page."""
    st.session_state[_KEY] = (name, about)


def ask_at_once(name: str, about: Any = None) -> None:
    """The same from a fragment: the callback of a button there, since the whole page alone can draw a dialog.

    A callback comes before anything is drawn. What stands behind `if st.button(…)` never comes to be when the fragment
    has the page drawn anew before it gets there.
    """
    ask(name, about)
    st.rerun()


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
