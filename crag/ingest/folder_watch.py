"""Folder watch: new, changed and removed files, reported once they have stopped changing.

Folders are polled. Polling works the same on every system and on network mounts, which send no notification of
changes made by other machines, and it loses nothing when many files change at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from crag.ingest.intake import list_readable_files

_FileState = tuple[int, int]  # modification time in nanoseconds, size in bytes


@dataclass(frozen=True, slots=True)
class FolderChanges:
    """New or changed files that have settled, files that are gone, and paths that cannot be read."""

    settled: tuple[Path, ...]
    gone: tuple[Path, ...]
    unreadable: tuple[Path, ...]


class FolderWatch:
    """Files and folders to poll for changes."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._known: dict[Path, _FileState] = {}
        self._before: dict[Path, _FileState] = {}

    def poll(self) -> FolderChanges:
        """Return what changed and has not changed further since the last poll; each change is reported once.

        Nothing under an unreadable path is reported as gone: a network mount may come back.
        """
        now: dict[Path, _FileState] = {}
        unreadable = []
        for path in self._paths:
            try:
                now |= _read_file_states(path)
            except OSError:
                unreadable.append(path)
        changed = [path for path, state in now.items() if state != self._known.get(path)]
        settled = [path for path in changed if now[path] == self._before.get(path)]
        gone = [path for path in self._known if path not in now and not _is_within(path, unreadable)]
        self._known |= {path: now[path] for path in settled}
        for path in gone:
            del self._known[path]
        self._before = now
        return FolderChanges(tuple(settled), tuple(gone), tuple(unreadable))


def _read_file_states(root: Path) -> dict[Path, _FileState]:
    """Return the state of each file at or below `root`. Raises `OSError` if `root` does not exist."""
    root.stat()
    states = {}
    for path in list_readable_files(root) if root.is_dir() else [root]:
        try:
            found = path.stat()
        except OSError:  # gone since it was listed
            continue
        states[path] = (found.st_mtime_ns, found.st_size)
    return states


def _is_within(path: Path, folders: Sequence[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)
