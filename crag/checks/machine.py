"""Checks of this machine: the OCR program, and free disk space."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from crag.amounts import size
from crag.checks import commands
from crag.checks.embeddings import BYTES
from crag.checks.facts import Facts
from crag.checks.values import Check, CheckAction
from crag.models.nomic.weights import nomic_present, weights_path
from crag.models.ollama.storage import places

_LOW_BYTES = 2_000_000_000  # for documents, and on top of a model download
_SECONDS = 5.0
_NO_LANGUAGES = ("osd", "equ")  # page orientation and formulas


def ocr_check() -> Check:
    """Check that Tesseract is installed to read scans, and list its languages."""
    program = shutil.which("tesseract")
    languages = _languages(program) if program else []
    if languages:
        return Check("Scans", "ok", f"Tesseract reads {', '.join(languages)}")
    detail = "Tesseract has no language" if program else "no Tesseract: pictures of text are not read"
    action = CheckAction("command", "How to install", commands=commands.install_tesseract())
    return Check("Scans", "warn", detail, "Install Tesseract, then add the scans again.", action)


def disk_check(facts: Facts) -> Check:
    """Check that there is space for documents in the home and for pending model downloads."""
    home = _free(facts.settings.home)
    lacking = [f"{size(home)} free for your documents"] if home < _LOW_BYTES else []
    for where, needed in _to_fetch(facts):
        if (free := _free(where)) < needed + _LOW_BYTES:
            lacking.append(f"{size(free)} free where models lie, {size(needed)} to be fetched")
    if lacking:
        return Check("Disk", "warn", "; ".join(lacking), "Free some space.")
    return Check("Disk", "ok", f"{size(home)} free")


def _to_fetch(facts: Facts) -> list[tuple[Path, int]]:
    """Return the folders and bytes of the downloads that the checklist offers."""
    wanted = [] if nomic_present() else [(weights_path(), BYTES)]
    has_model = any(not model.only_embeds for model in facts.server.installed)
    if facts.server_is_here and not has_model:
        wanted.append((max(places(), key=_free), facts.llama[1]))
    return wanted


def _free(folder: Path) -> int:
    """Return the free bytes on the disk of a folder, or of its nearest existing parent."""
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    return shutil.disk_usage(there).free


def _languages(program: str) -> list[str]:
    try:
        told = subprocess.run(  # noqa: S603 — an absolute path, no shell
            [program, "--list-langs"], capture_output=True, text=True, timeout=_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError, ValueError):
        return []
    return [name for name in told.stdout.splitlines()[1:] if name not in _NO_LANGUAGES]
