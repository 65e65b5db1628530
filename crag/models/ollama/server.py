"""Ollama as seen by the application: model reports, loading, unloading and deletion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from crag.errors import ModelFault
from crag.following import follow
from crag.models.choice import destination, model_label
from crag.models.faults import bad_reply
from crag.models.ollama.administration import (
    InstalledModel,
    ModelFacts,
    find_model,
    fitting_window,
    installed_models,
    model_facts,
    ollama_version,
)
from crag.models.ollama.recommending import recommended
from crag.models.ollama.reports import Loaded, ModelReport, read_loaded, report
from crag.models.ollama.requests import ask
from crag.options import Tuning
from crag.settings import Settings
from crag.stopping import Stop

_LOAD_SECONDS = 900.0  # loading a large model from a slow disk can take minutes of silence
_DELETE_SECONDS = 60.0
_ASKED_AT_ONCE = 8
_USUAL = Tuning()


class OllamaServer:
    """The configured Ollama server. Thread-safe; closing it cancels models that are still loading."""

    def __init__(self, settings: Settings, on_change: Callable[[], None] = lambda: None) -> None:
        """`on_change` is called when a model was deleted; it may have been the one that answers."""
        self._on_change = on_change
        self._settings = settings
        self._closing = Stop()

    def version(self) -> str | None:
        """Return the server's version, or None if no Ollama answers within half a second."""
        return ollama_version(self._settings)

    def models(self) -> list[ModelReport]:
        """List all models, newest first; facts are cached until a model changes. Raises `ModelFault`."""
        installed = installed_models(self._settings)
        facts, loaded = self._known(installed), self._loaded()
        return [
            self._report(model, known, loaded.get(model.name)) for model, known in zip(installed, facts, strict=True)
        ]

    def model(self, name: str) -> ModelReport:
        """Return the model called `name`; a missing tag means `latest`. Raises `ModelFault`."""
        installed = find_model(self._settings, name)
        [facts] = self._known([installed])
        return self._report(installed, facts, self._loaded().get(installed.name))

    def load(self, name: str, tuning: Tuning = _USUAL) -> None:
        """Load the model with the window that questions under this tuning use; another window would reload it.

        Returns once it is loaded, which may take minutes. Raises `ModelFault`, and `Stopped` when this server is
        closed.
        """
        model = self.model(name)
        body: dict[str, Any] = {"model": name, "stream": False}
        if tuning.keep_alive:  # 0 would unload it immediately; use the server's default instead
            body["keep_alive"] = tuning.keep_alive
        if model.embeds:
            self._wait_for("/api/embed", body | {"input": ""})
        else:
            window = fitting_window(tuning, model.context_length)
            self._wait_for("/api/generate", body | {"prompt": "", "options": {"num_ctx": window}})

    def unload(self, name: str) -> None:
        """Free the model's memory after its current replies end. Raises `ModelFault`."""
        self._wait_for("/api/generate", {"model": name, "prompt": "", "stream": False, "keep_alive": 0})

    def delete(self, name: str) -> None:
        """Delete the model from the disk. Raises `ModelFault`."""
        ask(self._settings, "DELETE", "/api/delete", {"model": name}, model=name, timeout=_DELETE_SECONDS)
        self._on_change()

    def recommended(self) -> tuple[str, int]:
        """Return the Llama 3 that suits this machine's memory, and its download size in bytes."""
        return recommended()

    def close(self) -> None:
        """Cancel models that are still loading."""
        self._closing.request()

    def _wait_for(self, path: str, body: dict[str, Any]) -> None:
        def work() -> list[dict[str, Any]]:
            return [ask(self._settings, "POST", path, body, model=body["model"], timeout=_LOAD_SECONDS)]

        for _ in follow(work, self._closing):
            pass

    def _known(self, models: Sequence[InstalledModel]) -> list[ModelFacts]:
        with ThreadPoolExecutor(_ASKED_AT_ONCE, "ollama-facts") as pool:
            return list(pool.map(self._ask_about, models))

    def _ask_about(self, model: InstalledModel) -> ModelFacts:
        """Return the facts, empty on a fault: one broken model must not hide the others."""
        try:
            return model_facts(self._settings, model)
        except ModelFault:
            return ModelFacts()

    def _loaded(self) -> dict[str, Loaded]:
        listed = ask(self._settings, "GET", "/api/ps").get("models") or []
        try:
            return {str(entry.get("name") or entry["model"]): read_loaded(entry) for entry in listed}
        except (TypeError, ValueError, AttributeError, KeyError) as error:
            raise bad_reply("Ollama") from error

    def _report(self, model: InstalledModel, facts: ModelFacts, loaded: Loaded | None) -> ModelReport:
        name = f"ollama:{model.name}"
        host = destination(name, self._settings, model.remote_host)
        return report(model, facts, loaded, model_label(name), host)
