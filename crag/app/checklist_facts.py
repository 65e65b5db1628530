"""Set-up checklist: its data types, the facts that the checks judge, and install commands."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from typing import Literal

from crag.errors import ModelFault
from crag.ingest.parse.ocr import RAPIDOCR_REQUIREMENT
from crag.models.destinations import external_host
from crag.models.downloads import Download
from crag.models.evaluator_weights import EvaluatorReport
from crag.models.model_choice import ModelChoice
from crag.models.ollama_api import InstalledModel, find_by_name
from crag.models.ollama_pool import HostStatus, ollama_pool
from crag.options import RunOptions
from crag.settings import Settings
from crag.websearch.quota import Quota


@dataclass(frozen=True, slots=True)
class CheckAction:
    """What a check's button does, and `commands`, one per line, that do the same by hand.

    `target` is what to *download* (`ollama:NAME` or `nomic`), the embedder to *move* the library to, or the page to
    *open*. A *command* is only to be copied; so is a *key*, where `commands` is a line for the file `.env`.
    """

    kind: Literal["download", "move", "command", "key", "open"]
    label: str
    target: str = ""
    commands: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the set-up checklist: its status and one remedy, in words and as an action."""

    name: str
    status: Literal["ok", "warn", "fail"]
    detail: str
    fix: str = ""
    action: CheckAction | None = None


@dataclass(frozen=True, slots=True)
class OllamaStatus:
    """State of Ollama; without a version it is not responding, and `fault` says why. `hosts` if there are several."""

    version: str = ""
    installed: tuple[InstalledModel, ...] = ()
    fault: ModelFault | None = None
    hosts: tuple[HostStatus, ...] = ()

    def find(self, model: str) -> InstalledModel | None:
        """Return the installed model of this name, where a missing tag means `latest`."""
        return find_by_name(model, self.installed)


@dataclass(frozen=True, slots=True)
class ChecklistFacts:
    """Facts for the checks. `model` and `embedder` are what answers and embeds under `auto`.

    `options` apply to the next question. `llama` is the recommended Llama 3, by its Ollama name, and its size in bytes.
    `begun` is an unfinished download of a Llama 3. `evaluator` is the one that scores. `movable` passages have vectors,
    but none from Nomic, whose weights are present; they count until the last one has moved.
    """

    settings: Settings
    options: RunOptions
    model: ModelChoice
    embedder: ModelChoice
    searches: Quota
    server: OllamaStatus
    llama: tuple[str, int]
    evaluator: EvaluatorReport
    begun: Download | None = None
    movable: int = 0

    @property
    def server_is_here(self) -> bool:
        """Whether Ollama runs, or would run, on this machine."""
        return not external_host("ollama:", self.settings)

    @property
    def answering(self) -> str:
        """The name of the model that answers the next question."""
        return self.model.name if self.options.model == "auto" else self.options.model


def probe_server(settings: Settings) -> OllamaStatus:
    """Query the hosts, waiting half a second at most for each."""
    pool = ollama_pool(settings)
    hosts = tuple(pool.statuses())
    try:
        installed = tuple(pool.list_models(is_probe=True))
    except ModelFault as fault:
        return OllamaStatus(fault=fault, hosts=hosts)
    return OllamaStatus(pool.version() or "of an unknown version", installed, hosts=hosts)


_LINUX_PACKAGES = ("apt", "dnf", "pacman", "zypper")


def ollama_install_command() -> str:
    """Return the command from Ollama's download page.

    Ollama then starts by itself; with Homebrew, by the second command.
    """
    if sys.platform == "darwin":
        return "brew install ollama\nbrew services start ollama"
    if sys.platform == "win32":
        return "winget install --id Ollama.Ollama"
    return "curl -fsSL https://ollama.com/install.sh | sh"


def ollama_update_command() -> str:
    """Return the command that updates Ollama to the newest version."""
    if sys.platform == "darwin":
        return "brew upgrade ollama\nbrew services restart ollama"
    if sys.platform == "win32":
        return "winget upgrade --id Ollama.Ollama"
    return ollama_install_command()


def ollama_start_command() -> str:
    """Return the command that starts Ollama; empty if it is not installed."""
    return "ollama serve" if shutil.which("ollama") else ""


def ocr_install_commands(*, has_rapidocr: bool) -> str:
    """Return the commands that install Tesseract, whose other languages are separate packages, or else RapidOCR."""
    if has_rapidocr:
        return _tesseract_install_command()
    rapidocr = f'"{sys.executable}" -m pip install "{RAPIDOCR_REQUIREMENT}"'
    return f"{_tesseract_install_command()}\n# or, for English and Chinese, without administrator rights:\n{rapidocr}"


def _tesseract_install_command() -> str:
    if sys.platform == "darwin":
        return "brew install tesseract tesseract-lang"
    if sys.platform == "win32":
        return "winget install --id UB-Mannheim.TesseractOCR"
    manager = next((name for name in _LINUX_PACKAGES if shutil.which(name)), "apt")
    return {
        "apt": "sudo apt install tesseract-ocr",
        "dnf": "sudo dnf install tesseract",
        "pacman": "sudo pacman -S tesseract tesseract-data-eng",
        "zypper": "sudo zypper install tesseract-ocr",
    }[manager]
