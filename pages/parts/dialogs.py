"""The open dialog of a page, and refusals shown on the next rerun."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import streamlit as st

from crag.errors import CragError
from pages.parts import markdown

_DIALOG_KEY = "dialog"


def open_dialog(name: str, about: Any = None) -> None:
    """Open a dialog with the next draw of the page."""
    st.session_state[_DIALOG_KEY] = (name, about)


def open_dialog_from_fragment(name: str, about: Any = None) -> None:
    """Open a dialog from a button inside a fragment; use it as the button's callback.

    Only the whole page can draw a dialog. Callbacks run before anything is drawn, whereas code behind `if
    st.button(…)` is never reached when the fragment reruns the page first.
    """
    open_dialog(name, about)
    st.rerun()


def close_dialog() -> None:
    """Close the open dialog."""
    st.session_state.pop(_DIALOG_KEY, None)


def close_and_rerun() -> None:
    """Close the dialog from a button inside it, and rerun the page."""
    close_dialog()
    st.rerun()


def draw_open_dialog(dialogs: dict[str, Callable[[Any], None]]) -> None:
    """Draw the open dialog, if it is among `dialogs`."""
    name, about = st.session_state.get(_DIALOG_KEY, ("", None))
    if name in dialogs:
        dialogs[name](about)


_REFUSAL_KEY = "refused"


def keep_refusal(reason: object) -> None:
    """Keep an error or message to be shown with the next draw."""
    st.session_state[_REFUSAL_KEY] = str(reason)


@contextmanager
def catch_refusals() -> Iterator[None]:
    """Catch `CragError` and keep it as a refusal, since nothing else catches errors of callbacks and dialogs."""
    try:
        yield
    except CragError as error:
        keep_refusal(error)


def show_refusal() -> None:
    """Show the kept refusal once, as a toast."""
    if reason := st.session_state.pop(_REFUSAL_KEY, None):
        st.toast(markdown.escape_line(reason), icon=":material/error:", duration="long")
