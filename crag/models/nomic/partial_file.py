"""Partial download, kept next to its target and moved there once complete."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from crag.durable import sync_folder
from crag.models.nomic import faults
from crag.models.nomic.remote_file import FileChanged, Piece, RemoteFile
from crag.progress import Report
from crag.stopping import Stop
from crag.types import Progress

_BLOCK = 1 << 20
_ENDING = ".part"


class PartialFile:
    """Partial download of `target`; its file name holds the mark of the remote version."""

    def __init__(self, target: Path) -> None:
        self._target = target

    def size(self) -> int:
        """Return the number of bytes kept."""
        return sum(path.stat().st_size for path in self._kept())

    def remove(self) -> None:
        """Delete the partial files."""
        for path in self._kept():
            path.unlink(missing_ok=True)

    @contextmanager
    def opened(self, first: Piece) -> Iterator[IO[bytes]]:
        """Open the partial file for writing from the first piece on, locked against other processes.

        Raises `RemoteFileChanged` when the kept bytes are of another version, `ModelFault` when the file is locked or
        the disk is full.
        """
        path = self._target.with_name(f"{self._target.name}.{first.mark}{_ENDING}")
        if first.begin and not path.exists():
            raise FileChanged
        path.parent.mkdir(parents=True, exist_ok=True)
        for other in set(self._kept()) - {path}:
            other.unlink()
        missing = first.total - first.begin
        if missing > shutil.disk_usage(path.parent).free:
            raise faults.full(missing)
        path.touch()
        with path.open("r+b") as file:
            _lock(file)
            file.seek(first.begin)
            file.truncate()
            yield file

    def finish(self, file: IO[bytes], remote: RemoteFile, report: Report, stop: Stop) -> None:
        """Move the complete file to its target if its checksum matches. Raises `ModelFault`, `Stopped`."""
        file.flush()
        os.fsync(file.fileno())
        report(Progress("Checking", file.tell(), file.tell()))
        if _checksum(file, remote.algorithm, stop) != remote.checksum:
            self.remove()
            raise faults.wrong_checksum(remote.host)
        Path(file.name).replace(self._target)
        sync_folder(self._target.parent)

    def _kept(self) -> list[Path]:
        return list(self._target.parent.glob(f"{self._target.name}.*{_ENDING}"))


def _checksum(file: IO[bytes], algorithm: str, stop: Stop) -> str:
    digest = hashlib.new(algorithm, usedforsecurity=False)
    file.seek(0)
    while block := file.read(_BLOCK):
        stop.check()
        digest.update(block)
    return digest.hexdigest()


def _lock(file: IO[bytes]) -> None:
    """Lock out other processes; Windows does that itself. Raises `ModelFault`."""
    if os.name == "nt":
        return
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise faults.busy() from error
