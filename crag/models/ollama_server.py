"""Models of Ollama on all its hosts: report, load, unload, delete, recommend, check disk space."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
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
    LoadedModel,
    ModelFacts,
    limit_window,
    request_json,
)
from crag.models.ollama_pool import HostStatus, ollama_pool
from crag.options import ModelParameters
from crag.settings import Settings
from crag.text.formatting import format_size


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
    """The models of the configured Ollama hosts. Thread-safe; closing it cancels models that are still loading."""

    def __init__(self, settings: Settings, on_change: Callable[[], None] = lambda: None) -> None:
        """`on_change` is called when a model was deleted; it may have been the one that answers."""
        self._on_change = on_change
        self._settings = settings
        self._pool = ollama_pool(settings)
        self._closing = Cancellation()

    def version(self) -> str | None:
        """Return the server's version, or None if no Ollama answers within half a second."""
        return self._pool.version()

    def hosts(self) -> list[HostStatus]:
        """Return the status of each host; nothing if there is only one."""
        return self._pool.statuses()

    def models(self) -> list[ModelReport]:
        """List all models, newest first; facts are cached until a model changes. Raises `ModelFault`."""
        installed = self._pool.list_models()
        facts, loaded = self._known(installed), self._pool.list_loaded()
        return [
            self._report(model, known, loaded.get(model.name)) for model, known in zip(installed, facts, strict=True)
        ]

    def model(self, name: str) -> ModelReport:
        """Return the model called `name`; a missing tag means `latest`. Raises `ModelFault`."""
        installed = self._pool.find_model(name)
        [facts] = self._known([installed])
        return self._report(installed, facts, self._pool.list_loaded().get(installed.name))

    def load(self, name: str, tuning: ModelParameters = _DEFAULT_TUNING) -> None:
        """Load the model with the window that questions under this tuning use; another window would reload it.

        Of several hosts, the one that the next question would go to loads it. Returns once it is loaded, which may
        take minutes. Raises `ModelFault`, and `Stopped` when this server is closed.
        """
        installed = self._pool.find_model(name)
        [facts] = self._known([installed])
        model = self._report(installed, facts, None)
        body: dict[str, Any] = {"model": name, "stream": False}
        if tuning.keep_alive:  # 0 would unload it immediately; use the server's default instead
            body["keep_alive"] = tuning.keep_alive
        if model.embeds:
            path, body = "/api/embed", body | {"input": ""}
        else:
            window = limit_window(tuning, model.context_length)
            path, body = "/api/generate", body | {"prompt": "", "options": {"num_ctx": window}}
        call_cancellable(lambda: self._pool.call(installed, lambda host: _wait_for(host, path, body)), self._closing)

    def unload(self, name: str) -> None:
        """Free the model's memory at every host after its current replies end. Raises `ModelFault`."""
        body = {"model": name, "prompt": "", "stream": False, "keep_alive": 0}
        for host in self._pool.hosts_with(name):
            call_cancellable(partial(_wait_for, host, "/api/generate", body), self._closing)

    def delete(self, name: str) -> None:
        """Delete the model from memory and disk of every host. Raises `ModelFault`, which names the hosts that failed.

        The server itself would keep answering from a deleted model until its memory is needed.
        """
        with suppress(ModelFault):  # deleting says what is wrong
            self.unload(name)
        hosts = self._pool.hosts_with(name)
        faults: dict[str, ModelFault] = {}
        for host in hosts:
            try:
                request_json(host, "DELETE", "/api/delete", {"model": name}, model=name, timeout=_DELETE_SECONDS)
            except ModelFault as fault:
                faults[host.ollama_host_label] = fault
        if len(faults) < len(hosts):
            self._on_change()
        for first in faults.values():
            if len(hosts) == 1:
                raise first
            reason = first.message.rstrip(".")
            raise ModelFault.make("ollama.not_deleted", model=name, hosts=", ".join(faults), reason=reason) from first

    def recommended(self) -> tuple[str, int]:
        """Return the Llama 3 that suits this machine's memory, and its download size in bytes."""
        return recommend_llama()

    def close(self) -> None:
        """Cancel models that are still loading."""
        self._closing.cancel()

    def _known(self, models: Sequence[InstalledModel]) -> list[ModelFacts]:
        return list(map_in_order(self._load_facts_or_none, models, self._closing, workers=_MAX_PARALLEL_REQUESTS))

    def _load_facts_or_none(self, model: InstalledModel, _stop: Cancellation) -> ModelFacts:
        """Return the facts, empty on a fault: one broken model must not hide the others."""
        try:
            return self._pool.load_facts(model)
        except ModelFault:
            return ModelFacts()

    def _report(self, model: InstalledModel, facts: ModelFacts, loaded: LoadedModel | None) -> ModelReport:
        name = f"ollama:{model.name}"
        host = external_host(name, self._settings, model.remote_host)
        return build_model_report(model, facts, loaded, model_label(name), host)


def _wait_for(host: Settings, path: str, body: dict[str, Any]) -> None:
    request_json(host, "POST", path, body, model=body["model"], timeout=_LOAD_SECONDS)


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
