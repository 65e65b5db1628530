"""Set-up checklist: one row per check, with the action that fixes it, refreshed continuously."""

from __future__ import annotations

from typing import NoReturn

import streamlit as st

from crag.checks import LLAMA as LLAMA
from crag.checks import Check, shown_checks
from pages.parts import downloads, markdown, mending, words
from pages.parts.device import is_phone
from pages.parts.mending import draw_dialog as draw_dialog
from pages.parts.resources import checks, is_known, look_again, model_choice

_SIGNS = {
    "ok": ":green[:material/check_circle:]",
    "warn": ":gray[:material/radio_button_unchecked:]",
    "fail": ":red[:material/error:]",
}
_AGAIN_SECONDS = 5.0
_NAME_WIDTH = 170
_OTHERS_IN_VIEW = 2  # the start page must fit a screen of 900 pixels
_BUILTIN = "Built-in engine"


def draw(*, folded: bool = False) -> None:
    """Draw the checks, refreshed every few seconds; `folded` puts them into an expander."""
    if folded:
        missing = [check.name for check in checks() if check.status != "ok"]
        facts = f"not set up: {', '.join(missing)}" if missing else "everything is in place"
        with st.expander(f"Set-up {words.small(markdown.label(facts))}", type="compact", key="set-up"):
            _followed()
    else:
        _followed()


def draw_action(name: str, key: str) -> None:
    """Draw the fix of one check outside the list: button or progress; nothing once it is done."""
    check = mending.find(name)
    if check is not None and check.action is not None:
        st.fragment(_action_followed, run_every=_seconds())(name, key, _drawn())


def _followed() -> None:
    st.fragment(_rows, run_every=_seconds())(_drawn())


def _drawn() -> tuple[bool, str]:
    """Return the state that the rest of the page depends on; a change reruns the whole page."""
    return _is_busy(), model_choice().name


def _seconds() -> float:
    return downloads.AGAIN_SECONDS if _is_busy() else _AGAIN_SECONDS


def _is_busy() -> bool:
    return downloads.is_running() or mending.is_moving() or not is_known()


def _rows(drawn: tuple[bool, str]) -> None:
    if drawn != _drawn():
        _draw_page()
    first, others = shown_checks(checks())
    with st.container(gap=None):
        for check in first:
            _row(check)
        if len(others) <= _OTHERS_IN_VIEW:
            for check in others:
                _row(check)
    if len(others) > _OTHERS_IN_VIEW:
        names = markdown.label(", ".join(check.name for check in others))
        with st.expander(f"{len(others)} more to look at: {words.small(names)}", type="compact", key="set-up-others"):
            for check in others:
                _row(check)


def _action_followed(name: str, key: str, drawn: tuple[bool, str]) -> None:
    check = mending.find(name)
    if drawn != _drawn() or check is None or check.action is None:
        _draw_page()
    if mending.is_under_way(check):
        mending.draw_progress(check)
    mending.draw_button(check, key)


def _draw_page() -> NoReturn:
    """Refresh the status and rerun the whole page."""
    look_again()
    st.rerun()


def _row(check: Check) -> None:
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", wrap=False):
        if mending.is_under_way(check):
            _progress(check)
        else:
            _facts(check)
        mending.draw_button(check, "mend")


def _progress(check: Check) -> None:
    name = f"{_SIGNS[check.status]} {markdown.label(check.name, 60)}"
    if is_phone():  # too narrow for two columns
        with st.container(gap=None):
            st.markdown(name)
            mending.draw_progress(check)
        return
    st.markdown(name, width=_NAME_WIDTH)
    with st.container():
        mending.draw_progress(check)


def _facts(check: Check) -> None:
    # The built-in engine is always available; its row shows whether it is in use.
    state, detail = check.detail.split(": ", 1) if check.name == _BUILTIN else ("", check.detail)
    name = markdown.label(check.name, 60)
    st.markdown(f"{_SIGNS[check.status]} {name} {words.grey(markdown.label(detail, 140))}")
    if state:
        st.badge(markdown.label(state), color="green" if state == "in use" else "gray")
