"""Download of another model: name, progress, interrupted downloads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from crag.models.ollama.recommending import SUGGESTED
from pages.parts import downloads, markdown, model_box, words
from pages.parts.resources import application
from pages.settings.server import seen

if TYPE_CHECKING:
    from crag.models.downloads import Download

_OLLAMA = "ollama:"
_FIELD = "model_to_get"


def draw_unfinished() -> None:
    """Draw one row per running or interrupted download."""
    for download in application().downloads.all():
        if download.name.startswith(_OLLAMA) and download.state != "done":
            _row(download)


def draw_form() -> None:
    """Draw the field for a model name, and where models come from."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        labels = {name: _described(name) for name in _suggestions()}
        common = {"key": _FIELD, "index": None, "placeholder": "A name such as llama3.1:8b"}
        model_box.draw("Get another model", labels, common)
        st.button("Get it", icon=":material/download:", on_click=_get)
    st.caption("Ollama fetches it from ollama.com and keeps it on this machine. Any name of its library can be typed.")


def _row(download: Download) -> None:
    name = download.name.removeprefix(_OLLAMA)
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", wrap=False):
        with st.container(gap=None):
            word = "Getting " if download.state == "running" else ""
            st.markdown(f"{word}**{markdown.label(name, 60)}**")
            downloads.draw_progress(download)
        with st.container(horizontal=True, width="content", gap="small"):
            downloads.draw_button(download.name, "Resume", "-listed")
            if download.state != "running":
                key = f"dismiss-{download.name}"
                st.button("Dismiss", type="tertiary", key=key, on_click=_dismiss, args=(download.name,))


def _suggestions() -> list[str]:
    """Return models that are not installed, the one recommended for this machine first."""
    there = {model.name.removesuffix(":latest") for model in seen().models}
    best, _ = application().ollama.recommended()
    return [name for name in dict.fromkeys([best, *SUGGESTED]) if name not in there]


def _described(name: str) -> str:
    """Return the label of a suggestion; plain text."""
    best, _ = application().ollama.recommended()
    fits = ", fits this machine" if name == best else ""
    return f"{name} — {words.size(SUGGESTED[name])}{fits}"


def _get() -> None:
    if name := model_box.taken(_FIELD).removeprefix(_OLLAMA):
        downloads.begin(f"{_OLLAMA}{name}")
        st.session_state[_FIELD] = None


def _dismiss(name: str) -> None:
    application().downloads.dismiss(name)
    st.rerun()
