"""The open dialog of a page, and refusals shown on the next rerun."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import streamlit as st

from crag.errors import CragError
from crag.translation import _, translate_text
from pages.parts import markdown

_DIALOG_KEY = "dialog"


def open_dialog(name: str, about: Any = None) -> None:
    """Open a dialog with the next draw of the page."""
    st.session_state[_DIALOG_KEY] = (name, about)


def draw_opener(label: str, icon: str | None, name: str, about: Any = None, **looks: Any) -> None:
    """Draw a button that opens a dialog with the next draw of the page."""
    st.button(label, icon=icon, on_click=open_dialog, args=(name, about), **looks)


def open_dialog_from_fragment(name: str, about: Any = None) -> None:
    """Open a dialog from a button inside a fragment; use it as the button's callback.

    Only the whole page can draw a dialog. Callbacks run before anything is drawn, whereas code behind `if
    st.button(…)` is never reached when the fragment reruns the page first.
    """
    open_dialog(name, about)
    st.rerun()


def is_dialog_open() -> bool:
    """Return whether `draw_open_dialog` has a dialog to draw."""
    return _DIALOG_KEY in st.session_state


def close_dialog() -> None:
    """Close the open dialog."""
    st.session_state.pop(_DIALOG_KEY, None)


def dialog(title: str, **options: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorate a function that draws the content of an open dialog; takes the arguments of `st.dialog`.

    The title is an English text, translated when the dialog opens.
    """

    def decorate(draw: Callable[..., None]) -> Callable[..., None]:
        @wraps(draw)
        def draw_dialog(*about: Any) -> None:
            st.dialog(_(title), **{"on_dismiss": close_dialog, **options})(draw)(*about)

        return draw_dialog

    return decorate


def close_and_rerun() -> None:
    """Close the dialog from a button inside it, and rerun the page."""
    close_dialog()
    st.rerun()


def draw_open_dialog(dialogs: dict[str, Callable[[Any], None]]) -> None:
    """Draw the open dialog, if it is among `dialogs`."""
    name, about = st.session_state.get(_DIALOG_KEY, ("", None))
    if name in dialogs:
        dialogs[name](about)


def confirm(title: str, draw: Callable[[], None], label: str, act: Callable[[], object]) -> None:
    """Draw a dialog that asks before something is deleted: what goes, a button that does it, a button that does not.

    A `CragError` of `act` is shown in the dialog, which stays open.
    """

    @dialog(title, icon=":material/delete:")
    def draw_dialog() -> None:
        draw()
        with st.container(horizontal=True):
            confirmed = st.button(label, icon=":material/delete:", key="confirm")
            cancelled = st.button(_("Cancel"), key="cancel")
        if confirmed:
            try:
                act()
            except CragError as error:
                draw_error(error)
                return
        if confirmed or cancelled:
            close_and_rerun()

    draw_dialog()


def draw_error(error: CragError) -> None:
    """Draw an error where it happened."""
    st.markdown(f":red[{markdown.escape_line(translate_text(str(error)))}]")


def toast_error(error: object) -> None:
    """Show an error or message as a toast."""
    st.toast(markdown.escape_line(translate_text(str(error))), icon=":material/error:", duration="long")


_NOTICE_KEY = "notice"
_REFUSAL_ICON = ":material/error:"


def keep_refusal(reason: object) -> None:
    """Keep an error or message to be shown with the next draw."""
    st.session_state[_NOTICE_KEY] = (str(reason), _REFUSAL_ICON)


def keep_notice(text: str, icon: str) -> None:
    """Keep what a callback did to be shown with the next draw, since callbacks of a fragment cannot draw."""
    st.session_state[_NOTICE_KEY] = (text, icon)


@contextmanager
def catch_refusals() -> Iterator[None]:
    """Catch `CragError` and keep it as a refusal, for code below a button; callbacks need not catch errors."""
    try:
        yield
    except CragError as error:
        keep_refusal(error)


def show_notice() -> None:
    """Show the kept refusal or notice once, as a toast."""
    text, icon = st.session_state.pop(_NOTICE_KEY, ("", ""))
    if text:
        st.toast(
            markdown.escape_line(translate_text(text)), icon=icon, duration="long" if icon == _REFUSAL_ICON else "short"
        )
