"""Dialog that is open over a page: its name and argument; at most one at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

_KEY = "dialog"


def ask(name: str, about: Any = None) -> None:
    """Open a dialog with the next draw of the page."""
    st.session_state[_KEY] = (name, about)


def ask_at_once(name: str, about: Any = None) -> None:
    """Open a dialog from a button inside a fragment; use it as the button's callback.

    Only the whole page can draw a dialog. Callbacks run before anything is drawn, whereas code behind `if
    st.button(…)` is never reached when the fragment reruns the page first.
    """
    ask(name, about)
    st.rerun()


def close() -> None:
    """Close the open dialog."""
    st.session_state.pop(_KEY, None)


def close_and_redraw() -> None:
    """Close the dialog from a button inside it, and rerun the page."""
    close()
    st.rerun()


def draw(dialogs: dict[str, Callable[[Any], None]]) -> None:
    """Draw the open dialog, if it is among `dialogs`."""
    name, about = st.session_state.get(_KEY, ("", None))
    if name in dialogs:
        dialogs[name](about)
