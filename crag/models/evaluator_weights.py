"""Evaluators of this machine: which one scores, and whether it can be opened."""

from __future__ import annotations

import threading
from pathlib import Path

from crag.errors import ModelFault
from crag.models.evaluator import MODEL_FILE, TOKENIZER_FILE, OnnxEvaluator
from crag.settings import Settings

_FileState = tuple[int, int]  # size in bytes and modification time in nanoseconds


class InstalledEvaluator:
    """The evaluator that the settings name, opened on first use and again when its files change. Thread-safe."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._opened: tuple[object, OnnxEvaluator | ModelFault] | None = None

    def get(self) -> OnnxEvaluator | None:
        """Return the evaluator; None if there is none, or if it cannot be opened: `fault` says why."""
        opened = self._open()
        return opened if isinstance(opened, OnnxEvaluator) else None

    def fault(self) -> ModelFault | None:
        """Return why the evaluator that is there cannot be opened."""
        opened = self._open()
        return opened if isinstance(opened, ModelFault) else None

    def _open(self) -> OnnxEvaluator | ModelFault | None:
        if self._settings.evaluator == "auto":
            return None
        folder = Path(self._settings.evaluator).expanduser()
        state = (folder, _file_state(folder / MODEL_FILE), _file_state(folder / TOKENIZER_FILE))
        with self._lock:
            if self._opened is None or self._opened[0] != state:
                self._opened = state, _try_to_open(folder)
            return self._opened[1]


def _try_to_open(folder: Path) -> OnnxEvaluator | ModelFault:
    try:
        return OnnxEvaluator(folder)
    except ModelFault as fault:
        return fault


def _file_state(path: Path) -> _FileState | None:
    """Return the state of a file, to notice when it changes; None if there is none."""
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_size, facts.st_mtime_ns
