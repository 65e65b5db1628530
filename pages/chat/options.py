"""Drawer of a conversation's options, and the drawer with the second options of a comparison."""

from __future__ import annotations

from typing import Any

import streamlit as st

from crag.options import RunOptions, with_changes
from pages.chat import presets, state, versions
from pages.chat.controls import Controls
from pages.chat.questions import answer_again
from pages.parts.resources import application

_WIDTH = 480
_CALIBRATION = "pages/calibration/page.py"


def draw_options() -> None:
    """Draw the drawer behind the last chip."""
    st.dialog("This conversation", icon=":material/tune:", position="right", width=_WIDTH, on_dismiss=close_options)(
        _options_drawer
    )()


def close_options() -> None:
    """Close the options drawer."""
    st.session_state.pop("options_open", None)


def _options_drawer() -> None:
    presets.draw()
    Controls(state.options(), state.change_options, "option", state.origins(), state.forget_changes).draw()
    presets.draw_saving()
    if st.button("Calibrate thresholds on your documents", icon=":material/straighten:", type="tertiary"):
        close_options()  # otherwise the drawer would be open again after coming back
        st.switch_page(_CALIBRATION)
    st.caption("These belong to this conversation and count from the next question on.")


def draw_comparison() -> None:
    """Draw the drawer in which the second options are chosen."""
    st.dialog(
        "Compare with other settings",
        icon=":material/compare_arrows:",
        position="right",
        width=_WIDTH,
        on_dismiss=_close_comparison,
    )(_comparison_drawer)(*st.session_state.comparing)


def _close_comparison() -> None:
    st.session_state.pop("comparing", None)
    st.session_state.pop("compared_options", None)


def _comparison_drawer(run_id: str, first: RunOptions) -> None:
    second: RunOptions = st.session_state.get("compared_options", first)
    st.caption("The same question is answered once more. What you choose here counts for that answer alone.")
    presets.draw_menu(second.preset, _use_preset, "compared_preset")
    Controls(second, _change_second, "compared").draw()
    if st.button("Answer and compare", icon=":material/compare_arrows:", disabled=second == first):
        other = answer_again(run_id, second)
        _close_comparison()
        if other is None:
            st.rerun()
        versions.open_comparison(run_id, other)
    if second == first:
        st.caption("Change something first: these are the settings of the answer that is there.")


def _use_preset(name: str) -> None:
    _change_second(**application().preferences.presets()[name], preset=name)


def _change_second(**changes: Any) -> None:
    _, first = st.session_state.comparing
    st.session_state.compared_options = with_changes(st.session_state.get("compared_options", first), changes)
