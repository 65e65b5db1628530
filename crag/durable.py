"""Atomic file writes that survive a crash at any moment."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

_UNFINISHED = ".unfinished"
_ABANDONED_SECONDS = 3600.0


def write_durably(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file atomically: `write` fills a temporary file next to `path`, which then replaces it.

    Raises `OSError`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.{secrets.token_hex(8)}{_UNFINISHED}")
    try:
        with unfinished.open("xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    sync_folder(path.parent)


def remove_unfinished(folder: Path, now: float | None = None) -> None:
    """Remove temporary files of dead writers. Recent files are kept, because their writer may be alive."""
    latest = (time.time() if now is None else now) - _ABANDONED_SECONDS
    for path in folder.rglob(f"*{_UNFINISHED}"):
        with suppress(OSError):  # another process may clean at the same time
            if path.stat().st_mtime < latest:
                path.unlink()


def sync_folder(folder: Path) -> None:
    """Make a new name in the folder durable. Windows cannot open folders and does not need it."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
