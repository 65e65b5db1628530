"""Rows that choose a model per role: availability, external hosts, missing downloads."""

from __future__ import annotations

import streamlit as st

from crag.models.choice import model_label
from crag.preferences import Effective, Setting
from pages.parts import away, downloads, markdown, model_box, words
from pages.parts.resources import application, model_choice
from pages.settings import consent, hosted, rows, setting
from pages.settings.model_list import AUTO, BUILTIN, OLLAMA, SAME, labels
from pages.settings.server import report, seen

SETTINGS = ("model", "grader_model", "rewriter_model")


def row(name: str) -> rows.Row:
    """Return the row of a model option."""
    return setting.row(name, _control, _explain)


def playing(role: str) -> str:
    """Return the model that plays `answering`, `grading` or `rewriting` in this home now."""
    options = application().preferences.options()
    own = {"grading": options.grader_model, "rewriting": options.rewriter_model}.get(role, "")
    name = own or options.model
    return model_choice().name if name == AUTO else name


def shown(name: str) -> str:
    """Return the screen name of a model; safe Markdown."""
    return markdown.label(model_label(name), 60)


def _control(option: Setting, effective: Effective) -> None:
    key = setting.key_of(option)
    st.session_state[key] = effective.value
    common = {"key": key, "disabled": effective.origin == "environment", "label_visibility": "collapsed"}
    common |= {"on_change": _choose, "args": (option, key)}
    model_box.draw(option.title, labels(option, effective.value), common)
    _tell(option, effective.value)


def _tell(option: Setting, name: str) -> None:
    """Draw what to know about the chosen model: it runs elsewhere, or is not downloaded."""
    if away.of_model(name):
        lacking = words.grey(markdown.label(hosted.lacking(name)))
        st.markdown(f":orange-badge[{away.ICON} leaves this machine] {lacking}")
    elif name.startswith(OLLAMA) and seen().known and not seen().fault and report(name) is None:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(":orange-badge[:material/download: not on Ollama yet]", width="content")
            downloads.draw_button(name, "Get it", f"-{option.name}")


def _explain(option: Setting, effective: Effective) -> str:
    if effective.value == SAME:
        return option.meaning
    if host := away.of_model(model_choice().name if effective.value == AUTO else effective.value):
        return f"{option.meaning} {consent.what_goes(option.name)} go to {host}."
    return f"{option.meaning} Local: nothing leaves this machine."


def _choose(option: Setting, key: str) -> None:
    name = _complete(model_box.taken(key))
    preferences = application().preferences
    is_new = name != preferences.effective(option.name).value
    if is_new and hosted.needs_leave(name) and not preferences.may_send_to(name):
        consent.ask(option.name, name)
    else:
        setting.save(option.name, name)


def _complete(name: str) -> str:
    """Return the full name of a model: names without a provider are Ollama models."""
    is_whole = name in (AUTO, SAME, BUILTIN) or name.startswith(OLLAMA) or hosted.is_hosted(name)
    return name if is_whole else f"{OLLAMA}{name}"
