"""What a silent run waits for, in words; reading the server's state never blocks the page."""

from __future__ import annotations

import time

from crag.models.choice import model_label
from crag.models.ollama.administration import named
from crag.waiting import Wait
from pages.parts import markdown
from pages.parts.model_server import watch
from pages.parts.resources import application

_QUIET_SECONDS = 2.0  # most replies begin sooner
_LOADING_SECONDS, _QUEUED_SECONDS = 1.0, 0.5
_PLACES = ("next", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def _is_loaded(model: str) -> bool | None:
    """Return whether a model is in memory, as last seen; None if unknown."""
    provider, _, name = model.partition(":")
    if provider != "ollama":
        return None
    seen = watch().seen(patience=0)
    if not seen.known or seen.fault:
        return None
    found = named(name, seen.models)
    return found is not None and found.loaded


def waiting_for(run_id: str) -> str:
    """Return what the run waits for; empty if for nothing, or not long enough to mention."""
    wait = application().runs.waiting_for(run_id)
    if wait is None:
        return ""
    return in_words(wait, _is_loaded(wait.model), time.monotonic() - wait.since)


def in_words(wait: Wait, loaded: bool | None, seconds: float) -> str:
    """Describe a wait of `seconds`; safe Markdown. `loaded` is None if it is unknown whether the model is in memory."""
    name, so_far = markdown.label(model_label(wait.model), 60), f"{int(seconds)} s so far"
    if wait.kind == "queued":
        return f"The model is busy: you are {_place(wait.place)} in line" if seconds >= _QUEUED_SECONDS else ""
    if wait.kind == "retrying":
        return f"{name} was busy, attempt {wait.attempt} follows"
    if seconds < (_LOADING_SECONDS if loaded is False else _QUIET_SECONDS):
        return ""
    if loaded is None:
        return f"{name} has not begun to answer, {so_far}"
    return f"{name} is {'reading the prompt' if loaded else 'loading'}, {so_far}"


def _place(number: int) -> str:
    return _PLACES[number - 1] if 0 < number <= len(_PLACES) else f"number {number}"
