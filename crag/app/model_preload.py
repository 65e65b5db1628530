"""Model preloading: load the answering model before the first question."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

from crag.app.engines import ModelRole
from crag.errors import CragError, Stopped
from crag.models.ollama_api import limit_window
from crag.models.ollama_server import OllamaServer

_OLLAMA_PREFIX = "ollama:"


class ModelPreloader:
    """Background loader for the model of a role, if it runs on this machine; loads each model once.

    A model that the user unloads later stays unloaded. Closing the server client aborts a load.
    """

    def __init__(self, ollama: OllamaServer, role: Callable[[], ModelRole]) -> None:
        """Create the preloader. `role` returns the role that would answer now; it may query a server."""
        self._ollama = ollama
        self._role = role
        self._lock = threading.Lock()
        self._worker: threading.Thread | None = None
        self._begun = self._asked = False
        self._preloaded = ""

    def begin(self) -> None:
        """Load the model, and from now on its replacements. Nothing is loaded before this call: commands end soon."""
        self._begun = True
        self.follow()

    def follow(self) -> None:
        """Check again which model answers, and load it."""
        with self._lock:
            self._asked = self._begun
            if self._begun and self._worker is None:
                self._worker = threading.Thread(target=self._work, name="warm-model", daemon=True)
                self._worker.start()

    def wait(self, seconds: float) -> bool:
        """Wait at most `seconds`; return whether everything requested is loaded."""
        worker = self._worker
        if worker is not None:
            worker.join(seconds)
        return self._worker is None

    def _work(self) -> None:
        while self._take_request():
            with suppress(CragError, Stopped):  # an actual question reports the fault
                self._preload(self._role())

    def _take_request(self) -> bool:
        with self._lock:
            asked, self._asked = self._asked, False
            if not asked:
                self._worker = None
            return asked

    def _preload(self, role: ModelRole) -> None:
        if role.model == self._preloaded or not role.model.startswith(_OLLAMA_PREFIX) or not role.tuning.keep_alive:
            return
        model = self._ollama.model(role.model.removeprefix(_OLLAMA_PREFIX))
        if not model.host and model.window != limit_window(role.tuning, model.context_length):
            self._ollama.load(model.name, role.tuning)
        self._preloaded = role.model
