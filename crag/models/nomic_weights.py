"""Nomic's weights on disk: location, digest, download and verification."""

from __future__ import annotations

import hashlib
import signal
import subprocess
import sys
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from stat import S_ISREG

from crag.cancellation import Cancellation
from crag.errors import ModelFault
from crag.models.file_download import RemoteFile, download_file
from crag.settings import Settings
from crag.storage.outbound_log import OutboundLog
from crag.types import ProgressCallback

WEIGHTS_FILE = "nomic-embed-text-v1.5.f16.gguf"
NOMIC, NOMIC_ON_OLLAMA = "nomic", "ollama:nomic-embed-text"
_MAGIC = b"GGUF"
_TRIAL_SCRIPT = Path(__file__).with_name("nomic_trial.py")
_TRIAL_SECONDS = 120
_FileState = tuple[int, int]  # size in bytes and modification time in nanoseconds
_damaged_states: set[_FileState] = set()  # states of weights that failed verification


def weights_path() -> Path:
    """Return the path where gpt4all keeps the weights."""
    return Path.home() / ".cache" / "gpt4all" / WEIGHTS_FILE


def nomic_embedder_name() -> str:
    """Return Nomic's embedder name on this machine: in-process, or through Ollama if gpt4all has no wheel."""
    return NOMIC_ON_OLLAMA if find_spec("gpt4all") is None else NOMIC


def is_nomic_usable() -> bool:
    """Return whether the weights are on disk, not known to be damaged, and usable on this machine."""
    return nomic_embedder_name() == NOMIC and _weights_state() not in (None, *_damaged_states)


def fetch_nomic(settings: Settings, outbound_log: OutboundLog, report: ProgressCallback, stop: Cancellation) -> None:
    """Download the weights to gpt4all's folder, replacing existing ones; resume an earlier download.

    `report` receives bytes. Raises `ModelFault`, `Stopped`, and `HomeFault` when the request cannot be recorded first.
    """
    if nomic_embedder_name() != NOMIC:
        raise ModelFault.make("nomic.package_missing")

    def record(host: str, url: str) -> None:
        outbound_log.record(host, "download", f"{url} (only this address was sent)")

    remote = RemoteFile.from_address(settings.nomic_url, "CRAG_NOMIC_URL")
    download_file(remote, weights_path(), _MAGIC, record, report, stop)


def weights_digest() -> str:
    """Return the SHA-256 of the weights. Raises `ModelFault` when they are missing."""
    state = _weights_state()
    if state is None:
        raise ModelFault.make("nomic.weights_missing", file=WEIGHTS_FILE)
    return _file_digest(weights_path(), state)


@lru_cache(maxsize=4)
def verify_weights(digest: str) -> None:  # noqa: ARG001 — cache key: replaced weights are verified again
    """Verify the weights in a child process: some damaged ones end the process. Raises `ModelFault`."""
    command, state = [sys.executable, "-P", str(_TRIAL_SCRIPT), str(weights_path())], _weights_state()
    if state in _damaged_states:
        raise ModelFault.make("nomic.weights_damaged")
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=_TRIAL_SECONDS)  # noqa: S603 — our own script
    except subprocess.CalledProcessError as error:
        if error.returncode == -signal.SIGKILL or state is None:
            raise ModelFault.make("nomic.weights_not_loaded") from error
        _damaged_states.add(state)
        raise ModelFault.make("nomic.weights_damaged") from error
    except subprocess.TimeoutExpired as error:
        raise ModelFault.make("nomic.weights_not_loaded") from error


def _weights_state() -> _FileState | None:
    """Return the file state, to detect a changed file; None if there is no file."""
    try:
        facts = weights_path().stat()
    except OSError:
        return None
    return (facts.st_size, facts.st_mtime_ns) if S_ISREG(facts.st_mode) else None


@lru_cache(maxsize=4)
def _file_digest(path: Path, state: _FileState) -> str:  # noqa: ARG001 — cache key: the state changes with the file
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelFault.make("nomic.weights_missing", file=WEIGHTS_FILE) from error
