"""Ollama server as last drawn on the settings page, read once per draw; a change reruns the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from crag.models.ollama.administration import named
from pages.parts import downloads
from pages.parts.model_server import Seen, watch
from pages.parts.resources import is_known, model_choice

if TYPE_CHECKING:
    from crag.models.choice import ModelChoice
    from crag.models.ollama import ModelReport

_SEEN, _BUSY = "ollama_seen", "ollama_busy"
_SOON, _NOW_AND_THEN = 0.5, 5.0


def is_busy() -> bool:
    """Return whether a model is being downloaded, loaded, unloaded or deleted."""
    return watch().is_working or downloads.is_running()


def look() -> Seen:
    """Read the server's state, once per draw of the page or a fragment; discard the cache when work has ended."""
    was_busy, st.session_state[_BUSY] = st.session_state.get(_BUSY, False), is_busy()
    if was_busy and not st.session_state[_BUSY]:
        watch().look_again()
    st.session_state[_SEEN] = watch().seen()
    return seen()


def seen() -> Seen:
    """Return the state of the server as last read."""
    return st.session_state.get(_SEEN) or Seen()


def report(name: str) -> ModelReport | None:
    """Return Ollama's report on the model of this name, if it is installed."""
    provider, _, wanted = name.partition(":")
    return named(wanted, seen().models) if provider == "ollama" else None


def whole() -> tuple[Seen, ModelChoice]:
    """Return everything the page depends on, read now."""
    return look(), model_choice()


def follow(drawn: tuple[Seen, ModelChoice]) -> None:
    """Rerun the page as soon as the state differs from `drawn`."""
    st.fragment(_compare, run_every=_NOW_AND_THEN if drawn[0].known and is_known() else _SOON)(drawn)


def _compare(drawn: tuple[Seen, ModelChoice]) -> None:
    if whole() != drawn:
        st.rerun()
