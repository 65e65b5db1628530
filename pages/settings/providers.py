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
    ready = [provider.label for provider in known if _is_ready(provider)]
    facts = f"ready: {', '.join(ready)}" if ready else "none is ready"
    shown = st.expander(f"Other providers {words.grey(markdown.label(facts))}", key="providers", on_change="rerun")
    if shown.open:
        with shown:
            st.caption("Their models run elsewhere: each is asked about once, before it is used. Keys stay in .env.")
            for provider in sorted(known, key=lambda provider: (not _is_ready(provider), not provider.installed)):
                _row(provider)


def _is_ready(provider: Provider) -> bool:
    return provider.installed and provider.key_present


def _row(provider: Provider) -> None:
    sign = ":green[:material/check_circle:]" if _is_ready(provider) else ":gray[:material/radio_button_unchecked:]"
    name = f"{sign} {markdown.label(provider.label)}"
    if _is_ready(provider):
        with rows.control(name, "", "Package and key are there."):
            st.caption(f"Choose `{provider.name}:MODEL` above.")
    elif provider.installed:
        with rows.control(name, "", "The package is there, a key is not. A line for .env, then start again:"):
            st.code(f"{provider.key_variable}=", language=None)
    else:
        key = "A key is there, the package is not." if provider.key_present else "The package is not installed."
        with rows.control(name, "", f"{key} To add it:"):
            st.code(f"pip install {provider.package}", language="bash", wrap_lines=True)
