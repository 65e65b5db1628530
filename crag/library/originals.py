"""Originals as added, stored under their SHA-256. A user-supplied name never becomes a path."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from crag.durable import remove_unfinished, write_durably
from crag.errors import HomeFault

_NAME = re.compile("[0-9a-f]{64}")


class Originals:
    """The files as added, stored under their SHA-256. A user-supplied name never becomes a path."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, sha256: str) -> Path | None:
        """Return the path of the original, or None."""
        path = self._place(sha256)
        return path if path.is_file() else None

    def keep(self, sha256: str, data: bytes) -> None:
        """Store the bytes durably, unless they are already stored. Raises `HomeFault` if the disk refuses."""
        if self.path(sha256):
            return
        try:
            write_durably(self._place(sha256), lambda file: file.write(data))
        except OSError as error:
            raise HomeFault("The file could not be saved: the disk is full or cannot be written to.") from error

    def keep_only(self, used: Iterable[str]) -> None:
        """Remove all other originals. Call it within a write transaction, so that nothing can be added meanwhile."""
        wanted = set(used)
        for path in self._folder.glob("*/*"):
            if _NAME.fullmatch(path.name) and path.name not in wanted and not path.is_dir():
                path.unlink(missing_ok=True)
        remove_unfinished(self._folder)

    def remove(self, sha256: str) -> None:
        """Remove one original. Call it within the write transaction that found it unused."""
        self._place(sha256).unlink(missing_ok=True)

    def _place(self, sha256: str) -> Path:
        if not _NAME.fullmatch(sha256):
            raise ValueError("not a SHA-256 in hexadecimal digits")
        return self._folder / sha256[:2] / sha256
