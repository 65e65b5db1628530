"""The services behind the pages: opened once for all sessions, with the slow imports left for after the first paint."""

from __future__ import annotations

import importlib
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

import streamlit as st

from crag.errors import CragError

if TYPE_CHECKING:
    from crag.assembly import Application
    from crag.models.choice import ModelChoice
    from crag.types import Check

_LOOK_AGAIN_SECONDS = 5.0
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
        application().checks()
    for module in _FIRST_PAGE:
        importlib.import_module(module)


def close() -> None:
    """Stop what runs and close what is open; the next page would open it anew."""
    with suppress(CragError):
        application().close()
    application.clear()


@st.cache_resource(show_spinner=False, ttl=_LOOK_AGAIN_SECONDS)
def models() -> list[ModelChoice]:
    """Every model that can be chosen now; a model server is asked every few seconds at most."""
    return application().models()


@st.cache_resource(show_spinner=False, ttl=_LOOK_AGAIN_SECONDS)
def checks() -> list[Check]:
    """The set-up checklist, looked at anew every few seconds at most."""
    return application().checks()


@st.cache_resource(show_spinner=False)
def warm_up() -> threading.Thread:
    """Opens, once and in the background, what the first question needs."""
    thread = threading.Thread(target=application().warm_up, name="warm-up", daemon=True)
    thread.start()
    return thread
