"""Spool of uploads on disk."""

from __future__ import annotations

import shutil
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from crag.durable import write_durably
from crag.errors import HomeFault, SourceRefused

_ABANDONED_SECONDS = 3600.0


class Spool:
    """Folder of uploads, each stored under its job's id until the job has ended.

    Keeps uploads out of memory, and a restart does not lose them.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, job_id: str, data: bytes) -> None:
        """Store the bytes durably. Raises `HomeFault` if the disk refuses."""
        try:
            write_durably(self._folder / job_id, lambda file: file.write(data))
        except OSError as error:
            raise HomeFault("The upload could not be saved.", "Free some space on the disk, then try again.") from error

    def get(self, job_id: str) -> bytes:
        """Return the bytes of an upload. Raises `SourceRefused` if the file was removed."""
        try:
            return (self._folder / job_id).read_bytes()
        except OSError as error:
            raise SourceRefused("unreachable", "The upload is no longer there.", "Add it again.") from error

    def remove(self, job_id: str) -> None:
        """Delete an upload."""
        with suppress(OSError):  # Windows: another program may have it open; a later start removes it
            (self._folder / job_id).unlink(missing_ok=True)

    def keep_only(self, job_ids: Collection[str]) -> None:
        """Delete uploads of other jobs, except recent ones whose job may not be stored yet."""
        latest = time.time() - _ABANDONED_SECONDS
        for path in self._folder.glob("*"):
            with suppress(OSError):  # another process may clean up at the same time
                if path.name not in job_ids and path.stat().st_mtime < latest:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
