"""What the Ollama server says of itself and its models, asked over its plain HTTP interface.

The Python client drops `remote_host`, which tells models that run on this machine from those that do not.
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
    """One model of the server. `size` in bytes; `remote_host` is where a cloud model really runs, else empty."""

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
        """Whether this model makes vectors and cannot chat."""
        words = f"{self.name} {self.family}".lower()
        return any(sign in words for sign in _EMBEDDING_SIGNS)


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What `/api/show` says of one model; lengths are in tokens and numbers. Empty and None where it does not say.

    `parameters` is a count such as “8.0B”; `capabilities` are None where the server is too old to tell them.
    """

    context_length: int | None = None
    embedding_length: int | None = None
    family: str = ""
    parameters: str = ""
    quantization: str = ""
    capabilities: frozenset[str] | None = None


def is_cloud_name(name: str) -> bool:
    """Whether a model is named as those are that Ollama runs elsewhere."""
    return name.endswith((":cloud", "-cloud"))


def ollama_version(settings: Settings) -> str | None:
    """The server's version, or None when nothing that acts like Ollama answers within half a second."""
    try:
        version = ask(settings, "GET", "/api/version", timeout=PROBE_SECONDS).get("version")
    except ModelFault:
        return None
    return version if isinstance(version, str) else None


def installed_models(settings: Settings, timeout: float | None = None) -> list[InstalledModel]:
    """All models of the server, in its order (newest first). Raises `ModelFault`."""
    told = ask(settings, "GET", "/api/tags", timeout=timeout)
    if "models" not in told:
        raise not_ollama(settings)
    try:
        return [_installed(entry) for entry in told["models"] or ()]
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        raise bad_reply("Ollama") from error


def find_model(settings: Settings, name: str) -> InstalledModel:
    """The model called `name`, where a missing tag means `latest`. Raises `ModelFault`."""
    found = named(name, installed_models(settings))
    if found is None:
        raise missing_model(name)
    return found


def named(name: str, models: Iterable[Named]) -> Named | None:
    """The one of these models that goes by this name, where a missing tag means `latest`."""
    wanted = (name, f"{name}:latest")
    return next((model for model in models if model.name in wanted), None)


def model_facts(settings: Settings, model: InstalledModel) -> ModelFacts:
    """What the server knows of one model; asked once for each digest, which is another model. Raises `ModelFault`."""
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
    """The context window that is asked for, in tokens, as far as the model has one so large.

    Whoever loads a model and whoever asks it must ask for the same: with another it is loaded anew.
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
