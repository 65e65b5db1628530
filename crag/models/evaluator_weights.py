"""Evaluators of this machine: those that can be downloaded, which one scores, and whether it can be opened."""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from crag.cancellation import Cancellation
from crag.errors import BadRequest, ModelFault
from crag.models.evaluator import MODEL_FILE, TOKENIZER_FILE, OnnxEvaluator, reads_language
from crag.models.file_download import RemoteFile, download_file
from crag.settings import Settings
from crag.storage.outbound_log import OutboundLog
from crag.types import Language, Progress, ProgressCallback

DOWNLOAD_PREFIX = "evaluator:"
_MAGIC = {MODEL_FILE: b"\x08", TOKENIZER_FILE: b"{"}  # an ONNX file begins with the number of its version
_FileState = tuple[int, int, int, int]  # device, number, size in bytes, and time of the last change in nanoseconds


@dataclass(frozen=True, slots=True)
class WeightsFile:
    """A file of an evaluator: its path in the repository, its size in bytes, and its SHA-256."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class KnownEvaluator:
    """A public evaluator.

    `only` is the one language that it was trained on, if there is one. `repository` is its address at the host, pinned
    to a revision; `files` are named as ours.
    """

    name: str
    label: str
    languages: str
    only: Language | None
    license: str
    repository: str
    files: dict[str, WeightsFile]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files.values())

    @property
    def folder(self) -> Path:
        """Where its files are kept."""
        return Path.home() / ".cache" / "crag" / "evaluators" / self.name

    @property
    def is_present(self) -> bool:
        """Whether its files are on this machine."""
        return all((self.folder / name).is_file() for name in self.files)


# Exported to ONNX with 8-bit weights. On `auto` the last one that is on this machine scores, since the later ones are
# larger: whoever has both downloaded the larger one for a reason.
KNOWN_EVALUATORS = {
    known.name: known
    for known in (
        KnownEvaluator(
            "minilm",
            "MiniLM",
            "English",
            "en",
            "Apache-2.0",
            "Xenova/ms-marco-MiniLM-L-6-v2/resolve/a09144355adeed5f58c8ed011d209bf8ee5a1fec",
            {
                TOKENIZER_FILE: WeightsFile(
                    "tokenizer.json", 711_396, "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66"
                ),
                MODEL_FILE: WeightsFile(
                    "onnx/model_quantized.onnx",
                    23_143_499,
                    "e9d8ebf845c413e981c175bfe49a3bfa9b3dcce2a3ba54875ee5df5a58639fbe",
                ),
            },
        ),
        KnownEvaluator(
            "bge-m3",
            "BGE reranker v2 M3",
            "many languages, much slower",
            None,
            "Apache-2.0",
            "onnx-community/bge-reranker-v2-m3-ONNX/resolve/6f5ff65298512715a1e669753bc754d2bc8f367b",
            {
                TOKENIZER_FILE: WeightsFile(
                    "tokenizer.json", 17_082_900, "8bf8afbfd11306bd872018c53bfdf2e160a56f8edbcf49933324404791c148d3"
                ),
                MODEL_FILE: WeightsFile(
                    "onnx/model_quantized.onnx",
                    570_727_094,
                    "912fc1215c2dbff6499700534bd8d31253af01573861abbfc43afd1fab6cce5d",
                ),
            },
        ),
    )
}


def fetch_evaluator(
    name: str, settings: Settings, outbound_log: OutboundLog, report: ProgressCallback, stop: Cancellation
) -> None:
    """Download a known evaluator, resume an earlier download, or replace damaged files; then try it out.

    `report` receives bytes. Raises `ModelFault`, `Stopped`, and `HomeFault` when a request cannot be recorded first.
    """
    known = KNOWN_EVALUATORS[name]
    if find_spec("onnxruntime") is None:
        raise ModelFault.make("evaluator.package_missing")

    def record(host: str, url: str) -> None:
        outbound_log.record(host, "download", f"{url} (only this address was sent)")

    before = 0
    for own_name, file in known.files.items():
        target = known.folder / own_name
        if not _has_checksum(target, file.sha256):
            url = f"{settings.evaluator_url}/{known.repository}/{file.path}"
            remote = RemoteFile(url, "sha256", file.sha256, "CRAG_EVALUATOR_URL")
            report_bytes = partial(_report_part, report, before, known.size)
            download_file(remote, target, _MAGIC[own_name], record, report_bytes, stop)
        before += file.size
    OnnxEvaluator(known.folder, name, known.only)


def _report_part(report: ProgressCallback, before: int, total: int, progress: Progress) -> None:
    """Report the progress of one file as that of all; `before` bytes belong to earlier ones."""
    report(replace(progress, done=before + progress.done, total=max(total, before + progress.total)))


def _has_checksum(path: Path, sha256: str) -> bool:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == sha256
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class EvaluatorReport:
    """State of the evaluator that the settings name. `fault` says why it cannot be opened; `name` is empty for none."""

    name: str = ""
    label: str = ""
    state: Literal["none", "in use", "fault"] = "none"
    fault: ModelFault | None = None


class InstalledEvaluator:
    """The evaluator that scores, opened on first use and again when its files change. Thread-safe.

    `CRAG_EVALUATOR` names a folder or a known evaluator; on `auto` it is a known one that is on this machine.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._opened: tuple[object, OnnxEvaluator | ModelFault] | None = None

    def get(self) -> OnnxEvaluator | None:
        """Return the evaluator; None if there is none, or if it cannot be opened: `fault` says why."""
        opened = self._open()
        return opened if isinstance(opened, OnnxEvaluator) else None

    def fault(self) -> ModelFault | None:
        """Return why the evaluator that is there, or that the settings name, cannot be opened."""
        opened = self._open()
        return opened if isinstance(opened, ModelFault) else None

    def report(self) -> EvaluatorReport:
        """Return which evaluator scores, and whether it can."""
        name, _ = self._locate()
        opened = self._open()
        if opened is None:
            return EvaluatorReport()
        label = KNOWN_EVALUATORS[name].label if name in KNOWN_EVALUATORS else name
        if isinstance(opened, ModelFault):
            return EvaluatorReport(name, label, "fault", opened)
        return EvaluatorReport(name, label, "in use")

    def remove(self, name: str) -> None:
        """Delete the files of a known evaluator. Raises `BadRequest` for any other name."""
        if name not in KNOWN_EVALUATORS:
            raise BadRequest(f"“{name[:60]}” is not a known evaluator.", f"Write {name_choices()}.")
        with self._lock:
            self._opened = None
        shutil.rmtree(KNOWN_EVALUATORS[name].folder, ignore_errors=True)

    def _locate(self) -> tuple[str, Path | None]:
        """Return name and folder of the evaluator that should score; the folder is None if there is none."""
        wanted = self._settings.evaluator
        if wanted == "auto":
            wanted = next((name for name, known in reversed(KNOWN_EVALUATORS.items()) if known.is_present), "")
        if wanted in KNOWN_EVALUATORS:
            return wanted, KNOWN_EVALUATORS[wanted].folder
        folder = Path(os.path.expanduser(wanted))  # noqa: PTH111 — Path.expanduser raises for “~name” of nobody
        return folder.name, folder if wanted else None

    def _open(self) -> OnnxEvaluator | ModelFault | None:
        name, folder = self._locate()
        if folder is None:
            return None
        state = (folder, _file_state(folder / MODEL_FILE), _file_state(folder / TOKENIZER_FILE))
        with self._lock:
            if self._opened is None or self._opened[0] != state:
                only = KNOWN_EVALUATORS[name].only if name in KNOWN_EVALUATORS else None
                self._opened = state, _fault_or(partial(OnnxEvaluator, folder, name, only))
            return self._opened[1]


def reads_question(name: str, question: str) -> bool:
    """Return whether the evaluator of this name was trained on the language of the question."""
    return name not in KNOWN_EVALUATORS or reads_language(KNOWN_EVALUATORS[name].only, question)


def name_choices() -> str:
    """Return the names by which known evaluators are downloaded, as part of a sentence."""
    return " or ".join(f"{DOWNLOAD_PREFIX}{name}" for name in KNOWN_EVALUATORS)


def _fault_or(open_evaluator: Callable[[], OnnxEvaluator]) -> OnnxEvaluator | ModelFault:
    try:
        return open_evaluator()
    except ModelFault as fault:
        return fault


def _file_state(path: Path) -> _FileState | None:
    """Return the state of a file, to notice when it changes; None if there is none."""
    try:
        facts = path.stat()
    except (OSError, ValueError):  # the latter for a path with a null character
        return None
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_ctime_ns
