"""Model preloading: load the answering model before the first question."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from crag.app.engines import ModelRole
from crag.concurrency.workers import BackgroundWorker
from crag.errors import CragError
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
        self._worker = BackgroundWorker("model-preload", lambda _: self._preload())
        self._preloaded = ""

    def begin(self) -> None:
        """Load the model, and from now on its replacements. Nothing is loaded before this call: commands end soon."""
        self._worker.start()
        self._worker.wake()

    def follow(self) -> None:
        """Check again which model answers, and load it."""
        self._worker.wake()

    def wait(self, seconds: float) -> bool:
        """Wait at most `seconds`; return whether everything requested is loaded."""
        return self._worker.wait(seconds)

    def _preload(self) -> None:
        with suppress(CragError):  # an actual question reports the fault
            self._load(self._role())

    def _load(self, role: ModelRole) -> None:
        if role.model == self._preloaded or not role.model.startswith(_OLLAMA_PREFIX) or not role.tuning.keep_alive:
            return
        model = self._ollama.model(role.model.removeprefix(_OLLAMA_PREFIX))
        if not model.host and model.window != limit_window(role.tuning, model.context_length):
            self._ollama.load(model.name, role.tuning)
        self._preloaded = role.model
