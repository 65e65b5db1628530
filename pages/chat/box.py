"""Below the messages: the chips of this conversation, Stop while a run is active, and the question box."""

from __future__ import annotations

from collections.abc import Container

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from crag.errors import CragError
from crag.options import RunOptions, WebMode
from crag.runs import QUESTION_LIMIT
from crag.runs.run import Run
from pages.chat import state
from pages.chat.questions import BOX, stop, submitted
from pages.parts import markdown, words
from pages.parts.adding import UPLOAD_TYPES
from pages.parts.resources import application, models

_EVERYTHING = "All documents"
_WEB_CHIP: dict[WebMode, tuple[str, str]] = {
    "off": ("off", ":material/public_off:"),
    "ask": ("ask", ":material/public:"),
    "auto": ("on", ":material/public:"),
}


def draw(active: Run | None, *, waits: bool) -> DeltaGenerator:
    """Draw it at the bottom of the page; returns the row of the chips, where what is invisible takes no room.

    `waits` says that the active run waits for a person: what is asked meanwhile is asked after it.
    """
    options = state.options()
    with st.bottom:
        with st.container(horizontal=True, vertical_alignment="center", wrap=False):
            chips = st.container(horizontal=True, wrap=False, vertical_alignment="center")
            with chips:
                _model_chip(options)
                _collection_chip(options)
                _web_chip(options)
                _options_chip(options)
            if active is not None:
                st.button(
                    "Stop",
                    icon=":material/stop_circle:",
                    shortcut="Esc",
                    key="stop",
                    on_click=stop,
                    args=(active.id,),
                )
        st.chat_input(
            "Decide about the web search first" if waits else "Ask your documents",
            key=BOX,
            accept_file="multiple",
            file_type=UPLOAD_TYPES,
            max_upload_size=application().settings.max_upload_mb,
            submit_mode="submit",
            max_chars=QUESTION_LIMIT,
            on_submit=submitted,
        )
    return chips


def _model_chip(options: RunOptions) -> None:
    automatic = application().model_choice()
    known = {model.name: model for model in models()}
    chosen = known.get(options.model, automatic)

    def described(name: str) -> str:
        if name == "auto":
            return f"Automatic {words.grey(f'now {markdown.label(automatic.label, 60)}')}"
        away = "prompts leave this machine" if known[name].cloud else ""
        return f"{markdown.label(known[name].label, 60)} {words.grey(away)}"

    st.menu_button(
        markdown.label(chosen.label, 40),
        ["auto", *known],
        format_func=described,
        icon=":material/memory:",
        type="tertiary",
        wrap=False,
        key="chip_model",
        on_click=lambda: state.change_options(model=st.session_state.chip_model),
    )


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
    """The collection that is asked; one deleted since finds nothing, which must be seen before one asks."""
    gone = collection and collection not in names
    return f"{markdown.label(collection, 40)} (deleted)" if gone else markdown.label(collection, 40)


def _only(source_ids: tuple[str, ...]) -> str:
    """What the questions are kept to: the document by its name."""
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
        st.session_state.refused = "Web search is not set up: put TAVILY_API_KEY into .env and start again."
        return
    state.change_options(web=chosen)


def _options_chip(options: RunOptions) -> None:
    st.button(
        f"{words.POLICIES[options.policy][0]} · k {options.k}",
        icon=":material/tune:",
        type="tertiary",
        wrap=False,
        key="chip_options",
        on_click=lambda: st.session_state.update(options_open=True),
    )
