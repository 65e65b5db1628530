"""Models of the Ollama server: report, load, unload, delete, recommend, check disk space."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import psutil

from crag.cancellation import Cancellation, call_cancellable
from crag.concurrency.workers import map_in_order
from crag.errors import ModelFault
from crag.models.destinations import external_host
from crag.models.model_choice import model_label
from crag.models.ollama_api import (
    InstalledModel,
    ModelFacts,
    fetch_ollama_version,
    find_model,
    limit_window,
    list_installed_models,
    load_model_facts,
    request_json,
)
from crag.options import ModelParameters
from crag.settings import Settings
from crag.text.formatting import format_size

_NEVER_EXPIRES_YEAR = 2200  # a model kept for the life of the server has an expiry date centuries ahead


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model in memory, from `/api/ps`. Sizes in bytes, `window` in tokens; None where not reported."""

    size: int
    size_on_gpu: int
    window: int | None
    expires_at: float | None

    @property
    def processor(self) -> str:
        """“GPU”, “CPU”, or the share held by the GPU, such as “45% GPU”."""
        if self.size_on_gpu <= 0:
            return "CPU"
        return "GPU" if self.size_on_gpu >= self.size else f"{100 * self.size_on_gpu // self.size}% GPU"


@dataclass(frozen=True, slots=True)
class ModelReport:
    """Report on one model: `name` as in Ollama (`llama3.1:8b`), `size` in bytes, `parameters` such as “8.0B”.

    `cloud`: the server forwards the model's inputs. `host`: where they go, empty on this machine. `window` is the
    loaded context window in tokens. `expires_at` is the time of unloading if unused, in seconds since the epoch, None
    if it stays loaded. Both are None where unknown.
    """

    name: str
    label: str
    size: int
    family: str
    parameters: str
    quantization: str
    context_length: int | None
    digest: str
    cloud: bool
    host: str
    embeds: bool
    thinks: bool
    loaded: bool
    processor: str
    window: int | None
    expires_at: float | None


def build_model_report(
    installed: InstalledModel, facts: ModelFacts, loaded: LoadedModel | None, label: str, host: str
) -> ModelReport:
    """Combine the three sources into a report; `label` is the name to show, `host` where the inputs go."""
    return ModelReport(
        name=installed.name,
        label=label,
        size=installed.size,
        family=facts.family or installed.family,
        parameters=facts.parameters,
        quantization=facts.quantization,
        context_length=facts.context_length,
        digest=installed.digest,
        cloud=installed.cloud,
        host=host,
        embeds=installed.only_embeds if facts.capabilities is None else "embedding" in facts.capabilities,
        thinks="thinking" in (facts.capabilities or ()),
        loaded=loaded is not None,
        processor=loaded.processor if loaded else "",
        window=loaded.window if loaded else None,
        expires_at=loaded.expires_at if loaded else None,
    )


def parse_loaded_model(entry: Mapping[str, Any]) -> LoadedModel:
    """Parse one model of an `/api/ps` reply. Raises `TypeError`, `ValueError`."""
    window = entry.get("context_length")
    return LoadedModel(
        size=int(entry.get("size") or 0),
        size_on_gpu=int(entry.get("size_vram") or 0),
        window=window if isinstance(window, int) and window > 0 else None,
        expires_at=_parse_timestamp(str(entry.get("expires_at") or "")),
    )


def _parse_timestamp(written: str) -> float | None:
    """Return seconds since the epoch, or None if malformed or never."""
    try:
        moment = datetime.fromisoformat(written)
    except ValueError:
        return None
    return None if moment.year > _NEVER_EXPIRES_YEAR else moment.timestamp()


_GIGABYTE = 1_000_000_000
# Names and download sizes in bytes from Ollama's library; the server reports the exact size when a pull begins.
SUGGESTED_MODELS = {
    "llama3.1:8b": 4_900_000_000,
    "llama3.2:3b": 2_000_000_000,
    "llama3.2:1b": 1_300_000_000,
    "qwen3:8b": 5_200_000_000,
    "qwen3:4b": 2_600_000_000,
    "gemma3:4b": 3_300_000_000,
    "mistral:7b": 4_400_000_000,
    "nomic-embed-text": 274_000_000,
}
# Memory in bytes with which each runs alongside other programs.
_LLAMA_MIN_MEMORY = {"llama3.1:8b": 12 * _GIGABYTE, "llama3.2:3b": 6 * _GIGABYTE, "llama3.2:1b": 0}


def recommend_llama(memory: int | None = None) -> tuple[str, int]:
    """Return the Llama 3 for this many bytes of memory (default: this machine's) and its download size in bytes."""
    there = psutil.virtual_memory().total if memory is None else memory
    return next((name, SUGGESTED_MODELS[name]) for name, least in _LLAMA_MIN_MEMORY.items() if there >= least)


_LOAD_SECONDS = 900.0  # loading a large model from a slow disk can take minutes of silence
_DELETE_SECONDS = 60.0
_MAX_PARALLEL_REQUESTS = 8
_DEFAULT_TUNING = ModelParameters()


class OllamaServer:
    """The configured Ollama server. Thread-safe; closing it cancels models that are still loading."""

    def __init__(self, settings: Settings, on_change: Callable[[], None] = lambda: None) -> None:
        """`on_change` is called when a model was deleted; it may have been the one that answers."""
        self._on_change = on_change
        self._settings = settings
        self._closing = Cancellation()

    def version(self) -> str | None:
        """Return the server's version, or None if no Ollama answers within half a second."""
        return fetch_ollama_version(self._settings)

    def models(self) -> list[ModelReport]:
        """List all models, newest first; facts are cached until a model changes. Raises `ModelFault`."""
        installed = list_installed_models(self._settings)
        facts, loaded = self._known(installed), self._loaded()
        return [
            self._report(model, known, loaded.get(model.name)) for model, known in zip(installed, facts, strict=True)
        ]

    def model(self, name: str) -> ModelReport:
        """Return the model called `name`; a missing tag means `latest`. Raises `ModelFault`."""
        installed = find_model(self._settings, name)
        [facts] = self._known([installed])
        return self._report(installed, facts, self._loaded().get(installed.name))

    def load(self, name: str, tuning: ModelParameters = _DEFAULT_TUNING) -> None:
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
            window = limit_window(tuning, model.context_length)
            self._wait_for("/api/generate", body | {"prompt": "", "options": {"num_ctx": window}})

    def unload(self, name: str) -> None:
        """Free the model's memory after its current replies end. Raises `ModelFault`."""
        self._wait_for("/api/generate", {"model": name, "prompt": "", "stream": False, "keep_alive": 0})

    def delete(self, name: str) -> None:
        """Delete the model from memory and disk. Raises `ModelFault`.

        The server itself would keep answering from a deleted model until its memory is needed.
        """
        with suppress(ModelFault):  # deleting says what is wrong
            self.unload(name)
        request_json(self._settings, "DELETE", "/api/delete", {"model": name}, model=name, timeout=_DELETE_SECONDS)
        self._on_change()

    def recommended(self) -> tuple[str, int]:
        """Return the Llama 3 that suits this machine's memory, and its download size in bytes."""
        return recommend_llama()

    def close(self) -> None:
        """Cancel models that are still loading."""
        self._closing.cancel()

    def _wait_for(self, path: str, body: dict[str, Any]) -> None:
        call_cancellable(
            lambda: request_json(self._settings, "POST", path, body, model=body["model"], timeout=_LOAD_SECONDS),
            self._closing,
        )

    def _known(self, models: Sequence[InstalledModel]) -> list[ModelFacts]:
        return list(map_in_order(self._load_facts_or_none, models, self._closing, workers=_MAX_PARALLEL_REQUESTS))

    def _load_facts_or_none(self, model: InstalledModel, _stop: Cancellation) -> ModelFacts:
        """Return the facts, empty on a fault: one broken model must not hide the others."""
        try:
            return load_model_facts(self._settings, model)
        except ModelFault:
            return ModelFacts()

    def _loaded(self) -> dict[str, LoadedModel]:
        listed = request_json(self._settings, "GET", "/api/ps").get("models") or []
        try:
            return {str(entry.get("name") or entry["model"]): parse_loaded_model(entry) for entry in listed}
        except (TypeError, ValueError, AttributeError, KeyError) as error:
            raise ModelFault.make("model.bad_reply", server="Ollama") from error

    def _report(self, model: InstalledModel, facts: ModelFacts, loaded: LoadedModel | None) -> ModelReport:
        name = f"ollama:{model.name}"
        host = external_host(name, self._settings, model.remote_host)
        return build_model_report(model, facts, loaded, model_label(name), host)


_DEFAULT_MODEL_FOLDERS = (Path("~/.ollama/models"), Path("/usr/share/ollama/.ollama/models"))


def check_disk_space(name: str, needed: int, settings: Settings) -> None:
    """Raise `ModelFault` if this many bytes certainly do not fit; unknown cases are left to the server."""
    if external_host(f"ollama:{name}", settings):
        return
    free = [shutil.disk_usage(place).free for place in model_folders() if place.is_dir()]
    if free and max(free) < needed:
        raise ModelFault.make("pull.no_space", model=name, needed=format_size(needed), free=format_size(max(free)))


def model_folders() -> list[Path]:
    """Return the candidate model folders: from Ollama's own variable if it is set here too, else its defaults."""
    said = os.environ.get("OLLAMA_MODELS", "").strip()
    return [Path(said)] if said else [place.expanduser() for place in _DEFAULT_MODEL_FOLDERS]
