"""Files on disk: atomic writes, staging folders, and originals stored by SHA-256."""

from __future__ import annotations

import errno
import logging
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, Protocol

from crag.errors import BadRequest, HomeFault
from crag.storage.ownership import current_process_name, is_process_alive

_ORIGINALS = "originals"


def original_relative_path(sha256: str) -> str:
    """Return the relative path of an original, in the home and in a backup."""
    return f"{_ORIGINALS}/{sha256[:2]}/{sha256}"


_log = logging.getLogger(__name__)
_UNFINISHED_SUFFIX = ".unfinished"
_ABANDONED_SECONDS = 3600.0
_SYNCED_AT_ONCE = 8  # files
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
_CANNOT_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EPERM)


def home_gone_fault() -> HomeFault:
    """Return the fault of a data folder that was moved, deleted or unmounted while the application runs."""
    return HomeFault(
        "The data folder is gone or was replaced, so nothing was saved.",
        "Put the folder back in its place, or restart the app.",
    )


class WatchedFile:
    """A file that stays open while the application runs, recognized by device and inode."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._identity = self._identify()

    def check_in_place(self) -> None:
        """Raise `HomeFault` if the file was moved, deleted or replaced meanwhile."""
        if self._identify() != self._identity:
            raise home_gone_fault()

    def _identify(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino


def read_only_fault() -> HomeFault:
    """Return the fault of a data folder, or a file in it, that may be read but not written."""
    return HomeFault(
        "The data folder cannot be written to.", "Change its permissions, or choose another with CRAG_HOME."
    )


def write_fault(error: OSError) -> HomeFault:
    """Return the fault for a file of the home that could not be written, and log its cause."""
    _log.warning("Could not write to the data folder: %s", error)
    if isinstance(error, FileNotFoundError):
        return home_gone_fault()
    if error.errno in _DISK_FULL:
        return HomeFault("The disk is full, so nothing was saved.", "Free some space, then try again.")
    return read_only_fault()


def write_atomically(path: Path, write: Callable[[IO[bytes]], object], root: Path) -> None:
    """Write a file atomically: `write` fills a temporary file next to `path`, which then replaces it.

    Missing folders below `root` are created, but not `root`: a home that is gone must not come into being again.
    Raises `OSError`.
    """
    write_all_atomically({path: write}, root)


def write_all_atomically(files: Mapping[Path, Callable[[IO[bytes]], object]], root: Path) -> None:
    """Write files as `write_atomically` does, synced together: a disk that is busy then makes them wait once."""
    folders = dict.fromkeys(path.parent for path in files)
    for folder in folders:
        _make_folders(folder, root)
    writer = f"{current_process_name()}-{secrets.token_hex(8)}"
    unfinished = {path: path.with_name(f"{path.name}.{writer}{_UNFINISHED_SUFFIX}") for path in files}

    def write_durably(path: Path) -> None:
        with unfinished[path].open("xb") as file:
            files[path](file)
            file.flush()
            os.fsync(file.fileno())

    try:
        with ThreadPoolExecutor(min(len(files), _SYNCED_AT_ONCE)) as pool:
            list(pool.map(write_durably, files))
        for path, written in unfinished.items():
            written.replace(path)
    finally:
        for written in unfinished.values():
            written.unlink(missing_ok=True)
    for folder in folders:
        sync_folder(folder)


def _make_folders(folder: Path, root: Path) -> None:
    """Create the folders below `root` that lead to `folder`, durably."""
    if folder == root:
        return
    _make_folders(folder.parent, root)
    with suppress(FileExistsError):
        folder.mkdir()
        sync_folder(folder.parent)


def make_folder(folder: Path, mode: int = 0o777, *, exist_ok: bool = False) -> None:
    """Create a folder and the missing ones above it, durably. `mode` is for the folder itself. Raises `OSError`."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=exist_ok, mode=mode)
    for one in missing:
        sync_folder(one.parent)


def remove_unfinished_files(folder: Path) -> None:
    """Remove temporary files of dead writers.

    Recent files are kept, because their writer may run on another machine; a clock that jumps makes every file old.
    """
    latest = time.time() - _ABANDONED_SECONDS
    for path in folder.rglob(f"*{_UNFINISHED_SUFFIX}"):
        writer = path.name.removesuffix(_UNFINISHED_SUFFIX).rpartition(".")[2]
        with suppress(OSError):  # another process may clean at the same time
            if path.stat().st_mtime < latest and not is_process_alive(writer):
                path.unlink()


def sync_folder(folder: Path) -> None:
    """Make a new name in the folder durable, where possible. Raises `OSError` if the disk fails.

    Some file systems cannot sync folders, a folder above the home may be unreadable, and Windows cannot open folders.
    """
    if os.name == "nt":
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno not in _CANNOT_SYNC:
            raise


@contextmanager
def staging_folder(destination: Path) -> Iterator[Path]:
    """Provide a temporary folder next to `destination` and remove it at the end. Raises `HomeFault`.

    It also removes folders left by killed processes. The result appears at `destination` by one rename, or not at all.
    """
    prefix = f".{destination.name}."
    for left in destination.parent.glob(f"{_escape_glob(prefix)}*{_UNFINISHED_SUFFIX}"):
        if not is_process_alive(left.name.removeprefix(prefix)):
            shutil.rmtree(left, ignore_errors=True)
    folder = destination.with_name(f"{prefix}{current_process_name()}-{secrets.token_hex(4)}{_UNFINISHED_SUFFIX}")
    try:
        make_folder(folder)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        raise HomeFault(
            f"“{destination.name}” could not be written: the disk is full, or the folder cannot be written to.",
            "Choose another place.",
        ) from error


def check_absent(destination: Path) -> None:
    """Raise `BadRequest` if `destination` exists: nothing is ever overwritten."""
    if destination.exists() or destination.is_symlink():
        raise BadRequest(f"“{destination.name}” already exists; nothing was written.", "Choose another name.")


def move_into_place(finished: Path, destination: Path) -> None:
    """Move a finished file or folder to its destination durably. Raises `BadRequest`, `OSError`."""
    check_absent(destination)
    for path in (finished, *finished.rglob("*")):
        sync_folder(path) if path.is_dir() else _sync_file(path)
    finished.rename(destination)
    sync_folder(destination.parent)


def _sync_file(path: Path) -> None:
    with path.open("r+b") as file:
        os.fsync(file.fileno())


def _escape_glob(prefix: str) -> str:
    """Return a glob pattern that matches only the prefix itself."""
    return "".join(f"[{sign}]" if sign in "[*?" else sign for sign in prefix)


def _write_bytes(data: bytes, file: IO[bytes]) -> None:
    file.write(data)


_SHA256 = re.compile("[0-9a-f]{64}")


class FileExchange(Protocol):
    """Where processes on other machines find the same files, by name. Every method raises `HomeFault`."""

    def put(self, name: str, data: bytes) -> None:
        """Store a file, unless there is one of this name."""
        ...

    def get(self, name: str) -> bytes | None:
        """Return the bytes of a file, or None."""
        ...

    def holds(self, name: str) -> bool:
        """Return whether there is a file of this name."""
        ...

    def remove(self, name: str) -> None:
        """Delete a file."""
        ...

    def keep_only(self, names: Collection[str]) -> None:
        """Delete all other files."""
        ...


class Originals:
    """The files of a home as added, stored under their SHA-256. A user-supplied name never becomes a path.

    With `shared`, the folder holds copies of what is there.
    """

    def __init__(self, home: Path, shared: FileExchange | None = None) -> None:
        self._home = home
        self._shared = shared

    def path(self, sha256: str) -> Path | None:
        """Return the path of the original, or None. Raises `HomeFault`."""
        path = self._place(sha256)
        if not path.is_file() and self._shared and (data := self._shared.get(sha256)) is not None:
            self._write({sha256: data})
        return path if path.is_file() else None

    def keep(self, files: Mapping[str, bytes]) -> None:
        """Store files durably by their SHA-256, unless they are already stored. Raises `HomeFault`."""
        if self._shared:
            for sha256, data in files.items():
                self._shared.put(sha256, data)
        self._write({sha256: data for sha256, data in files.items() if not self._place(sha256).is_file()})

    def _write(self, files: Mapping[str, bytes]) -> None:
        if not files:
            return
        try:
            write_all_atomically(
                {self._place(sha256): partial(_write_bytes, data) for sha256, data in files.items()}, self._home
            )
        except OSError as error:
            raise write_fault(error) from error

    def remove_unused(self, used: Iterable[str]) -> None:
        """Remove all other originals. Call it within a write transaction, so that nothing can be added meanwhile."""
        wanted = set(used)
        if self._shared:
            self._shared.keep_only(wanted)
        folder = self._home / _ORIGINALS
        for path in folder.glob("*/*"):
            if _SHA256.fullmatch(path.name) and path.name not in wanted and not path.is_dir():
                path.unlink(missing_ok=True)
        remove_unfinished_files(folder)

    def remove(self, sha256: str) -> None:
        """Remove one original. Call it within the write transaction that found it unused."""
        if self._shared:
            self._shared.remove(sha256)
        self._place(sha256).unlink(missing_ok=True)

    def _place(self, sha256: str) -> Path:
        if not _SHA256.fullmatch(sha256):
            raise ValueError("not a SHA-256 in hexadecimal digits")
        return self._home / original_relative_path(sha256)
