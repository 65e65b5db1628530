"""What the Ollama server said when it was last asked: in the background, so that no page waits for a dead host."""

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
_PATIENCE_SECONDS = 0.15  # a server on this machine has answered by then; no other is waited for


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen. `known` is False before the server has answered, or was found not to.

    `fault` and `remedy` say why there are no models; `silent` that nothing is there at all.
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
    """What is done with a model now, since a time by `time.monotonic`; with a `fault`, what became of it."""

    word: str
    since: float
    fault: str = ""


class Watch:
    """Looks at the server and has it load, unload and delete, in threads of its own. Safe to share between threads."""

    def __init__(self, app: Application) -> None:
        self._app = app
        self._latest = Latest(self._look, _FRESH_SECONDS)
        self._lock = threading.Lock()
        self._work: dict[str, Work] = {}

    def seen(self, patience: float = _PATIENCE_SECONDS) -> Seen:
        """What is known; what is older is asked for again, and waited for so many seconds at most."""
        return self._latest.now(patience) or Seen()

    def work(self, name: str) -> Work | None:
        """What is done, or could not be done, with a model."""
        return self._work.get(name)

    @property
    def is_working(self) -> bool:
        """Whether anything is done now."""
        return any(not work.fault for work in self._work.copy().values())

    def begin(self, name: str, word: str, act: Callable[[str], object]) -> None:
        """Do something with a model; harmless while something is done with it already."""
        with self._lock:
            held = self._work.get(name)
            if held is not None and not held.fault:
                return
            self._work[name] = Work(word, time.monotonic())
        threading.Thread(target=self._do, args=(name, act), name="ollama-work", daemon=True).start()

    def look_again(self) -> None:
        """Something has changed: what was seen before is not shown any more."""
        self._latest.forget()

    def _do(self, name: str, act: Callable[[str], object]) -> None:
        try:
            act(name)
        except CragError as error:
            self._work[name] = Work(self._work[name].word, 0.0, str(error))
        except Stopped:  # the application closes
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
    """The one watch of this process."""
    return Watch(application())
