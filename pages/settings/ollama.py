"""Models of the Ollama server: address, installed and loaded models, running downloads."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import streamlit as st

from crag.models.faults import host_label
from pages.parts import away, dialogs, downloads, markdown, words
from pages.parts.device import is_phone
from pages.parts.model_server import Work, watch
from pages.parts.resources import application
from pages.settings import fetching, models
from pages.settings.server import is_busy, look, report, seen

if TYPE_CHECKING:
    from crag.models.ollama import ModelReport

_WHERE = "[ollama.com/download](https://ollama.com/download)"
WORDS = (
    "on Ollama models load unload delete get another model download pull size context length quantization OLLAMA_HOST "
    "server version address loaded on GPU CPU cloud"
)
DELETE = "delete_model"


def draw() -> None:
    """Draw the state of the server, its models and its downloads."""
    with st.container(gap="xxsmall"):
        _head()
        with st.container(border=True):
            if not seen().known:
                st.skeleton(height=64)
            elif seen().fault:
                _not_there()
            else:
                drawn = (is_busy(), seen().fault)
                st.fragment(_list, run_every=downloads.AGAIN_SECONDS if is_busy() else None)(drawn)
                fetching.draw_form()


def _head() -> None:
    state, address = seen(), markdown.label(host_label(application().settings), 60)
    if not state.known:
        sign, fact = ":gray[:material/progress_activity:]", f"looking for it at {address}"
    elif state.fault:
        sign, fact = ":gray[:material/radio_button_unchecked:]", f"not at {address}"
    else:
        sign, fact = ":green[:material/check_circle:]", f"{markdown.label(state.version, 20)} at {address}"
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.header("On Ollama", anchor=False, width="content")
        st.markdown(f"{sign} {words.grey(fact)}", width="content")


def _not_there() -> None:
    state = seen()
    if not state.silent:
        st.markdown(markdown.answer(f"{state.fault} {state.remedy}"))
        return
    st.markdown(markdown.label(f"{state.fault} Where it is installed, this starts it:"))
    st.code("ollama serve", language="bash")
    st.caption(f"{_WHERE} has it for every system; OLLAMA_HOST names another address. This page notices by itself.")


def _list(drawn: tuple[bool, str]) -> None:
    there = look().models
    if drawn != (is_busy(), seen().fault):
        st.rerun()
    with st.container(gap="small"):
        for model in there:
            _model(model)
        if not there:
            st.caption("No model is there yet.")
        fetching.draw_unfinished()


def _model(model: ModelReport) -> None:
    work = watch().work(model.name)
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", wrap=is_phone()):
        with st.container():
            st.markdown(f"**{markdown.label(model.name, 60)}** {words.grey(_facts(model))} {_marks(model)}")
        with st.container(horizontal=True, width="content", gap="small"):
            _actions(model, work)
    if work is not None and work.fault:
        st.markdown(f":small[:orange[:material/error:] {markdown.answer(work.fault)}]")


def _facts(model: ModelReport) -> str:
    """Return the facts on a model; safe Markdown."""
    context = f"{model.context_length:,} tokens" if model.context_length else ""
    size = "" if model.cloud else words.size(model.size)
    facts = [model.parameters, model.quantization, context, size, "makes vectors" if model.embeds else ""]
    parts = [markdown.label(fact) for fact in facts if fact]
    if model.loaded:
        parts.append(f":green[{markdown.label(f'loaded on {model.processor}' if model.processor else 'loaded')}]")
    return " · ".join(parts)


def _marks(model: ModelReport) -> str:
    """Return badges for the model's host and for the roles that it plays."""
    marks = [f":orange-badge[{away.ICON} runs at {markdown.label(model.host, 40)}]"] if model.cloud else []
    roles = [role for role in words.ROLES if report(models.playing(role)) == model]
    if roles:
        marks.append(f":blue-badge[used for {'all' if len(roles) == len(words.ROLES) else ' and '.join(roles)}]")
    return " ".join(marks)


def _actions(model: ModelReport, work: Work | None) -> None:
    if work is not None and not work.fault:
        st.markdown(words.grey(f"{work.word}, {time.monotonic() - work.since:.0f} s so far"), width="content")
        return
    if not model.cloud:
        word, act = ("Unload", _unload) if model.loaded else ("Load", _load)
        st.button(word, type="tertiary", key=f"{word}-{model.name}", on_click=act, args=(model.name,))
    asked = (DELETE, model.name)
    st.button("Delete", type="tertiary", key=f"delete-{model.name}", on_click=dialogs.ask_at_once, args=asked)


def _load(name: str) -> None:
    watch().begin(name, "loading", application().load_model)
    st.rerun()  # starts the refresh every second


def _unload(name: str) -> None:
    watch().begin(name, "unloading", application().ollama.unload)
    st.rerun()


def draw_delete_dialog(name: str) -> None:
    """Draw the confirmation before a model is deleted."""
    st.dialog("Delete this model?", icon=":material/delete:", on_dismiss=dialogs.close)(_confirm)(name)


def _confirm(name: str) -> None:
    model = next((model for model in seen().models if model.name == name), None)
    size = f", {words.size(model.size)}" if model is not None and not model.cloud else ""
    st.markdown(f"**{markdown.label(name, 60)}**{size}, is removed from Ollama, for every program that uses it.")
    st.caption("Your documents and conversations stay. To have it again, it must be fetched again.")
    with st.container(horizontal=True):
        if st.button("Delete it", icon=":material/delete:"):
            watch().begin(name, "deleting", application().ollama.delete)
            dialogs.close_and_redraw()
        if st.button("Keep it"):
            dialogs.close_and_redraw()
