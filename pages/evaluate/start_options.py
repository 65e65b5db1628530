"""Options of a new evaluation: the saved options of the home with changes for this evaluation."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from crag.evaluation.types import Variant
from crag.inspection.run_labels import describe_option
from crag.options import (
    DOCUMENT_OPTIONS,
    MAIN_OPTIONS,
    OPTIONS,
    RunOptions,
    apply_changes,
    diff_options,
    get_option,
)
from crag.reference_systems import preset_title
from crag.text.formatting import format_count
from crag.translation import N_, _
from pages.chat.options import OptionControls, draw_preset_menu
from pages.chat.state import has_web_search
from pages.evaluate import grid
from pages.parts import dialogs, markdown, option_controls
from pages.parts.layout import draw_folded
from pages.parts.services import application

OPTIONS_DIALOG = "settings of an evaluation"
_CHANGES_KEY = "evaluate_changes"
_DRAWER_WIDTH = 480
_SHOWN_OPTIONS = {"model", "web", "preset", *DOCUMENT_OPTIONS, *MAIN_OPTIONS}
_OFFERED_OPTIONS = [
    *MAIN_OPTIONS,
    *(name for name, known in OPTIONS.items() if known.changes_answers and name not in _SHOWN_OPTIONS),
]


def current_options() -> RunOptions:
    """Return the effective options; web search that asks first is off, since nobody can answer during an evaluation."""
    held = apply_changes(application().preferences.options(), st.session_state.get(_CHANGES_KEY, {}))
    return held if held.web == "auto" and has_web_search() else replace(held, web="off")


def set_options(held: RunOptions) -> None:
    """Set the options to those of an earlier evaluation."""
    st.session_state[_CHANGES_KEY] = diff_options(application().preferences.options(), held)


def draw_options() -> None:
    """Draw the model, the documents, the web switch and the button for all other settings."""
    held = current_options()
    left, right = st.columns(2)
    with left:
        option_controls.draw_control(OPTIONS["model"], held.model, "evaluate-model", _store_model)
    with right:
        _draw_collection_choice(held)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        dialogs.draw_opener(_("Settings"), ":material/tune:", OPTIONS_DIALOG, key="evaluate-settings")
        st.caption(f"{summarize_options(held)}{_describe_other_changes()}", width="content")
    if has_web_search():
        st.toggle(
            _("Search the web when the documents do not answer"),
            held.web == "auto",
            key="evaluate-web",
            on_change=lambda: _change_options(web="auto" if st.session_state["evaluate-web"] else "off"),
        )


def draw_variants(base: RunOptions) -> Sequence[Variant]:
    """Draw the grid and return one variant per combination; without a choice, one variant with the base options."""
    axes = partial(grid.draw_axes, base)
    return draw_folded(_("Try several settings"), "evaluate-grid", axes, type="compact") or [Variant("", base)]


def summarize_options(held: RunOptions) -> str:
    """Return a short summary of the options as safe Markdown."""
    return " · ".join(describe_options(held))


def describe_options(held: RunOptions, without: Collection[str] = ()) -> list[str]:
    """Describe the main options in a few words each, except those in `without`; safe Markdown.

    A preset stands for all of them.
    """
    if "preset" in without:
        return []
    preset = [] if without or not held.preset else [preset_title(held.preset)]  # a preset names all options at once
    main = [describe_option(name, get_option(held, name)) for name in MAIN_OPTIONS if name not in without]
    return [markdown.escape_line(words, 40) for words in (*preset, *main)]


def _describe_other_changes() -> str:
    """Say how many other options differ from those of the home."""
    others = set(st.session_state.get(_CHANGES_KEY, {})) - _SHOWN_OPTIONS
    return " · " + _("{settings} changed").format(settings=format_count(len(others), "other setting")) if others else ""


@dialogs.dialog(N_("Settings of this evaluation"), icon=":material/tune:", position="right", width=_DRAWER_WIDTH)
def draw_options_dialog(_unused: None) -> None:
    """Draw the settings drawer."""
    held = current_options()
    with st.container(horizontal=True):
        draw_preset_menu(held.preset, _apply_preset, "evaluate-preset")
        if st.session_state.get(_CHANGES_KEY):
            st.button(
                _("Use the saved values"),
                icon=":material/undo:",
                type="tertiary",
                on_click=lambda: st.session_state.pop(_CHANGES_KEY, None),
            )
    st.caption(_("Applies to this evaluation only. Saved settings do not change."))
    OptionControls(held, _change_options, "evaluate").draw_only(_OFFERED_OPTIONS)


def _draw_collection_choice(held: RunOptions) -> None:
    names = [collection.name for collection in application().library.collections() if collection.passages]
    key = "evaluate-collection"
    st.session_state[key] = held.collection if held.collection in names else ""
    option_controls.draw_collection_select(
        _("Documents"), names, key=key, on_change=lambda: _change_options(collection=st.session_state[key])
    )


def _store_model() -> None:
    _change_options(model=option_controls.read_control(OPTIONS["model"], "evaluate-model"))


def _change_options(**changes: Any) -> None:
    st.session_state[_CHANGES_KEY] = {**st.session_state.get(_CHANGES_KEY, {}), **changes}


def _apply_preset(name: str) -> None:
    _change_options(**application().preferences.presets()[name], preset=name)
