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

from crag.errors import ModelFault
from crag.ledger import Ledger
from crag.models.nomic.fetching import fetch_file
from crag.models.nomic.remote_file import RemoteFile
from crag.progress import Report
from crag.settings import Settings
from crag.stopping import Stop

WEIGHTS = "nomic-embed-text-v1.5.f16.gguf"
NOMIC, NOMIC_ON_OLLAMA = "nomic", "ollama:nomic-embed-text"
_MAGIC = b"GGUF"
_TRIAL = Path(__file__).with_name("trial.py")
_TRIAL_SECONDS = 120
_State = tuple[int, int]  # size in bytes and modification time in nanoseconds
_damaged: set[_State] = set()  # states of weights that failed verification


def weights_path() -> Path:
    """Return the path where gpt4all keeps the weights."""
    return Path.home() / ".cache" / "gpt4all" / WEIGHTS


def nomic_here() -> str:
    """Return Nomic's embedder name on this machine: in-process, or through Ollama if gpt4all has no wheel."""
    return NOMIC_ON_OLLAMA if find_spec("gpt4all") is None else NOMIC


def nomic_present() -> bool:
    """Return whether the weights are on disk, not known to be damaged, and usable on this machine."""
    return nomic_here() == NOMIC and _state() not in (None, *_damaged)


def fetch_nomic(settings: Settings, ledger: Ledger, report: Report, stop: Stop) -> None:
    """Download the weights to gpt4all's folder, replacing existing ones; resume an earlier download.

    `report` receives bytes. Raises `ModelFault`, `Stopped`, and `HomeFault` when the request cannot be recorded first.
    """
    if nomic_here() != NOMIC:
        raise cannot_run()

    def record(host: str, url: str) -> None:
        ledger.record(host, "download", f"{url} (nothing was sent but this address)")

    fetch_file(RemoteFile.read(settings.nomic_url), weights_path(), _MAGIC, record, report, stop)


def weights_digest() -> str:
    """Return the SHA-256 of the weights. Raises `ModelFault` when they are missing."""
    state = _state()
    if state is None:
        raise missing_weights()
    return _digest(weights_path(), state)


@lru_cache(maxsize=4)
def try_out(digest: str) -> None:  # noqa: ARG001 — cache key: replaced weights are verified again
    """Verify the weights in a child process: some damaged ones end the process. Raises `ModelFault`."""
    command, state = [sys.executable, "-P", str(_TRIAL), str(weights_path())], _state()
    if state in _damaged:
        raise _damaged_weights()
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=_TRIAL_SECONDS)  # noqa: S603 — our own script
    except subprocess.CalledProcessError as error:
        if error.returncode == -signal.SIGKILL or state is None:
            raise _no_room() from error
        _damaged.add(state)
        raise _damaged_weights() from error
    except subprocess.TimeoutExpired as error:
        raise _no_room() from error


def missing_weights() -> ModelFault:
    """Build the fault for weights that have not been downloaded."""
    return ModelFault(
        "weights_missing",
        f"Nomic's weights ({WEIGHTS}, 274 MB) are not on this machine.",
        "Get them on the page Settings, or put the file into the folder .cache/gpt4all of your home.",
        model=NOMIC,
    )


def cannot_run() -> ModelFault:
    """Build the fault for a machine without a gpt4all wheel or with a native library that does not load."""
    return ModelFault(
        "package_missing",
        "The library that runs Nomic's weights (gpt4all) does not work on this machine.",
        "Get nomic-embed-text for Ollama instead, and choose ollama:nomic-embed-text.",
        model=NOMIC_ON_OLLAMA,
    )


def _damaged_weights() -> ModelFault:
    return ModelFault(
        "weights_damaged",
        "Nomic's weights on this machine are damaged, or are not Nomic's: they could not be loaded.",
        "Get them again on the page Settings.",
        model=NOMIC,
    )


def _no_room() -> ModelFault:
    return ModelFault(
        "weights_not_loaded",
        "Nomic's weights could not be loaded: too little memory is free, or the machine is too busy.",
        "Close other programs, then try again.",
        "passing",
    )


def _state() -> _State | None:
    """Return the file state, to detect a changed file; None if there is no file."""
    try:
        facts = weights_path().stat()
    except OSError:
        return None
    return (facts.st_size, facts.st_mtime_ns) if S_ISREG(facts.st_mode) else None


@lru_cache(maxsize=4)
def _digest(path: Path, state: _State) -> str:  # noqa: ARG001 — cache key: the state changes with the file
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise missing_weights() from error
