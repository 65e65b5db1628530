"""Question box, its chips, and the Stop button."""

from __future__ import annotations

from collections.abc import Container

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from crag.errors import CragError
from crag.models.model_choice import model_label
from crag.options import POLICIES, WEB_MODES, RunOptions, WebMode
from crag.reference_systems import keep_system, preset_title
from crag.runs.run import Run
from crag.text.formatting import format_count
from crag.text.sanitization import MAX_QUESTION_LENGTH
from crag.translation import N_, _, translate_text
from pages.chat import state
from pages.chat.options import OPTIONS_DRAWER
from pages.chat.questions import QUESTION_BOX_KEY, stop_run, submit_question
from pages.parts import dialogs, external_hosts, labels, markdown
from pages.parts.services import application, available_models, model_choice
from pages.parts.session import is_phone

_WEB_CHIPS: dict[WebMode, tuple[str, str]] = {
    "off": (N_("off"), ":material/public_off:"),
    "ask": (N_("ask"), ":material/public:"),
    "auto": (N_("on"), ":material/public:"),
}


def _tick(label: str, *, chosen: bool) -> str:
    """Mark the current choice of a menu; behind its label, so that all labels begin on one line."""
    return f"{label} :material/check:" if chosen else label


def _draw_model_chip(options: RunOptions) -> None:
    automatic = model_choice()
    known = {model.name: model for model in available_models()}
    chosen = automatic.name if options.model == "auto" else options.model
    leaves = bool(external_hosts.model_host(chosen))
    allowed = application().preferences.allowed_models()  # hosted models are in no list of installed ones
    st.menu_button(
        markdown.escape_line(translate_text(model_label(chosen)), 40),
        list(dict.fromkeys(["auto", *known, *allowed, options.model])),
        format_func=lambda name: _tick(_describe_model(name, automatic.label), chosen=name == options.model),
        icon=external_hosts.EXTERNAL_ICON if leaves else ":material/memory:",
        type="tertiary",
        wrap=False,
        key="chip_model",
        on_click=lambda: state.change_options(model=st.session_state.chip_model, preset=keep_system(options)),
    )


def _describe_model(name: str, automatic: str) -> str:
    if name == "auto":
        return _("Automatic {grey_text}").format(
            grey_text=labels.grey_text(_("now {model}").format(model=markdown.escape_line(_(automatic), 60)))
        )
    return external_hosts.model_with_host(name)


def _draw_collection_chip(options: RunOptions) -> None:
    names = {collection.name: collection for collection in application().library.collections()}

    def described(name: str) -> str:
        chosen = name == options.collection and not options.source_ids
        if not name:
            return _tick(_(labels.ALL_COLLECTIONS), chosen=chosen)
        return _tick(f"{markdown.escape_line(name, 60)} {labels.grey_text(f'{names[name].sources:,}')}", chosen=chosen)

    st.menu_button(
        _only_sources_label(options.source_ids)
        or _collection_label(options.collection, names)
        or _(labels.ALL_COLLECTIONS),
        ["", *names],
        format_func=described,
        icon=":material/folder_open:",
        type="tertiary",
        wrap=False,
        key="chip_collection",
        on_click=lambda: state.change_options(collection=st.session_state.chip_collection, source_ids=()),
    )


def _collection_label(collection: str, names: Container[str]) -> str:
    """Return the name of the collection; a deleted one is marked, since questions would find nothing."""
    gone = collection and collection not in names
    return (
        _("{collection} (deleted)").format(collection=markdown.escape_line(collection, 40))
        if gone
        else markdown.escape_line(collection, 40)
    )


def _only_sources_label(source_ids: tuple[str, ...]) -> str:
    """Return the label for a limit to certain documents; a single one by its title."""
    if len(source_ids) != 1:
        return _("Only {documents}").format(documents=format_count(len(source_ids), "document")) if source_ids else ""
    try:
        return _("Only {title}").format(
            title=markdown.escape_line(application().library.source(source_ids[0]).title, 24)
        )
    except CragError:  # removed since
        return _("Only 1 document")


def _draw_web_chip(options: RunOptions) -> None:
    now: WebMode = options.web if state.has_web_search() else "off"
    word, icon = _WEB_CHIPS[now]
    st.menu_button(
        _("Web: {word}").format(word=_(word)),
        list(WEB_MODES),
        format_func=lambda mode: _tick(
            f"{_(WEB_MODES[mode][0])} {labels.grey_text(_(WEB_MODES[mode][1]))}", chosen=mode == now
        ),
        icon=icon,
        type="tertiary",
        wrap=False,
        key="chip_web",
        on_click=_choose_web_mode,
    )


def _choose_web_mode() -> None:
    chosen: WebMode = st.session_state.chip_web
    if chosen != "off" and not state.has_web_search():
        dialogs.keep_refusal(
            _("Web search is not set up. Add TAVILY_API_KEY or CRAG_SEARXNG_URL to .env, then restart.")
        )
        return
    state.change_options(web=chosen)


def _draw_options_chip(options: RunOptions) -> None:
    own = 0 if options.preset else len(state.changed_options(options))
    policy = _("Grading off") if options.policy == "off" else _(POLICIES[options.policy][0])
    basis = markdown.escape_line(preset_title(options.preset), 30) or policy
    facts = [basis, format_count(options.k, "passage"), *([format_count(own, "change")] if own else [])]
    looks = {"type": "tertiary", "wrap": False, "key": "chip_options"}
    dialogs.draw_opener(" · ".join(facts), ":material/tune:", OPTIONS_DRAWER, **looks)


def _placeholder(*, waits: bool) -> str:
    """Return the hint in the empty box; `pages.parts.components` listens for the key, which a phone lacks."""
    if waits:
        return _("Decide about the web search first")
    return _("Ask your documents") if is_phone() else _("Ask your documents  ·  press /")


def draw_question_box(active: Run | None, *, waits: bool) -> DeltaGenerator:
    """Draw the bottom bar and return the row of chips, where invisible elements take no space.

    The chips wrap, or are shortened on a phone, where Stop has no Esc shortcut. `waits` means that the active run waits
    for consent: further questions are asked after it.
    """
    options = state.current_options()
    with st.bottom:
        external_hosts.draw_external_hosts(options)
        with st.container(horizontal=True, vertical_alignment="center", wrap=False):
            row = st.container(horizontal=True, vertical_alignment="center", gap="small")
            with row:
                for draw_chip in (_draw_model_chip, _draw_collection_chip, _draw_web_chip, _draw_options_chip):
                    draw_chip(options)
            if active is not None:
                icon = ":material/stop_circle:"
                shortcut = None if is_phone() else "Esc"
                st.button(_("Stop"), icon=icon, shortcut=shortcut, key="stop", on_click=stop_run, args=(active.id,))
        st.chat_input(
            _placeholder(waits=waits),
            key=QUESTION_BOX_KEY,
            accept_file="multiple",
            max_upload_size=application().settings.max_upload_mb,
            submit_mode="submit",
            max_chars=MAX_QUESTION_LENGTH,
            on_submit=submit_question,
        )
    return row
