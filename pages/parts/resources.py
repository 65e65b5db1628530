"""The services behind the pages: opened once for all sessions, with the slow imports left for after the first paint."""

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

_LOOK_AGAIN_SECONDS = 2.0  # less than what pages wait between two drawings
_PATIENCE_SECONDS = 0.25
_FIRST_PAGE = ("PIL.PngImagePlugin", "numpy", "pages.chat.start", "pages.chat.live")  # Streamlit's icon needs two


@st.cache_resource(show_spinner=False)
def application() -> Application:
    """The one application of this process; it goes on with what was left unfinished.

    Raises `CragError` when its home cannot be used.
    """
    from crag.assembly import open_application

    opened = open_application()
    opened.jobs.resume()
    return opened


def open_early() -> None:
    """Open the application before a page asks for it; a home that cannot be used is told by the page."""
    with suppress(CragError):
        _seen()
    for module in _FIRST_PAGE:
        importlib.import_module(module)


def close() -> None:
    """Stop what runs and close what is open; the next page would open it anew."""
    with suppress(CragError):
        application().close()
    application.clear()


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen when it was last looked: what answers on auto, what can be chosen, and the set-up checklist."""

    choice: ModelChoice
    models: list[ModelChoice]
    checks: list[Check]


def model_choice() -> ModelChoice:
    """What answers when nothing is named; the built-in engine before it is known."""
    seen = _seen()
    return seen.choice if seen else _builtin()


def answering(options: RunOptions) -> str:
    """The name of what answers under these options."""
    return model_choice().name if options.model == "auto" else options.model


def models() -> list[ModelChoice]:
    """Every model that can be chosen now."""
    seen = _seen()
    return seen.models if seen else [_builtin()]


def checks() -> list[Check]:
    """The set-up checklist."""
    from crag.checks import unknown_checks

    seen = _seen()
    return seen.checks if seen else unknown_checks()


def is_known() -> bool:
    """Whether it has been looked yet."""
    return _seen() is not None


def look_again() -> None:
    """Something has changed: it is looked before anything is drawn again."""
    _latest().forget()


def _seen() -> Seen | None:
    """As it was a few seconds ago; a model server that does not answer soon is not waited for."""
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
    """Opens, once and in the background, what the first question needs."""
    thread = threading.Thread(target=application().warm_up, name="warm-up", daemon=True)
    thread.start()
    return thread
