"""Services of the pages: opened once for all sessions, with slow imports deferred until after the first paint."""

from __future__ import annotations

import importlib
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from crag.errors import CragError
from crag.latest import Latest

if TYPE_CHECKING:
    from crag.assembly import Application
    from crag.checks import Check
    from crag.models.choice import ModelChoice
    from crag.options import RunOptions

_LOOK_AGAIN_SECONDS = 2.0  # less than the shortest interval at which a page reruns
_PATIENCE_SECONDS = 0.25
_FIRST_PAGE = ("PIL.PngImagePlugin", "numpy", "pages.chat.start", "pages.chat.live")  # page icon: the first two


@st.cache_resource(show_spinner=False)
def application() -> Application:
    """Return the application of this process, opened on the first call, and resume unfinished jobs.

    Raises `CragError` when the home directory cannot be used.
    """
    from crag.assembly import open_application

    opened = open_application()
    opened.jobs.resume()
    return opened


def open_early() -> None:
    """Open the application and import slow modules before a page needs them.

    An unusable home directory is ignored here; the page reports it.
    """
    with suppress(CragError):
        _seen()
    for module in _FIRST_PAGE:
        importlib.import_module(module)


def close() -> None:
    """Stop running work and close the application; the next page opens it again."""
    with suppress(CragError):
        application().close()
    application.clear()


@dataclass(frozen=True, slots=True)
class Seen:
    """Snapshot of the set-up: the model chosen under `auto`, the available models, and the checklist."""

    choice: ModelChoice
    models: list[ModelChoice]
    checks: list[Check]


def model_choice() -> ModelChoice:
    """Return the model that answers under `auto`; the built-in engine until the status is known."""
    seen = _seen()
    return seen.choice if seen else _builtin()


def answering(options: RunOptions) -> str:
    """Return the name of the model that answers under these options."""
    return model_choice().name if options.model == "auto" else options.model


def models() -> list[ModelChoice]:
    """Return all models that can be chosen now."""
    seen = _seen()
    return seen.models if seen else [_builtin()]


def checks() -> list[Check]:
    """Return the set-up checklist; every check is `unknown` until the status is known."""
    from crag.checks import unknown_checks

    seen = _seen()
    return seen.checks if seen else unknown_checks()


def is_known() -> bool:
    """Return whether the status has been read at least once."""
    return _seen() is not None


def look_again() -> None:
    """Discard the cached status, so that it is read again before the next draw."""
    _latest().forget()


def _seen() -> Seen | None:
    """Return the cached status, a few seconds old at most; do not wait long for a slow model server."""
    return _latest().now(_PATIENCE_SECONDS)


@st.cache_resource(show_spinner=False)
def _latest() -> Latest[Seen]:
    return Latest(_look, _LOOK_AGAIN_SECONDS)


def _look() -> Seen:
    app = application()
    return Seen(app.model_choice(anew=True), app.models(), app.checks())


def _builtin() -> ModelChoice:
    from crag.models.choice import BUILTIN_LABEL, ModelChoice

    return ModelChoice("builtin", BUILTIN_LABEL)


@st.cache_resource(show_spinner=False)
def warm_up() -> threading.Thread:
    """Prepare what the first question needs, once and in a background thread."""
    thread = threading.Thread(target=application().warm_up, name="warm-up", daemon=True)
    thread.start()
    return thread
