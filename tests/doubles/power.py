"""What a disk holds after a power failure: only what was synced, under names that were synced."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

_DATABASE = ".sqlite"  # SQLite syncs its files itself, which Python does not see
_TEMPORARY = (".sqlite-wal", ".sqlite-shm")


class SyncedDisk:
    """Records each sync below `root`. `torn` lists what was given its final name before its content was synced.

    What is there at the beginning counts as synced.
    """

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.torn: list[str] = []
        self._root = root
        self._files: dict[int, bytes] = {}  # by inode
        self._folders: dict[int, dict[str, tuple[int, bool]]] = {}
        for path in (root, *root.rglob("*")):
            self._record(path)
        sync = os.fsync

        def record_sync(handle: int) -> None:
            sync(handle)
            self._record(Path(f"/proc/self/fd/{handle}").readlink())

        monkeypatch.setattr(os, "fsync", record_sync)
        for name in ("rename", "replace"):
            self._watch(name, monkeypatch)

    def files_after_power_failure(self) -> dict[str, bytes]:
        """Return the content of each file that would be there, by its path below the root."""
        return dict(self._survivors(self._root.stat().st_ino, Path()))

    def files(self) -> dict[str, bytes]:
        """Return the content of each file that is there now."""
        files = {str(path.relative_to(self._root)): path for path in self._root.rglob("*") if path.is_file()}
        return {name: path.read_bytes() for name, path in files.items() if not name.endswith(_TEMPORARY)}

    def _survivors(self, folder: int, path: Path) -> Iterator[tuple[str, bytes]]:
        for name, (inode, is_folder) in self._folders.get(folder, {}).items():
            if name.endswith(_TEMPORARY):
                continue
            if is_folder:
                yield from self._survivors(inode, path / name)
            elif name.endswith(_DATABASE):
                yield str(path / name), (self._root / path / name).read_bytes()
            else:
                yield str(path / name), self._files.get(inode, b"")

    def _record(self, path: Path) -> None:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            self._folders[status.st_ino] = {one.name: (one.inode(), one.is_dir()) for one in os.scandir(path)}
        else:
            self._files[status.st_ino] = path.read_bytes()

    def _watch(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        usual = getattr(os, name)

        def check_and_call(source: Path, target: Path) -> None:
            inside = [path for path in (Path(source), *Path(source).rglob("*")) if path.is_file()]
            ours = [path for path in inside if not path.name.endswith((_DATABASE, *_TEMPORARY))]
            self.torn += [str(target) for path in ours if self._files.get(path.stat().st_ino) != path.read_bytes()]
            usual(source, target)

        monkeypatch.setattr(os, name, check_and_call)
