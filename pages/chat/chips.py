"""Chips of a conversation: model, documents, web search, and options."""

from __future__ import annotations

from collections.abc import Container

import streamlit as st

from crag.errors import CragError
from crag.models.choice import model_label
from crag.options import RunOptions, WebMode
from pages.chat import state
from pages.parts import away, markdown, refusals, words
from pages.parts.resources import application, model_choice, models

_EVERYTHING = "All documents"
_WEB_CHIP: dict[WebMode, tuple[str, str]] = {
    "off": ("off", ":material/public_off:"),
    "ask": ("ask", ":material/public:"),
    "auto": ("on", ":material/public:"),
}


def draw(options: RunOptions) -> None:
    """Draw all chips in a row."""
    _model_chip(options)
    _collection_chip(options)
    _web_chip(options)
    _options_chip(options)


def _model_chip(options: RunOptions) -> None:
    automatic = model_choice()
    known = {model.name: model for model in models()}
    chosen = automatic.name if options.model == "auto" else options.model
    leaves = bool(away.of_model(chosen))
    allowed = application().preferences.allowed_models()  # hosted models are in no list of installed ones
    st.menu_button(
        markdown.label(model_label(chosen), 40),
        list(dict.fromkeys(["auto", *known, *allowed, options.model])),
        format_func=lambda name: _model_described(name, automatic.label),
        icon=away.ICON if leaves else ":material/memory:",
        type="tertiary",
        wrap=False,
        key="chip_model",
        on_click=lambda: state.change_options(model=st.session_state.chip_model, preset=""),
    )


def _model_described(name: str, automatic: str) -> str:
    if name == "auto":
        return f"Automatic {words.grey(f'now {markdown.label(automatic, 60)}')}"
    return away.marked(name)


def _collection_chip(options: RunOptions) -> None:
    names = {collection.name: collection for collection in application().library.collections()}

    def described(name: str) -> str:
        if not name:
            return _EVERYTHING
        return f"{markdown.label(name, 60)} {words.grey(f'{names[name].sources:,}')}"

    st.menu_button(
        _only(options.source_ids) or _kept_to(options.collection, names) or _EVERYTHING,
        ["", *names],
        format_func=described,
        icon=":material/folder_open:",
        type="tertiary",
        wrap=False,
        key="chip_collection",
        on_click=lambda: state.change_options(collection=st.session_state.chip_collection, source_ids=()),
    )


def _kept_to(collection: str, names: Container[str]) -> str:
    """Return the name of the collection; a deleted one is marked, since questions would find nothing."""
    gone = collection and collection not in names
    return f"{markdown.label(collection, 40)} (deleted)" if gone else markdown.label(collection, 40)


def _only(source_ids: tuple[str, ...]) -> str:
    """Return the label for a limit to certain documents; a single one by its title."""
    if len(source_ids) != 1:
        return f"Only {words.count(len(source_ids), 'document')}" if source_ids else ""
    try:
        return f"Only {markdown.label(application().library.source(source_ids[0]).title, 24)}"
    except CragError:  # removed since
        return "Only 1 document"


def _web_chip(options: RunOptions) -> None:
    word, icon = _WEB_CHIP[options.web if state.web_is_there() else "off"]
    st.menu_button(
        f"Web: {word}",
        list(words.WEB_MODES),
        format_func=lambda mode: f"{words.WEB_MODES[mode][0]} {words.grey(words.WEB_MODES[mode][1])}",
        icon=icon,
        type="tertiary",
        wrap=False,
        key="chip_web",
        on_click=_choose_web,
    )


def _choose_web() -> None:
    chosen: WebMode = st.session_state.chip_web
    if chosen != "off" and not state.web_is_there():
        refusals.keep("Web search is not set up: put TAVILY_API_KEY into .env and start again.")
        return
    state.change_options(web=chosen)


def _options_chip(options: RunOptions) -> None:
    own = 0 if options.preset else len(state.overrides())
    basis = markdown.label(options.preset, 30) or words.POLICIES[options.policy][0]
    facts = [basis, f"k {options.k}", *([words.count(own, "change")] if own else [])]
    st.button(
        " · ".join(facts),
        icon=":material/tune:",
        type="tertiary",
        wrap=False,
        key="chip_options",
        on_click=lambda: st.session_state.update(options_open=True),
    )
