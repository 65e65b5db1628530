"""Staging folders next to the destination: the result appears by one rename, or not at all."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from crag.durable import sync_folder
from crag.errors import BadRequest, HomeFault
from crag.processes import is_alive, this_process

_UNFINISHED = ".unfinished"


@contextmanager
def staging_folder(destination: Path) -> Iterator[Path]:
    """Provide a temporary folder next to `destination` and remove it at the end. Raises `HomeFault`.

    It also removes folders left by killed processes. The result appears at `destination` by one rename, or not at all.
    """
    prefix = f".{destination.name}."
    for left in destination.parent.glob(f"{_escaped(prefix)}*{_UNFINISHED}"):
        if not is_alive(left.name.removeprefix(prefix)):
            shutil.rmtree(left, ignore_errors=True)
    folder = destination.with_name(f"{prefix}{this_process()}-{secrets.token_hex(4)}{_UNFINISHED}")
    try:
        folder.mkdir(parents=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        raise HomeFault(
            f"“{destination.name}” could not be written: the disk is full, or the folder cannot be written to.",
            "Choose another place.",
        ) from error


def check_new(destination: Path) -> None:
    """Raise `BadRequest` if `destination` exists: nothing is ever overwritten."""
    if destination.exists() or destination.is_symlink():
        raise BadRequest(f"“{destination.name}” exists already; nothing was written.", "Choose another name.")


def put_in_place(made: Path, destination: Path) -> None:
    """Move a finished file or folder to its destination durably. Raises `BadRequest`, `OSError`."""
    check_new(destination)
    made.rename(destination)
    with suppress(OSError):  # some file systems refuse this; the rename has succeeded
        sync_folder(destination.parent)


def _escaped(prefix: str) -> str:
    """Return a glob pattern that matches only the prefix itself."""
    return "".join(f"[{sign}]" if sign in "[*?" else sign for sign in prefix)
