"""Choice of the chat model and the embedder: the configured one, or the best available, with a reason to show."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from crag.errors import ModelFault
from crag.ledger import Ledger
from crag.models.faults import host_label
from crag.models.nomic.weights import nomic_present
from crag.models.ollama.administration import PROBE_SECONDS, InstalledModel, installed_models, is_cloud_name
from crag.models.providers import is_provider
from crag.protocols import Embedder, WantedEmbedder
from crag.settings import Settings

BUILTIN_LABEL = "Built-in engine"
_OLLAMA_CLOUD, _USUAL_PORT = "ollama.com", ":443"
_AUTO = ("", "auto")
# In bytes. Larger models fit few machines, so the automatic choice prefers the largest below this.
_COMFORTABLE = 10_000_000_000
_SIZE = re.compile(r"\d+(?:\.\d+)?[bm]", re.IGNORECASE)
_VERSIONED = re.compile(r"([a-z]{2,})(\d+(?:\.\d+)*)")
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


def choose_chat_model(settings: Settings) -> ModelChoice:
    """Return the configured chat model; on auto a Llama 3 of a reachable Ollama, else the built-in engine."""
    if settings.chat_model not in _AUTO:
        return ModelChoice(settings.chat_model, model_label(settings.chat_model), "Chosen in the settings.")
    try:
        models = installed_models(settings, PROBE_SECONDS)
    except ModelFault as fault:
        return ModelChoice("builtin", BUILTIN_LABEL, f"{fault.message[:-1]}, so the built-in engine answers.")
    best = _best_llama(models)
    if best is None:
        why = "Ollama has no Llama 3 model, so the built-in engine answers. Get one with `ollama pull llama3.1`."
        return ModelChoice("builtin", BUILTIN_LABEL, why)
    label = model_label(f"ollama:{best.name}")
    return ModelChoice(f"ollama:{best.name}", label, f"Ollama at {host_label(settings)} has {label}, so it answers.")


def choose_embedder(settings: Settings) -> ModelChoice:
    """Return the configured embedder; on auto Nomic if its weights are on disk, else the built-in vectors."""
    if settings.embedder not in _AUTO:
        return ModelChoice(settings.embedder, embedder_label(settings.embedder), "Chosen in the settings.")
    if nomic_present():
        return ModelChoice("nomic", embedder_label("nomic"), "Nomic's weights are on this machine, so they embed.")
    why = "Nomic's weights are not on this machine, so the built-in vectors embed."
    return ModelChoice("builtin", embedder_label("builtin"), why)


class InstalledEmbedders:
    """Embedders of this machine and of the configured providers, implementing `Embedders`."""

    def __init__(self, settings: Settings, ledger: Ledger) -> None:
        self._settings = settings
        self._ledger = ledger

    def wanted(self) -> WantedEmbedder:
        """Return the wanted embedder, as in `Embedders`."""
        return WantedEmbedder(choose_embedder(self._settings).name, self._settings.embedder not in _AUTO)

    def open(self, name: str) -> Embedder:
        """Open an embedder, as in `Embedders`."""
        from crag.models.embeddings import open_embedder

        return open_embedder(name, self._settings, self._ledger)


def available_embedders(settings: Settings) -> list[ModelChoice]:
    """List the built-in vectors, Nomic if its weights are on disk, and the local embedding models of Ollama."""
    names = ["builtin"] + ["nomic"] * nomic_present()
    choices = [ModelChoice(name, embedder_label(name)) for name in names]
    try:
        models = installed_models(settings, PROBE_SECONDS)
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
        models = installed_models(settings, PROBE_SECONDS)
    except ModelFault:
        return choices
    for model in models:
        if not model.only_embeds:
            name = f"ollama:{model.name}"
            host = destination(name, settings, model.remote_host)
            choices.append(ModelChoice(name, model_label(name), host=host))
    return choices


def destination(name: str, settings: Settings, remote_host: str = "") -> str:
    """Return the host or provider that receives the model's inputs; empty on this machine and for no model.

    `remote_host` is the address to which Ollama forwards a cloud model's prompts.
    """
    provider, _, model = name.partition(":")
    if provider != "ollama":
        return provider if is_provider(provider) else ""
    if remote_host or is_cloud_name(model):
        return urlsplit(remote_host).netloc.rpartition("@")[2].removesuffix(_USUAL_PORT) or _OLLAMA_CLOUD
    return "" if settings.ollama_is_here else host_label(settings)


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
    return " ".join(_word(part) for part in re.split("[-:]", model) if part)


def embedder_label(name: str) -> str:
    """Return the label of an embedder to show."""
    return {"builtin": "Built-in vectors", "nomic": "Nomic (local)"}.get(name, model_label(name))


def _word(part: str) -> str:
    if _SIZE.fullmatch(part):
        return part.upper()
    versioned = _VERSIONED.fullmatch(part)
    if versioned:
        return f"{versioned[1].capitalize()} {versioned[2]}"
    return part.capitalize() if part.isalpha() else part


def _best_llama(models: list[InstalledModel]) -> InstalledModel | None:
    """Return the largest local Llama 3 that most machines can run, else the smallest."""
    llamas = [model for model in models if model.name.startswith("llama3") and not model.cloud]
    comfortable = [model for model in llamas if model.size <= _COMFORTABLE]
    if comfortable:
        return max(comfortable, key=lambda model: model.size)
    return min(llamas, key=lambda model: model.size, default=None)
