"""Options of a new evaluation: the saved options of the home with changes for this evaluation."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from crag.evaluate.values import Variant
from crag.options import RunOptions, changes_between, with_changes
from crag.preferences import CATALOG
from pages.chat import presets
from pages.chat.controls import THRESHOLDS, Controls
from pages.chat.state import web_is_there
from pages.evaluate.grids import grid
from pages.parts import dialogs, markdown, settings, words
from pages.parts.folding import draw_folded
from pages.parts.resources import application

SETTINGS = "settings of an evaluation"
_CHANGES = "evaluate_changes"
_EVERYTHING = "All documents"
_WIDTH = 480
_SAID = {"model", "collection", "web", "preset", "policy", "k", "refine", "grader"}
_OFFERED = (
    *("policy", "k", "refine", "grader", THRESHOLDS, "grader_model", "rewriter_model", "thinking", "rewrite"),
    *("web_results", "fetch_pages", "parent_context", "answering.temperature", "answering.window"),
    *("answering.answer_limit", "grading.window"),
)


def options() -> RunOptions:
    """Return the effective options; web search that asks first is off, since nobody can answer during an evaluation."""
    held = with_changes(application().preferences.options(), st.session_state.get(_CHANGES, {}))
    return held if held.web == "auto" and web_is_there() else replace(held, web="off")


def use(held: RunOptions) -> None:
    """Set the options to those of an earlier evaluation."""
    st.session_state[_CHANGES] = changes_between(application().preferences.options(), held)


def draw() -> None:
    """Draw the model, the documents, the web switch and the button for all other settings."""
    held = options()
    left, right = st.columns(2)
    with left:
        settings.control(CATALOG["model"], held.model, "evaluate-model", _take_model)
    with right:
        _draw_collection(held)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button("Settings", icon=":material/tune:", on_click=dialogs.ask, args=(SETTINGS,), key="evaluate-settings")
        st.caption(f"{summary(held)}{_others()}", width="content")
    if web_is_there():
        st.toggle(
            "Search the web where the documents do not answer",
            held.web == "auto",
            key="evaluate-web",
            on_change=lambda: _change(web="auto" if st.session_state["evaluate-web"] else "off"),
        )


def draw_variants(base: RunOptions, questions: int) -> Sequence[Variant]:
    """Draw the grid and return one variant per combination; without a choice, one variant with the base options."""
    axes = partial(grid.draw_axes, base, questions)
    return draw_folded("Try several settings", "evaluate-grid", axes, type="compact") or [Variant("", base)]


def summary(held: RunOptions) -> str:
    """Return a short summary of the options as safe Markdown."""
    return " · ".join(in_words(held))


def in_words(held: RunOptions, without: Collection[str] = ()) -> list[str]:
    """Describe the main options in a few words each, except those in `without`."""
    told = {
        "preset": "" if without else markdown.label(held.preset, 40),  # a preset names all options at once
        "policy": f"policy {settings.value_word('policy', held)}",
        "k": f"k {held.k}",
        "refine": "refined" if held.refine else "not refined",
        "grader": f"grader {settings.value_word('grader', held).lower()}",
    }
    return [said for name, said in told.items() if said and name not in without]


def _others() -> str:
    """Say how many other options differ from those of the home."""
    others = set(st.session_state.get(_CHANGES, {})) - _SAID
    return f" · {words.count(len(others), 'other setting')} changed" if others else ""


def draw_dialog(_: Any = None) -> None:
    """Draw the settings drawer."""
    dialog = st.dialog(
        "Settings of this evaluation", icon=":material/tune:", position="right", width=_WIDTH, on_dismiss=dialogs.close
    )
    dialog(_draw_drawer)()


def _draw_drawer() -> None:
    held = options()
    with st.container(horizontal=True):
        presets.draw_menu(held.preset, _use_preset, "evaluate-preset")
        if st.session_state.get(_CHANGES):
            st.button("Back to the home's values", icon=":material/undo:", type="tertiary", on_click=_forget)
    st.caption("They count for the evaluation that you begin. What is saved for your home stays as it is.")
    Controls(held, _change, "evaluate").draw_only(_OFFERED)


def _draw_collection(held: RunOptions) -> None:
    names = [collection.name for collection in application().library.collections() if collection.passages]
    key = "evaluate-collection"
    st.session_state[key] = held.collection if held.collection in names else ""
    st.selectbox(
        "Documents",
        ["", *names],
        format_func=lambda name: markdown.visible(name) or _EVERYTHING,
        key=key,
        on_change=lambda: _change(collection=st.session_state[key]),
    )


def _take_model() -> None:
    _change(model=settings.taken(CATALOG["model"], "evaluate-model"))


def _change(**changes: Any) -> None:
    st.session_state[_CHANGES] = {**st.session_state.get(_CHANGES, {}), **changes}


def _use_preset(name: str) -> None:
    _change(**application().preferences.presets()[name], preset=name)


def _forget() -> None:
    st.session_state.pop(_CHANGES, None)
