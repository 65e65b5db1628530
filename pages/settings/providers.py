"""Hosted providers: which are ready and what the others require; keys are never shown."""

from __future__ import annotations

import streamlit as st

from crag.models.providers import Provider, providers
from pages.parts import markdown, words
from pages.parts.resources import application
from pages.settings import rows

WORDS = (
    "other hosted providers cloud API key package install pip OpenAI Anthropic Google Gemini Vertex Mistral Amazon "
    "Bedrock Azure Groq Cohere DeepSeek xAI Together Fireworks Perplexity OpenRouter NVIDIA Upstage"
)


def draw() -> None:
    """Draw the folded list of providers."""
    known = providers(application().settings)
    ready = [one.label for one in known if _is_ready(one)]
    facts = f"ready: {', '.join(ready)}" if ready else "none is ready"
    shown = st.expander(f"Other providers {words.grey(markdown.label(facts))}", key="providers", on_change="rerun")
    if shown.open:
        with shown:
            st.caption("Their models run elsewhere: each is asked about once, before it is used. Keys stay in .env.")
            for one in sorted(known, key=lambda one: (not _is_ready(one), not one.installed)):
                _row(one)


def _is_ready(one: Provider) -> bool:
    return one.installed and one.key_present


def _row(one: Provider) -> None:
    sign = ":green[:material/check_circle:]" if _is_ready(one) else ":gray[:material/radio_button_unchecked:]"
    name = f"{sign} {markdown.label(one.label)}"
    if _is_ready(one):
        with rows.control(name, "", "Package and key are there."):
            st.caption(f"Choose `{one.name}:MODEL` above.")
    elif one.installed:
        with rows.control(name, "", "The package is there, a key is not. A line for .env, then start again:"):
            st.code(f"{one.key_variable}=", language=None)
    else:
        key = "A key is there, the package is not." if one.key_present else "The package is not installed."
        with rows.control(name, "", f"{key} To add it:"):
            st.code(f"pip install {one.package}", language="bash", wrap_lines=True)
