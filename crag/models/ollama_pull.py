"""Resumable pull of a model by Ollama."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from crag.cancellation import Cancellation, run_cancellable
from crag.errors import ModelFault
from crag.models.connections import SILENCE_SECONDS
from crag.models.ollama_api import stream_json_lines
from crag.models.ollama_pool import ollama_pool
from crag.models.ollama_server import check_disk_space
from crag.settings import Settings
from crag.storage.outbound_log import OutboundLog
from crag.types import Progress, ProgressCallback

_REGISTRY = "registry.ollama.ai"
_MAX_ATTEMPTS = 5
_MAX_LAYER_BYTES = 10**15  # bytes; larger or non-integer values are ignored
_STAGES = {
    "pulling manifest": "Contacting the registry",
    "verifying": "Checking the download",
    "writing": "Installing",
    "removing": "Installing",
    "success": "Ready",
}

# Parts of Ollama's error message, by fault; the first that fits counts.
_ERROR_WORDS = (
    ("pull.unknown_model", ("file does not exist", "not found", "invalid model name")),
    ("pull.disk_full", ("no space left", "not enough space")),
    ("pull.outdated", ("newer version",)),
    ("pull.not_writable", ("permission denied", "read-only")),
    ("pull.no_access", ("unauthorized", "denied")),
    (
        "pull.unreachable_registry",
        ("no such host", "dial tcp", "network is", "connection re", "i/o timeout", "tls:", "max retries", "eof"),
    ),
)


@dataclass
class PullProgress:
    """Progress of each layer of a model, in bytes; the server reports one layer after another."""

    totals: dict[str, int] = field(default_factory=dict)
    done: dict[str, int] = field(default_factory=dict)
    stage: str = "Contacting the registry"

    def add_line(self, line: dict[str, Any]) -> None:
        """Record one line of the stream; early lines have no totals."""
        status = str(line.get("status") or "")
        self.stage = next((words for sign, words in _STAGES.items() if status.startswith(sign)), "Downloading")
        if digest := str(line.get("digest") or ""):
            self.totals[digest] = _valid_size(line.get("total"))
            self.done[digest] = _valid_size(line.get("completed")) or self.done.get(digest, 0)

    def progress(self) -> Progress:
        """Return the progress of all known layers together."""
        return Progress(self.stage, sum(self.done.values()), sum(self.totals.values()))


def pull_model(
    name: str, settings: Settings, outbound_log: OutboundLog, report: ProgressCallback, stop: Cancellation
) -> None:
    """Let the first host that answers pull `name`, resuming an earlier pull; `report` receives bytes.

    A broken connection is retried, up to five times without progress. Raises `ModelFault`, `Stopped`, and `HomeFault`
    when the request cannot be recorded first.
    """
    from tenacity import Retrying, retry_if_exception, wait_random_exponential

    settings = ollama_pool(settings).first_host()
    outbound_log.record(_REGISTRY, "download", f"The model {name}, fetched by Ollama at {settings.ollama_host_label}")
    layers = PullProgress()
    failures = _FailureCounter()
    attempts = Retrying(
        stop=lambda _: failures.count(sum(layers.done.values())) >= _MAX_ATTEMPTS,
        wait=wait_random_exponential(multiplier=0.3, max=8),
        retry=retry_if_exception(lambda error: isinstance(error, ModelFault) and _is_retryable(error, layers)),
        sleep=cast("Any", stop.wait),
        reraise=True,
    )
    try:
        attempts(_attempt_pull, name, settings, layers, report, stop)
    except ModelFault as fault:
        raise (ModelFault.make("pull.incomplete") if fault.code == "incomplete" else fault) from fault


def _valid_size(value: object) -> int:
    return value if isinstance(value, int) and 0 < value <= _MAX_LAYER_BYTES else 0


class _FailureCounter:
    """Count of failed attempts since the last progress."""

    def __init__(self) -> None:
        self._failed = 0
        self._done = 0

    def count(self, done: int) -> int:
        self._failed = 1 if done > self._done else self._failed + 1
        self._done = done
        return self._failed


def _is_retryable(fault: ModelFault, layers: PullProgress) -> bool:
    """Return whether to retry; a server that was reachable before may be restarting."""
    return fault.fault == "passing" or (fault.code == "unreachable" and bool(layers.totals))


def _attempt_pull(
    name: str, settings: Settings, layers: PullProgress, report: ProgressCallback, stop: Cancellation
) -> None:
    for line in run_cancellable(lambda: _request_pull(name, settings), stop):
        if error := line.get("error"):
            raise _translate_pull_error(name, str(error))
        total = sum(layers.totals.values())
        layers.add_line(line)
        progress = layers.progress()
        if progress.total > total:
            check_disk_space(name, progress.total - progress.done, settings)
        report(progress)
        if line.get("status") == "success":
            return
    raise ModelFault.make("model.incomplete", server="Ollama")


def _translate_pull_error(name: str, message: str) -> ModelFault:
    """Translate an error inside a stream that began with status 200."""
    said = message.lower()
    key = next((key for key, words in _ERROR_WORDS if any(word in said for word in words)), "pull.pull_failed")
    return ModelFault.make(key, model=name)


def _request_pull(name: str, settings: Settings) -> Iterator[dict[str, Any]]:
    body = {"model": name, "stream": True}
    return stream_json_lines(settings, "/api/pull", body, model=name, timeout=SILENCE_SECONDS)
