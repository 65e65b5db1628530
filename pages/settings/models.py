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


def _control(held_setting: Setting, held: Effective) -> None:
    key = setting.key_of(held_setting)
    st.session_state[key] = held.value
    common = {"key": key, "disabled": held.origin == "environment", "label_visibility": "collapsed"}
    common |= {"on_change": _choose, "args": (held_setting, key)}
    model_box.draw(held_setting.title, labels(held_setting, held.value), common)
    _tell(held_setting, held.value)


def _tell(held_setting: Setting, name: str) -> None:
    """Draw what to know about the chosen model: it runs elsewhere, or is not downloaded."""
    if away.of_model(name):
        lacking = words.grey(markdown.label(hosted.lacking(name)))
        st.markdown(f":orange-badge[{away.ICON} leaves this machine] {lacking}")
    elif name.startswith(OLLAMA) and seen().known and not seen().fault and report(name) is None:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(":orange-badge[:material/download: not on Ollama yet]", width="content")
            downloads.draw_button(name, "Get it", f"-{held_setting.name}")


def _explain(held_setting: Setting, held: Effective) -> str:
    if held.value == SAME:
        return held_setting.meaning
    if host := away.of_model(model_choice().name if held.value == AUTO else held.value):
        return f"{held_setting.meaning} {consent.what_goes(held_setting.name)} go to {host}."
    return f"{held_setting.meaning} Local: nothing leaves this machine."


def _choose(held_setting: Setting, key: str) -> None:
    name = _complete(model_box.taken(key))
    preferences = application().preferences
    is_new = name != preferences.effective(held_setting.name).value
    if is_new and hosted.needs_leave(name) and not preferences.may_send_to(name):
        consent.ask(held_setting.name, name)
    else:
        setting.save(held_setting.name, name)


def _complete(name: str) -> str:
    """Return the full name of a model: names without a provider are Ollama models."""
    is_whole = name in (AUTO, SAME, BUILTIN) or name.startswith(OLLAMA) or hosted.is_hosted(name)
    return name if is_whole else f"{OLLAMA}{name}"
