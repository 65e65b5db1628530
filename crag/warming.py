"""Has the model that would answer in memory before the first question, which then need not wait for it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

from crag.engines import Role
from crag.errors import CragError, Stopped
from crag.models.ollama.administration import fitting_window
from crag.models.ollama.server import OllamaServer

_OLLAMA = "ollama:"


class ModelWarmth:
    """Loads, in the background, the model that plays a role now, where it runs on this machine; each one once.

    What a person unloads after that stays unloaded. Closing the server cuts a load.
    """

    def __init__(self, ollama: OllamaServer, role: Callable[[], Role]) -> None:
        """`role` says who would answer now; it may ask a server."""
        self._ollama = ollama
        self._role = role
        self._lock = threading.Lock()
        self._worker: threading.Thread | None = None
        self._begun = self._asked = False
        self._warmed = ""

    def begin(self) -> None:
        """Loads the model, and from now on what takes its place. Before that nothing is loaded: commands end soon."""
        self._begun = True
        self.follow()

    def follow(self) -> None:
        """Another model may be the one that answers."""
        with self._lock:
            self._asked = self._begun
            if self._begun and self._worker is None:
                self._worker = threading.Thread(target=self._work, name="warm-model", daemon=True)
                self._worker.start()

    def wait(self, seconds: float) -> bool:
        """Whether all is loaded that was asked for, after so many seconds at most."""
        worker = self._worker
        if worker is not None:
            worker.join(seconds)
        return self._worker is None

    def _work(self) -> None:
        while self._is_asked():
            with suppress(CragError, Stopped):  # whoever asks a question is told what is wrong
                self._warm(self._role())

    def _is_asked(self) -> bool:
        with self._lock:
            asked, self._asked = self._asked, False
            if not asked:
                self._worker = None
            return asked

    def _warm(self, role: Role) -> None:
        if role.model == self._warmed or not role.model.startswith(_OLLAMA) or not role.tuning.keep_alive:
            return
        model = self._ollama.model(role.model.removeprefix(_OLLAMA))
        if not model.host and model.window != fitting_window(role.tuning, model.context_length):
            self._ollama.load(model.name, role.tuning)
        self._warmed = role.model
