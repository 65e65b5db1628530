"""Choice of the chat model and the embedder, with the reason to show."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from crag.concurrency.caches import TTLCache
from crag.errors import ModelFault
from crag.models.destinations import external_host
from crag.models.nomic_weights import is_nomic_usable
from crag.models.ollama_api import InstalledModel
from crag.models.ollama_pool import ollama_pool
from crag.protocols import ConfiguredEmbedder, Embedder
from crag.settings import Settings
from crag.storage.outbound_log import OutboundLog

BUILTIN_LABEL = "Built-in engine"
_AUTO_NAMES = ("", "auto")
# In bytes. Larger models fit few machines, so the automatic choice prefers the largest below this.
_MAX_PREFERRED_BYTES = 10_000_000_000
_PARAMETER_COUNT = re.compile(r"\d+(?:\.\d+)?[bm]", re.IGNORECASE)
_NAME_WITH_VERSION = re.compile(r"([a-z]{2,})(\d+(?:\.\d+)*)")
_PLAIN_NAME = re.compile(r"[a-z][a-z0-9.\-]*(?::[\w.\-]+)?")


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """An available or chosen model: name as in the settings, label and reason as shown.

    `host` is where its inputs go, empty on this machine. `builtin` marks the built-in engine, which is not a chat model
    and cannot be opened with `open_chat_model`.
    """

    name: str
    label: str
    reason: str = ""
    host: str = ""

    @property
    def cloud(self) -> bool:
        """Whether its inputs leave this machine."""
        return bool(self.host)

    @property
    def builtin(self) -> bool:
        """Whether this is the built-in engine."""
        return self.name == "builtin"


def choose_chat_model(settings: Settings, before: ModelChoice | None = None) -> ModelChoice:
    """Return the configured chat model; on auto a Llama 3 of a reachable Ollama, else the built-in engine.

    While a server is too busy to list its models, the choice stays as it was `before`.
    """
    if settings.chat_model not in _AUTO_NAMES:
        return ModelChoice(settings.chat_model, model_label(settings.chat_model), "Chosen in the settings.")
    try:
        models = ollama_pool(settings).list_models(is_probe=True)
    except ModelFault as fault:
        if before and fault.code == "silent":
            return before
        return ModelChoice("builtin", BUILTIN_LABEL, f"{fault.message[:-1]}, so the built-in engine answers.")
    best = _choose_llama(models)
    if best is None:
        why = "Ollama has no Llama 3 model, so the built-in engine answers. Get one with `ollama pull llama3.1`."
        return ModelChoice("builtin", BUILTIN_LABEL, why)
    label = model_label(f"ollama:{best.name}")
    return ModelChoice(
        f"ollama:{best.name}", label, f"Ollama at {settings.ollama_host_label} has {label}, so it answers."
    )


def choose_embedder(settings: Settings) -> ModelChoice:
    """Return the configured embedder; on auto Nomic if its weights are on disk, else the built-in vectors."""
    if settings.embedder not in _AUTO_NAMES:
        return ModelChoice(settings.embedder, embedder_label(settings.embedder), "Chosen in the settings.")
    if is_nomic_usable():
        return ModelChoice("nomic", embedder_label("nomic"), "Nomic's weights are on this machine, so Nomic embeds.")
    why = "Nomic's weights are not on this machine, so the built-in embeddings are used."
    return ModelChoice("builtin", embedder_label("builtin"), why)


class InstalledEmbedders:
    """Embedders of this machine and of the configured providers, implementing `EmbedderProvider`."""

    def __init__(self, settings: Settings, outbound_log: OutboundLog) -> None:
        self._settings = settings
        self._outbound_log = outbound_log

    def wanted(self) -> ConfiguredEmbedder:
        """Return the configured embedder, as in `EmbedderProvider`."""
        return ConfiguredEmbedder(choose_embedder(self._settings).name, self._settings.embedder not in _AUTO_NAMES)

    def open(self, name: str) -> Embedder:
        """Open an embedder, as in `EmbedderProvider`."""
        from crag.models.embedders import open_embedder

        return open_embedder(name, self._settings, self._outbound_log)


def available_embedders(settings: Settings) -> list[ModelChoice]:
    """List the built-in vectors, Nomic if its weights are on disk, and the local embedding models of Ollama."""
    names = ["builtin"] + ["nomic"] * is_nomic_usable()
    choices = [ModelChoice(name, embedder_label(name)) for name in names]
    try:
        models = ollama_pool(settings).list_models(is_probe=True)
    except ModelFault:
        return choices
    names = [
        f"ollama:{model.name.removesuffix(':latest')}" for model in models if model.only_embeds and not model.cloud
    ]
    return choices + [ModelChoice(name, embedder_label(name)) for name in names]


def available_chat_models(settings: Settings) -> list[ModelChoice]:
    """List the built-in engine and, if Ollama answers, its chat models."""
    choices = [ModelChoice("builtin", BUILTIN_LABEL)]
    try:
        models = ollama_pool(settings).list_models(is_probe=True)
    except ModelFault:
        return choices
    for model in models:
        if not model.only_embeds:
            name = f"ollama:{model.name}"
            host = external_host(name, settings, model.remote_host)
            choices.append(ModelChoice(name, model_label(name), host=host))
    return choices


def choose_other_model(settings: Settings, answering: str) -> str:
    """Return the largest chat model on Ollama's own machine besides `answering`; empty if there is none."""
    try:
        models = ollama_pool(settings).list_models(is_probe=True)
    except ModelFault:
        return ""
    others = [one for one in models if not (one.only_embeds or one.cloud or f"ollama:{one.name}" == answering)]
    return f"ollama:{max(others, key=lambda one: one.size).name}" if others else ""


def model_label(name: str) -> str:
    """Return the label to show: `ollama:llama3.1:8b` is “Llama 3.1 8B”; other patterns stay as they are."""
    if name == "builtin":
        return BUILTIN_LABEL
    provider, _, model = name.partition(":")
    if provider != "ollama":
        return name
    model = model.removesuffix(":latest")
    if not _PLAIN_NAME.fullmatch(model):
        return model
    return " ".join(_label_part(part) for part in re.split("[-:]", model) if part)


def embedder_label(name: str) -> str:
    """Return the label of an embedder to show."""
    return {"builtin": "Built-in embeddings", "nomic": "Nomic (local)"}.get(name, model_label(name))


def _label_part(part: str) -> str:
    if _PARAMETER_COUNT.fullmatch(part):
        return part.upper()
    versioned = _NAME_WITH_VERSION.fullmatch(part)
    if versioned:
        return f"{versioned[1].capitalize()} {versioned[2]}"
    return part.capitalize() if part.isalpha() else part


def _choose_llama(models: list[InstalledModel]) -> InstalledModel | None:
    """Return the largest local Llama 3 that most machines can run, else the smallest."""
    llamas = [model for model in models if model.name.startswith("llama3") and not model.cloud]
    comfortable = [model for model in llamas if model.size <= _MAX_PREFERRED_BYTES]
    if comfortable:
        return max(comfortable, key=lambda model: model.size)
    return min(llamas, key=lambda model: model.size, default=None)


_CACHE_SECONDS = 10.0


class CachedModelChoice:
    """Cached choice of the chat model on auto. Thread-safe."""

    def __init__(self, settings: Settings) -> None:
        """`on_change` is called when a different model answers, and for the first one."""
        self._settings = settings
        self._cache = TTLCache(self._look_up, _CACHE_SECONDS)
        self.on_change: Callable[[], None] = lambda: None
        self._name = ""
        self._last: ModelChoice | None = None

    def get(self, *, refresh: bool = False) -> ModelChoice:
        """Return the current choice and its reason, looked up every few seconds at most, and again with `refresh`."""
        if refresh:
            self._cache.forget()
        choice = self._cache.get()
        before, self._name = self._name, choice.name
        if choice.name != before:
            self.on_change()
        return choice

    def forget(self) -> None:
        """Clear the cache after a change of the models."""
        self._cache.forget()
        self._name = ""
        self._last = None

    def _look_up(self) -> ModelChoice:
        self._last = choose_chat_model(self._settings, self._last)
        return self._last
