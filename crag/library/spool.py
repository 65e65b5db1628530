"""Uploads that wait for their turn lie on disk, in a folder of this very process, so that memory does not hold them."""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path

from crag.errors import HomeFault
from crag.processes import is_alive, this_process


class Spool:
    """A folder for this process within `folder`; what dead processes left there is removed."""

    def __init__(self, folder: Path) -> None:
        for other in folder.glob("*"):
            if not is_alive(other.name):
                shutil.rmtree(other, ignore_errors=True)
        self._own = folder / f"{this_process()}-{secrets.token_hex(4)}"

    def put(self, data: bytes) -> Path:
        """Where the bytes lie until they are taken. Raises `HomeFault` when the disk refuses."""
        path = self._own / secrets.token_hex(8)
        try:
            self._own.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        except OSError as error:
            path.unlink(missing_ok=True)
            raise HomeFault("The upload could not be saved.", "Free some space on the disk, then try again.") from error
        return path

    def close(self) -> None:
        """Removes the folder."""
        shutil.rmtree(self._own, ignore_errors=True)
