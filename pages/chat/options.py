"""The drawer of a conversation's options, and that of the second settings to compare an answer with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from crag.options import RunOptions, WebMode
from pages.chat import state, versions
from pages.chat.controls import Change, Controls
from pages.chat.questions import answer_again
from pages.parts import words
from pages.parts.resources import application, models

_WIDTH = 480
_CALIBRATION = "pages/calibration/page.py"


def draw_options() -> None:
    """The drawer behind the last chip."""
    st.dialog("This conversation", icon=":material/tune:", position="right", width=_WIDTH, on_dismiss=close_options)(
        _options_drawer
    )()


def close_options() -> None:
    """The drawer was closed."""
    st.session_state.pop("options_open", None)


def _options_drawer() -> None:
    Controls(state.options(), state.change_options, "option").draw()
    if st.button("Calibrate thresholds on your documents", icon=":material/straighten:", type="tertiary"):
        close_options()  # else the drawer would lie over the chat on the way back
        st.switch_page(_CALIBRATION)
    st.caption("These belong to this conversation and count from the next question on.")


def draw_comparison() -> None:
    """The drawer in which the second settings are chosen."""
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
    _model(second, _change_second)
    _web(second, _change_second)
    Controls(second, _change_second, "compared").draw()
    if st.button("Answer and compare", icon=":material/compare_arrows:", disabled=second == first):
        other = answer_again(run_id, second)
        _close_comparison()
        if other is None:
            st.rerun()
        versions.open_comparison(run_id, other)
    if second == first:
        st.caption("Change something first: these are the settings of the answer that is there.")


def _change_second(**changes: Any) -> None:
    _, first = st.session_state.comparing
    st.session_state.compared_options = replace(st.session_state.get("compared_options", first), **changes)


def _model(options: RunOptions, change: Change) -> None:
    known = {model.name: model.label for model in models()}
    automatic = application().model_choice().label
    names = ["auto", *known] if options.model in ("auto", *known) else ["auto", *known, options.model]
    st.selectbox(
        "Model",
        names,
        index=names.index(options.model),
        format_func=lambda name: f"Automatic, now {automatic}" if name == "auto" else known.get(name, name),
        key="compared_model",
        on_change=lambda: change(model=st.session_state.compared_model),
    )


def _web(options: RunOptions, change: Change) -> None:
    if not state.web_is_there():
        return
    modes: list[WebMode] = list(words.WEB_MODES)
    st.segmented_control(
        "Web search",
        modes,
        default=options.web,
        required=True,
        format_func=lambda mode: words.WEB_MODES[mode][0],
        key="compared_web",
        on_change=lambda: change(web=st.session_state.compared_web),
    )
