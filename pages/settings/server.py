"""The Ollama server as the settings page drew it: looked at once for each drawing, which follows when it changes."""

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
    """Whether anything is fetched, loaded, unloaded or deleted now."""
    return watch().is_working or downloads.is_running()


def look() -> Seen:
    """Look at the server, once for each drawing of the page or of a part of it; afresh when something has ended."""
    was_busy, st.session_state[_BUSY] = st.session_state.get(_BUSY, False), is_busy()
    if was_busy and not st.session_state[_BUSY]:
        watch().look_again()
    st.session_state[_SEEN] = watch().seen()
    return seen()


def seen() -> Seen:
    """What was seen of the server and its models with the last look."""
    return st.session_state.get(_SEEN) or Seen()


def report(name: str) -> ModelReport | None:
    """What Ollama tells of the model that goes by this name in the settings, if it has it."""
    provider, _, wanted = name.partition(":")
    return named(wanted, seen().models) if provider == "ollama" else None


def whole() -> tuple[Seen, ModelChoice]:
    """All that the page depends on, looked at afresh."""
    return look(), model_choice()


def follow(drawn: tuple[Seen, ModelChoice]) -> None:
    """Draw the page again as soon as something else is seen than was `drawn`."""
    st.fragment(_compare, run_every=_NOW_AND_THEN if drawn[0].known and is_known() else _SOON)(drawn)


def _compare(drawn: tuple[Seen, ModelChoice]) -> None:
    if whole() != drawn:
        st.rerun()
