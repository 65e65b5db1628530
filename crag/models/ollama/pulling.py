"""Pull of a model from Ollama's registry by its server, followed line by line and resumed on failure.

The lines follow Ollama's API, "Pull a Model": `status`, and for each layer `digest`, `total` and `completed`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from crag.errors import ModelFault
from crag.following import follow
from crag.ledger import Ledger
from crag.models.connections import SILENCE_SECONDS
from crag.models.faults import broken_off, host_label
from crag.models.ollama.pull_faults import pull_broken, pull_failed
from crag.models.ollama.requests import ask_for_lines
from crag.models.ollama.storage import check_room
from crag.progress import Report
from crag.settings import Settings
from crag.stopping import Stop
from crag.types import Progress

_REGISTRY = "registry.ollama.ai"
_ATTEMPTS = 5
_LARGEST = 10**15  # bytes; larger or non-integer values are ignored
_STAGES = {
    "pulling manifest": "Asking the registry",
    "verifying": "Checking what has come",
    "writing": "Putting it in its place",
    "removing": "Putting it in its place",
    "success": "Ready",
}


@dataclass
class Layers:
    """Progress of each layer of a model, in bytes; the server reports one layer after another."""

    totals: dict[str, int] = field(default_factory=dict)
    done: dict[str, int] = field(default_factory=dict)
    stage: str = "Asking the registry"

    def note(self, line: dict[str, Any]) -> None:
        """Record one line of the stream; early lines have no totals."""
        status = str(line.get("status") or "")
        self.stage = next((words for sign, words in _STAGES.items() if status.startswith(sign)), "Receiving")
        if digest := str(line.get("digest") or ""):
            self.totals[digest] = _size(line.get("total"))
            self.done[digest] = _size(line.get("completed")) or self.done.get(digest, 0)

    def progress(self) -> Progress:
        """Return the progress of all known layers together."""
        return Progress(self.stage, sum(self.done.values()), sum(self.totals.values()))


def pull(name: str, settings: Settings, ledger: Ledger, report: Report, stop: Stop) -> None:
    """Let the server pull `name`, resuming an earlier pull; `report` receives bytes.

    A broken connection is retried, up to five times without progress. Raises `ModelFault`, `Stopped`, and `HomeFault`
    when the request cannot be recorded first.
    """
    from tenacity import Retrying, retry_if_exception, wait_random_exponential

    ledger.record(_REGISTRY, "download", f"The model {name}, fetched by Ollama at {host_label(settings)}")
    layers = Layers()
    failures = _Failures()
    attempts = Retrying(
        stop=lambda _: failures.count(sum(layers.done.values())) >= _ATTEMPTS,
        wait=wait_random_exponential(multiplier=0.3, max=8),
        retry=retry_if_exception(lambda error: isinstance(error, ModelFault) and _may_pass(error, layers)),
        sleep=cast("Any", stop.wait),
        reraise=True,
    )
    try:
        attempts(_attempt, name, settings, layers, report, stop)
    except ModelFault as fault:
        raise (pull_broken() if fault.code == "incomplete" else fault) from fault


def _size(told: object) -> int:
    return told if isinstance(told, int) and 0 < told <= _LARGEST else 0


class _Failures:
    """Count of failed attempts since the last progress."""

    def __init__(self) -> None:
        self._failed = 0
        self._done = 0

    def count(self, done: int) -> int:
        self._failed = 1 if done > self._done else self._failed + 1
        self._done = done
        return self._failed


def _may_pass(fault: ModelFault, layers: Layers) -> bool:
    """Return whether to retry; a server that was reachable before may be restarting."""
    return fault.fault == "passing" or (fault.code == "unreachable" and bool(layers.totals))


def _attempt(name: str, settings: Settings, layers: Layers, report: Report, stop: Stop) -> None:
    for line in follow(lambda: _lines(name, settings), stop):
        if error := line.get("error"):
            raise pull_failed(name, str(error))
        total = sum(layers.totals.values())
        layers.note(line)
        progress = layers.progress()
        if progress.total > total:
            check_room(name, progress.total - progress.done, settings)
        report(progress)
        if line.get("status") == "success":
            return
    raise broken_off("Ollama")


def _lines(name: str, settings: Settings) -> Iterator[dict[str, Any]]:
    body = {"model": name, "stream": True}
    return ask_for_lines(settings, "/api/pull", body, model=name, timeout=SILENCE_SECONDS)
