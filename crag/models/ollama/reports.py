"""Report on a model of the Ollama server, combined from its three endpoints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from crag.models.ollama.administration import InstalledModel, ModelFacts

_FOR_EVER_YEAR = 2200  # a model kept for the life of the server has an expiry date centuries ahead


@dataclass(frozen=True, slots=True)
class Loaded:
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


def report(installed: InstalledModel, facts: ModelFacts, loaded: Loaded | None, label: str, host: str) -> ModelReport:
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


def read_loaded(entry: Mapping[str, Any]) -> Loaded:
    """Parse one model of an `/api/ps` reply. Raises `TypeError`, `ValueError`."""
    window = entry.get("context_length")
    return Loaded(
        size=int(entry.get("size") or 0),
        size_on_gpu=int(entry.get("size_vram") or 0),
        window=window if isinstance(window, int) and window > 0 else None,
        expires_at=_moment(str(entry.get("expires_at") or "")),
    )


def _moment(written: str) -> float | None:
    """Return seconds since the epoch, or None if malformed or never."""
    try:
        moment = datetime.fromisoformat(written)
    except ValueError:
        return None
    return None if moment.year > _FOR_EVER_YEAR else moment.timestamp()
