"""The rows that choose a model for a role: what is there, what leaves the machine, and what is still to be fetched."""

from __future__ import annotations

import streamlit as st

from crag.models.choice import BUILTIN_LABEL, model_label
from crag.preferences import Effective, Setting
from pages.parts import away, markdown, words
from pages.parts.resources import application, is_known, model_choice
from pages.settings import consent, hosted, rows, setting
from pages.settings.server import report, seen

SETTINGS = ("model", "grader_model", "rewriter_model")
BUILTIN = "builtin"
_AUTO, _SAME, _OLLAMA = "auto", "", "ollama:"


def row(name: str) -> rows.Row:
    """The row of a model setting."""
    return setting.row(name, _control, _explain)


def playing(role: str) -> str:
    """The name of the model that plays a role (`answering`, `grading`, `rewriting`) in this home now."""
    options = application().preferences.options()
    own = {"grading": options.grader_model, "rewriting": options.rewriter_model}.get(role, "")
    name = own or options.model
    return model_choice().name if name == _AUTO else name


def shown(name: str) -> str:
    """A model as people call it; safe Markdown."""
    return markdown.label(model_label(name), 60)


def _control(held_setting: Setting, held: Effective) -> None:
    key = setting.key_of(held_setting)
    st.session_state[key] = held.value
    labels = {name: _label(name) for name in _names(held_setting, held.value)}
    st.selectbox(
        held_setting.title,
        list(labels),
        format_func=lambda name: labels.get(name, name),
        accept_new_options=True,
        disabled=held.origin == "environment",
        label_visibility="collapsed",
        key=key,
        on_change=_choose,
        args=(held_setting, key),
    )
    if hosted.host(held.value):
        st.markdown(f":orange-badge[{away.ICON} leaves this machine]")
    elif held.value.startswith(_OLLAMA) and seen().known and not seen().fault and report(held.value) is None:
        _missing(held_setting, held.value)


def _missing(held_setting: Setting, name: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(":orange-badge[:material/download: not on Ollama yet]", width="content")
        key = f"get-{held_setting.name}"
        st.button("Get it", type="tertiary", key=key, on_click=application().downloads.start, args=(name,))


def _names(held_setting: Setting, held: str) -> list[str]:
    """What can be chosen: those that are there, those that were allowed, and what holds."""
    first = [_AUTO, BUILTIN] if held_setting.name == "model" else [_SAME]
    there = [f"{_OLLAMA}{model.name}" for model in seen().models if not model.embeds]
    return list(dict.fromkeys([*first, *there, *application().preferences.allowed_models(), held]))


def _label(name: str) -> str:
    """A model in the list; no Markdown is read there."""
    if name == _AUTO:
        return f"Automatic, now {model_choice().label}" if is_known() else "Automatic"
    if name in (_SAME, BUILTIN):
        return BUILTIN_LABEL if name else "Same as answering"
    if (found := report(name)) is None:
        return f"{name} — leaves this machine" if hosted.host(name) else name.removeprefix(_OLLAMA)
    if found.host:
        return f"{found.name} — leaves this machine, runs at {found.host}"
    loaded = f"loaded on {found.processor}" if found.processor else "loaded" if found.loaded else ""
    facts = ", ".join(filter(None, ("Ollama", words.size(found.size), loaded)))
    return f"{found.name} — {facts}"


def _explain(held_setting: Setting, held: Effective) -> str:
    if held.value == _SAME:
        return held_setting.meaning
    name = model_choice().name if held.value == _AUTO else held.value
    if host := hosted.host(name):
        return f"{held_setting.meaning} {consent.what_goes(held_setting.name)} go to {host}."
    return f"{held_setting.meaning} Local: nothing leaves this machine."


def _choose(held_setting: Setting, key: str) -> None:
    name = _complete(st.session_state[key] or "")
    if hosted.needs_leave(name) and not application().preferences.may_send_to(name):
        consent.ask(held_setting.name, name)
    else:
        setting.save(held_setting.name, name)


def _complete(typed: str) -> str:
    """The name as the settings take it: what names no provider is a model of Ollama."""
    name = typed.strip()
    is_whole = name in (_AUTO, _SAME, BUILTIN) or name.startswith(_OLLAMA) or hosted.is_provider(name)
    return name if is_whole else f"{_OLLAMA}{name}"
