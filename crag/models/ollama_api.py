"""Client of the HTTP API of one Ollama host: models, facts about them, JSON requests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from crag.errors import ModelFault
from crag.models.faults import not_ollama_fault, translate_ollama_error
from crag.options import ModelParameters
from crag.settings import Settings

if TYPE_CHECKING:
    import httpx


REQUEST_SECONDS = 5.0


def request_json(
    settings: Settings,
    method: str,
    path: str,
    body: dict[str, Any] | None = None,
    *,
    model: str = "the model",
    timeout: float | None = None,
) -> dict[str, Any]:
    """Return the JSON object of the reply; `model` is the name used in faults. Raises `ModelFault`."""
    with _open_response(settings, method, path, body, model, timeout or REQUEST_SECONDS) as reply:
        content = reply.read()
    try:
        value = json.loads(content or b"{}")
    except ValueError as error:
        raise not_ollama_fault(settings) from error
    if not isinstance(value, dict):
        raise not_ollama_fault(settings)
    return value


def stream_json_lines(
    settings: Settings, path: str, body: dict[str, Any], *, model: str, timeout: float
) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a streamed reply; `timeout` in seconds limits silence. Raises `ModelFault`."""
    with _open_response(settings, "POST", path, body, model, timeout) as reply:
        for line in reply.iter_lines():
            value = json.loads(line) if line else {}
            if not isinstance(value, dict):
                raise ModelFault.make("model.bad_reply", server="Ollama")
            yield value


@contextmanager
def _open_response(
    settings: Settings, method: str, path: str, body: dict[str, Any] | None, model: str, timeout: float
) -> Iterator[httpx.Response]:
    """Open a reply with unread content; translate errors until the block ends."""
    import httpx

    from crag.models.connections import CONNECT_SECONDS, CancellableTransport

    limits = httpx.Timeout(timeout, connect=min(timeout, CONNECT_SECONDS))
    try:
        with (
            httpx.Client(transport=CancellableTransport(settings), timeout=limits, trust_env=False) as client,
            client.stream(method, settings.ollama_host + path, json=body) as reply,
        ):
            if not reply.is_success:
                reply.read()
            reply.raise_for_status()
            yield reply
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise translate_ollama_error(error, model, settings) from error


PROBE_SECONDS = 0.5
_NEVER_EXPIRES_YEAR = 2200  # a model kept for the life of the server has an expiry date centuries ahead
_EMBEDDING_NAME_PARTS = ("embed", "bert", "minilm", "bge", "gte-")


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
        return any(sign in words for sign in _EMBEDDING_NAME_PARTS)


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


def fetch_ollama_version(settings: Settings) -> str | None:
    """Return the server's version, or None if no Ollama answers within half a second."""
    try:
        version = request_json(settings, "GET", "/api/version", timeout=PROBE_SECONDS).get("version")
    except ModelFault:
        return None
    return version if isinstance(version, str) else None


def list_installed_models(settings: Settings, timeout: float | None = None) -> list[InstalledModel]:
    """List all models of the server, newest first. Raises `ModelFault`."""
    told = request_json(settings, "GET", "/api/tags", timeout=timeout)
    if "models" not in told:
        raise not_ollama_fault(settings)
    try:
        return [_parse_installed_model(entry) for entry in told["models"] or ()]
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        raise ModelFault.make("model.bad_reply", server="Ollama") from error


def list_loaded_models(settings: Settings) -> dict[str, LoadedModel]:
    """Return the models in memory by name. Raises `ModelFault`."""
    listed = request_json(settings, "GET", "/api/ps").get("models") or []
    try:
        return {str(entry.get("name") or entry["model"]): _parse_loaded_model(entry) for entry in listed}
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        raise ModelFault.make("model.bad_reply", server="Ollama") from error


def find_by_name(name: str, models: Iterable[Named]) -> Named | None:
    """Return the model of this name, or None; a missing tag means `latest`."""
    wanted = (name, f"{name}:latest")
    return next((model for model in models if model.name in wanted), None)


def load_model_facts(settings: Settings, model: InstalledModel) -> ModelFacts:
    """Return the server's facts on a model, cached by digest. Raises `ModelFault`."""
    key = (settings.ollama_host, model.name, model.digest)
    if key not in model_facts_cache:
        model_facts_cache[key] = _request_model_facts(settings, model.name)
    return model_facts_cache[key]


def _request_model_facts(settings: Settings, name: str) -> ModelFacts:
    shown = request_json(settings, "POST", "/api/show", {"model": name}, model=name)
    known, details, told = shown.get("model_info"), shown.get("details"), shown.get("capabilities")
    known = known if isinstance(known, dict) else {}
    details = details if isinstance(details, dict) else {}
    return ModelFacts(
        context_length=_value_by_suffix(known, ".context_length"),
        embedding_length=_value_by_suffix(known, ".embedding_length"),
        family=str(details.get("family") or ""),
        parameters=str(details.get("parameter_size") or ""),
        quantization=str(details.get("quantization_level") or ""),
        capabilities=frozenset(map(str, told)) if isinstance(told, list) and told else None,
    )


def limit_window(tuning: ModelParameters, context_length: int | None) -> int:
    """Return the context window to request, in tokens, limited to what the model supports.

    Loading and querying must request the same window; a different one makes the server reload the model.
    """
    return min(tuning.window, context_length or tuning.window)


def _parse_installed_model(entry: dict[str, Any]) -> InstalledModel:
    details = entry.get("details") or {}
    return InstalledModel(
        name=str(entry.get("name") or entry["model"]),
        size=int(entry.get("size") or 0),
        digest=str(entry.get("digest") or ""),
        family=str(details.get("family") or ""),
        remote_host=str(entry.get("remote_host") or ""),
    )


def _parse_loaded_model(entry: Mapping[str, Any]) -> LoadedModel:
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


def _value_by_suffix(known: dict[str, Any], end: str) -> int | None:
    return next((value for key, value in known.items() if key.endswith(end) and isinstance(value, int)), None)


model_facts_cache: dict[tuple[str, str, str], ModelFacts] = {}
