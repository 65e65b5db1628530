"""Cached state of the Ollama server, read in the background so that no page waits for an unreachable host."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import streamlit as st

from crag.errors import CragError, Stopped
from crag.latest import Latest
from pages.parts.resources import application

if TYPE_CHECKING:
    from crag.assembly import Application
    from crag.models.choice import ModelChoice
    from crag.models.ollama import ModelReport

_FRESH_SECONDS = 2.0
_PATIENCE_SECONDS = 0.15  # long enough for a server on this machine; remote servers are not waited for


@dataclass(frozen=True, slots=True)
class Seen:
    """State of the server; `known` is False until it has answered or been found unreachable.

    `fault` and `remedy` explain why no models are listed; `silent` means that nothing answers at that address.
    """

    known: bool = False
    version: str = ""
    models: tuple[ModelReport, ...] = ()
    embedders: tuple[ModelChoice, ...] = ()
    fault: str = ""
    remedy: str = ""
    silent: bool = False


@dataclass(frozen=True, slots=True)
class Work:
    """Running or failed operation on a model; `since` is in `time.monotonic` seconds, `fault` is set once it failed."""

    word: str
    since: float
    fault: str = ""


class Watch:
    """Monitor of the server that also loads, unloads and deletes models in its own threads. Thread-safe."""

    def __init__(self, app: Application) -> None:
        self._app = app
        self._latest = Latest(self._look, _FRESH_SECONDS)
        self._lock = threading.Lock()
        self._work: dict[str, Work] = {}

    def seen(self, patience: float = _PATIENCE_SECONDS) -> Seen:
        """Return the latest state; refresh a stale one, waiting `patience` seconds at most."""
        return self._latest.now(patience) or Seen()

    def work(self, name: str) -> Work | None:
        """Return the running or failed operation on a model, if any."""
        return self._work.get(name)

    @property
    def is_working(self) -> bool:
        """Whether an operation is running."""
        return any(not work.fault for work in self._work.copy().values())

    def begin(self, name: str, word: str, act: Callable[[str], object]) -> None:
        """Start an operation on a model in a new thread; do nothing while another one runs on it."""
        with self._lock:
            running = self._work.get(name)
            if running is not None and not running.fault:
                return
            self._work[name] = Work(word, time.monotonic())
        threading.Thread(target=self._do, args=(name, act), name="ollama-work", daemon=True).start()

    def look_again(self) -> None:
        """Discard the cached state after a change."""
        self._latest.forget()

    def _do(self, name: str, act: Callable[[str], object]) -> None:
        try:
            act(name)
        except CragError as error:
            self._work[name] = Work(self._work[name].word, 0.0, str(error))
        except Stopped:  # the application is closing
            self._work.pop(name)
        else:
            self.look_again()
            self._work.pop(name)

    def _look(self) -> Seen:
        found = Seen(known=True, embedders=tuple(self._app.embedders.available()))
        try:
            models = tuple(self._app.ollama.models())
        except CragError as error:
            return replace(found, fault=error.message, remedy=error.remedy, silent=error.code == "unreachable")
        return replace(found, version=self._app.ollama.version() or "", models=models)


@st.cache_resource(show_spinner=False)
def watch() -> Watch:
    """Return the monitor of this process."""
    return Watch(application())
