"""The Ollama server's models and their facts, read over its HTTP API.

The Python client drops `remote_host`, which separates models on this machine from cloud models.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from crag.errors import ModelFault
from crag.models.faults import bad_reply, missing_model, not_ollama
from crag.models.ollama.requests import ask
from crag.options import Tuning
from crag.settings import Settings

PROBE_SECONDS = 0.5
_EMBEDDING_SIGNS = ("embed", "bert", "minilm", "bge", "gte-")


class _HasName(Protocol):
    @property
    def name(self) -> str: ...


Named = TypeVar("Named", bound=_HasName)


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A model of the server. `size` in bytes; `remote_host` is the host of a cloud model, else empty."""

    name: str
    size: int
    digest: str
    family: str
    remote_host: str

    @property
    def cloud(self) -> bool:
        """Whether prompts to this model leave the machine."""
        return bool(self.remote_host) or is_cloud_name(self.name)

    @property
    def only_embeds(self) -> bool:
        """Whether this is an embedding model that cannot chat, judged by name and family."""
        words = f"{self.name} {self.family}".lower()
        return any(sign in words for sign in _EMBEDDING_SIGNS)


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Facts from `/api/show`; `context_length` in tokens. Empty or None where not reported.

    `parameters` is a count such as “8.0B”. `capabilities` is None where the server is too old to report them.
    """

    context_length: int | None = None
    embedding_length: int | None = None
    family: str = ""
    parameters: str = ""
    quantization: str = ""
    capabilities: frozenset[str] | None = None


def is_cloud_name(name: str) -> bool:
    """Return whether a name follows Ollama's pattern for cloud models."""
    return name.endswith((":cloud", "-cloud"))


def ollama_version(settings: Settings) -> str | None:
    """Return the server's version, or None if no Ollama answers within half a second."""
    try:
        version = ask(settings, "GET", "/api/version", timeout=PROBE_SECONDS).get("version")
    except ModelFault:
        return None
    return version if isinstance(version, str) else None


def installed_models(settings: Settings, timeout: float | None = None) -> list[InstalledModel]:
    """List all models of the server, newest first. Raises `ModelFault`."""
    told = ask(settings, "GET", "/api/tags", timeout=timeout)
    if "models" not in told:
        raise not_ollama(settings)
    try:
        return [_installed(entry) for entry in told["models"] or ()]
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        raise bad_reply("Ollama") from error


def find_model(settings: Settings, name: str) -> InstalledModel:
    """Return the model called `name`; a missing tag means `latest`. Raises `ModelFault`."""
    found = named(name, installed_models(settings))
    if found is None:
        raise missing_model(name)
    return found


def named(name: str, models: Iterable[Named]) -> Named | None:
    """Return the model of this name, or None; a missing tag means `latest`."""
    wanted = (name, f"{name}:latest")
    return next((model for model in models if model.name in wanted), None)


def model_facts(settings: Settings, model: InstalledModel) -> ModelFacts:
    """Return the server's facts on a model, cached by digest. Raises `ModelFault`."""
    key = (settings.ollama_host, model.name, model.digest)
    if key not in remembered_facts:
        remembered_facts[key] = _ask_for_facts(settings, model.name)
    return remembered_facts[key]


def _ask_for_facts(settings: Settings, name: str) -> ModelFacts:
    shown = ask(settings, "POST", "/api/show", {"model": name}, model=name)
    known, details, told = shown.get("model_info"), shown.get("details"), shown.get("capabilities")
    known = known if isinstance(known, dict) else {}
    details = details if isinstance(details, dict) else {}
    return ModelFacts(
        context_length=_ending(known, ".context_length"),
        embedding_length=_ending(known, ".embedding_length"),
        family=str(details.get("family") or ""),
        parameters=str(details.get("parameter_size") or ""),
        quantization=str(details.get("quantization_level") or ""),
        capabilities=frozenset(map(str, told)) if isinstance(told, list) and told else None,
    )


def fitting_window(tuning: Tuning, context_length: int | None) -> int:
    """Return the context window to request, in tokens, limited to what the model supports.

    Loading and querying must request the same window; a different one makes the server reload the model.
    """
    return min(tuning.window, context_length or tuning.window)


def _installed(entry: dict[str, Any]) -> InstalledModel:
    details = entry.get("details") or {}
    return InstalledModel(
        name=str(entry.get("name") or entry["model"]),
        size=int(entry.get("size") or 0),
        digest=str(entry.get("digest") or ""),
        family=str(details.get("family") or ""),
        remote_host=str(entry.get("remote_host") or ""),
    )


def _ending(known: dict[str, Any], end: str) -> int | None:
    return next((value for key, value in known.items() if key.endswith(end) and isinstance(value, int)), None)


remembered_facts: dict[tuple[str, str, str], ModelFacts] = {}
