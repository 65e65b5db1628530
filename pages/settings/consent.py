"""Consent dialog before the first use of an external model: where prompts go and what they contain."""

from __future__ import annotations

import streamlit as st

from crag.models.choice import model_label
from pages.parts import away, dialogs, markdown
from pages.parts.resources import application
from pages.settings import setting

ALLOW = "allow_model"
_GOES = {
    "model": "Your question, the conversation so far and the passages that were found",
    "grader_model": "Your question and every passage that is to be graded",
    "rewriter_model": "Your question and the conversation so far",
}


def what_goes(setting_name: str) -> str:
    """Return which data the model of this option receives."""
    return _GOES[setting_name]


def ask(setting_name: str, model: str) -> None:
    """Open the dialog with the next draw of the page."""
    dialogs.ask(ALLOW, (setting_name, model))


def draw_dialog(asked: tuple[str, str]) -> None:
    """Draw the dialog; `asked` is the option's name and the model."""
    st.dialog("Use a model on another machine?", icon=away.ICON, on_dismiss=dialogs.close)(_ask)(*asked)


def _ask(setting_name: str, model: str) -> None:
    is_provider = model.endswith(":")
    if is_provider:
        typed = st.text_input("Model, as the provider calls it", placeholder="gpt-4o-mini", max_chars=100)
        model += (typed or "").strip()
    host = markdown.label(away.of_model(model), 60)
    name = "It" if is_provider else f"**{markdown.label(model_label(model), 60)}**"
    st.markdown(f"{name} runs elsewhere, at **{host}**. {what_goes(setting_name)} would go there.")
    st.caption("Whatever is sent is listed under Privacy, where you can also take this back.")
    with st.container(horizontal=True):
        if st.button("Allow and use", icon=away.ICON, disabled=model.endswith(":")):
            application().preferences.allow_model(model)
            setting.save(setting_name, model)
            dialogs.close_and_redraw()
        if st.button("Cancel"):
            dialogs.close_and_redraw()
