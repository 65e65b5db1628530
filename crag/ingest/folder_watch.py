"""Folder watch: what is new, changed, renamed or gone in a folder, reported once files have stopped changing.

Folders are polled. Polling works the same on every system and on network mounts, which send no notification of
changes made by other machines, and it loses nothing when many files change at once.
"""

from __future__ import annotations

import fnmatch
import hashlib
import os
import stat
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path, PurePosixPath

from crag.ingest.parse.formats import READABLE_SUFFIXES
from crag.translation import N_

FileState = tuple[int, int]  # modification time in nanoseconds, size in bytes

_TEMPORARY_PREFIXES = ("~$", ".~lock")
_TEMPORARY_SUFFIXES = (".part", ".partial", ".crdownload", ".download", ".tmp", ".temp", ".swp", "~")
_TRUSTED_AFTER_NS = 2_000_000_000  # file systems record the times of folders in steps of up to two seconds
_MAX_DEPTH = 100  # subfolders within each other: what is further below is not looked at
_LOOKS_PER_LISTING = 16  # some network mounts do not record when a folder changed


@dataclass(frozen=True, slots=True)
class FolderRules:
    """Which files of a folder count: patterns such as `*.pdf` for names, or for paths below the folder with a `/`.

    Without `include` every file that can be read counts. `max_bytes` is the limit of one file, 0 for none.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    subfolders: bool = True
    max_bytes: int = 0
    skipped: tuple[str, ...] = ()  # subfolders by their path

    def refuse_file(self, path: str) -> str:
        """Return why a file is ignored, judged by its path below the folder; empty if it counts."""
        name = path.rpartition("/")[2]
        lower = name.lower()
        if lower.startswith(_TEMPORARY_PREFIXES) or lower.endswith(_TEMPORARY_SUFFIXES):
            return N_("Temporary file")
        if name.startswith("."):
            return N_("Hidden")
        if _matches(path, self.exclude):
            return N_("Excluded")
        if self.include and not _matches(path, self.include):
            return N_("Not included")
        return "" if PurePosixPath(lower).suffix in READABLE_SUFFIXES else N_("This kind of file cannot be read")

    def refuse_folder(self, path: str) -> str:
        """Return why a subfolder is ignored; empty if it counts."""
        if path.rpartition("/")[2].startswith("."):
            return N_("Hidden")
        if not self.subfolders:
            return N_("Subfolder")
        if path in self.skipped:
            return N_("Data of this application")
        return N_("Excluded") if _matches(path, self.exclude) else ""


def _matches(path: str, patterns: Sequence[str]) -> bool:
    path = path.lower()
    name = path.rpartition("/")[2]
    return any(fnmatch.fnmatchcase(path if "/" in one else name, one.lower()) for one in patterns)


@dataclass(slots=True)
class FolderLook:
    """What a look found, by path below the folder: the states of files that count, and why others do not.

    Nothing is known of what is below an `unreadable` subfolder. `devices` tells, for the folder and everything mounted
    below it, the file system.
    """

    files: dict[str, FileState] = field(default_factory=dict)
    ignored: dict[str, str] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)
    devices: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Listing:
    """Content of one folder, as it was listed."""

    changed_at: int  # the modification time of the folder in nanoseconds
    is_trusted: bool
    files: list[tuple[str, str]]  # path below the watched folder, whole path
    folders: list[str]
    ignored: dict[str, str]


class FolderScanner:
    """Looks at a folder again and again. A folder that did not change is not listed again; its files are checked."""

    def __init__(self, root: Path, rules: FolderRules, devices: Mapping[str, int] | None = None) -> None:
        """`devices` are those of the last look; they distinguish an unmounted folder from an empty one."""
        self.root = root
        self._rules = rules
        self._devices = dict(devices or {})
        self._listings: dict[str, _Listing] = {}
        self._looks = 0

    def look(self) -> FolderLook:
        """Return the current state. Raises `OSError` if the folder is missing, not mounted or cannot be read."""
        is_whole = self._looks % _LOOKS_PER_LISTING == 0
        self._looks += 1
        look, seen = FolderLook(), dict[str, _Listing]()
        if self.root.resolve() != self.root:  # a link has taken its place
            raise FileNotFoundError(str(self.root))
        self._look_at("", 0, is_whole, look, seen)
        look.unreadable += [path for path in self._devices if path and path not in seen]
        look.ignored |= dict.fromkeys(look.unreadable, N_("Cannot be read now"))
        self._listings, self._devices = seen, self._devices | look.devices
        look.devices = self._devices
        return look

    def _look_at(self, path: str, parent: int, is_whole: bool, look: FolderLook, seen: dict[str, _Listing]) -> None:
        place = self.root / path
        try:
            found = place.lstat()
            if not stat.S_ISDIR(found.st_mode) or path.count("/") >= _MAX_DEPTH:
                raise NotADirectoryError(str(place))
            listing = self._listings.get(path)
            if is_whole or listing is None or not listing.is_trusted or listing.changed_at != found.st_mtime_ns:
                listing = self._list(place, path, found.st_mtime_ns)
            is_empty = not (listing.files or listing.folders)  # some mount points hold a file that says so
            if is_empty and self._devices.get(path, found.st_dev) != found.st_dev:
                raise FileNotFoundError(str(place))
        except OSError:
            if not path:
                raise
            look.unreadable.append(path)
            return
        if found.st_dev != parent:
            look.devices[path] = found.st_dev
        seen[path] = listing
        look.ignored |= listing.ignored
        self._check_files(listing, look)
        for folder in listing.folders:
            self._look_at(folder, found.st_dev, is_whole, look, seen)

    def _check_files(self, listing: _Listing, look: FolderLook) -> None:
        files, lstat, limit = look.files, os.lstat, self._rules.max_bytes or sys.maxsize
        for path, place in listing.files:
            try:
                state = lstat(place)
            except OSError:  # gone since it was listed
                continue
            if 0 < (size := state.st_size) <= limit:
                files[path] = (state.st_mtime_ns, size)
            else:
                look.ignored[path] = N_(f"Larger than {limit / 1_048_576:,.0f} MB") if size else N_("Empty")

    def _list(self, place: Path, above: str, changed_at: int) -> _Listing:
        listing = _Listing(changed_at, time.time_ns() - changed_at > _TRUSTED_AFTER_NS, [], [], {})
        with os.scandir(place) as entries:
            for entry in sorted(entries, key=lambda one: one.name):
                path = f"{above}/{entry.name}" if above else entry.name
                if entry.is_symlink():
                    refusal = self._refuse_link(entry.path)
                elif entry.is_dir(follow_symlinks=False):
                    if not (refusal := self._rules.refuse_folder(path)):
                        listing.folders.append(path)
                elif not entry.is_file(follow_symlinks=False):
                    refusal = N_("Not a file")
                elif not (refusal := self._rules.refuse_file(path)):
                    listing.files.append((path, entry.path))
                if refusal:
                    listing.ignored[path] = refusal
        return listing

    def _refuse_link(self, place: str) -> str:
        try:
            is_within = Path(place).resolve().is_relative_to(self.root.resolve())
        except (OSError, RuntimeError):
            is_within = False
        return N_("Link within the folder") if is_within else N_("Link out of the folder")


KnownFile = tuple[int, int, str, *tuple[str, ...]]  # modification time in nanoseconds, size in bytes, SHA-256


@dataclass(frozen=True, slots=True)
class FolderChanges:
    """Changes of a folder since it was last read, as paths below it; `writing` files are still changing."""

    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()  # from, to
    vanished: tuple[str, ...] = ()
    writing: tuple[str, ...] = ()
    touched: tuple[str, ...] = ()  # only their modification time is another
    is_settled: bool = True  # the next look would find the same

    def __bool__(self) -> bool:
        """Whether anything has to be done about them now."""
        return bool(self.new or self.changed or self.renamed or self.vanished)


class ChangeDetector:
    """Compares looks at one folder with what is known of its files; reads only files that may be renamed or touched."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._before: FolderLook | None = None
        self._hashes: dict[str, tuple[FileState, str]] = {}

    def compare(self, look: FolderLook, known: Mapping[str, KnownFile]) -> FolderChanges:
        """Return what differs. A file counts once two looks found it in the same state, or missing."""
        before, self._before = self._before, look
        self._hashes = {path: one for path, one in self._hashes.items() if look.files.get(path) == one[0]}
        differing = [path for path, state in look.files.items() if path not in known or known[path][:2] != state]
        settled = [path for path in differing if before and before.files.get(path) == look.files[path]]
        waiting = tuple(sorted(set(differing) - set(settled)))
        gone = [path for path in known if path not in look.files and not self._is_there(path, look)]
        vanished = [path for path in gone if before and not self._is_there(path, before)]
        renamed = self._find_renamed(settled, vanished, look, known)
        targets, origins = {new for _, new in renamed}, {old for old, _ in renamed}
        touched = {path for path in settled if path not in targets and self._is_touched(path, look, known)}
        rest = [path for path in settled if path not in targets and path not in touched]
        return FolderChanges(
            new=tuple(path for path in rest if path not in known),
            changed=tuple(path for path in rest if path in known),
            renamed=tuple(renamed),
            vanished=tuple(path for path in vanished if path not in origins),
            writing=waiting,
            touched=tuple(sorted(touched)),
            is_settled=not waiting and len(gone) == len(vanished),
        )

    @staticmethod
    def _is_there(path: str, look: FolderLook) -> bool:
        """Return whether a file is there, or may be: what is ignored now or cannot be read is not gone."""
        if path in look.files or path in look.ignored:
            return True
        return any(path.startswith(f"{folder}/") for folder in look.unreadable)

    def _find_renamed(
        self, settled: Sequence[str], vanished: Sequence[str], look: FolderLook, known: Mapping[str, KnownFile]
    ) -> list[tuple[str, str]]:
        sizes = {known[path][1] for path in vanished}
        candidates = [path for path in settled if look.files[path][1] in sizes]
        by_hash = {digest: path for path in candidates if (digest := self._hash(path, look.files[path]))}
        return [(path, by_hash.pop(known[path][2])) for path in vanished if known[path][2] in by_hash]

    def _is_touched(self, path: str, look: FolderLook, known: Mapping[str, KnownFile]) -> bool:
        if path not in known or known[path][1] != look.files[path][1]:
            return False
        return self._hash(path, look.files[path]) == known[path][2]

    def _hash(self, path: str, state: FileState) -> str:
        """Return the SHA-256 of a file in this state, read once; empty if it cannot be read."""
        if path not in self._hashes:
            self._hashes[path] = (state, hash_file(self._root, path))
        return self._hashes[path][1]


def hash_file(root: Path, path: str) -> str:
    """Return the SHA-256 of a file below a folder; empty if it cannot be read."""
    try:
        with open_below(root, path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def open_below(root: Path, path: str) -> BufferedReader:
    """Open a file by its path below a folder for reading. Raises `OSError`, also for a link anywhere below the folder.

    Each part of the path is opened from the one above, so that no link can take its place between a check and the use.
    """
    if os.open not in os.supports_dir_fd:
        return _open_unlinked(root / path)
    *folders, name = PurePosixPath(path).parts
    with ExitStack() as opened:
        above: int | None = None
        for folder in (str(root), *folders):
            above = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=above)
            opened.callback(os.close, above)
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=above)
    return _check_regular(os.fdopen(file, "rb"), path)


def _open_unlinked(place: Path) -> BufferedReader:
    """Open a file where folders cannot be opened: it must be the one that its path names without links."""
    file = _check_regular(place.open("rb"), str(place))
    if place.resolve() == place and os.path.samestat(os.fstat(file.fileno()), place.lstat()):
        return file
    file.close()
    raise FileNotFoundError(str(place))


def _check_regular(file: BufferedReader, path: str) -> BufferedReader:
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise FileNotFoundError(path)


@dataclass(frozen=True, slots=True)
class WatchReport:
    """New or changed files that have settled, files that were renamed or are gone, and paths that cannot be read."""

    settled: tuple[Path, ...]
    renamed: tuple[tuple[Path, Path], ...]
    gone: tuple[Path, ...]
    unreadable: tuple[Path, ...]


class FolderWatch:
    """Files and folders to poll for changes, for one process: nothing is known of them at first."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._watched = {path: _WatchedPath(path) for path in paths}

    def poll(self) -> WatchReport:
        """Return what changed and has not changed further since the last poll; each change is reported once.

        Nothing under an unreadable path is reported as gone: a network mount may come back.
        """
        settled: list[Path] = []
        renamed: list[tuple[Path, Path]] = []
        gone: list[Path] = []
        unreadable: list[Path] = []
        for path, watched in self._watched.items():
            try:
                changes = watched.poll()
            except OSError:
                unreadable.append(path)
                continue
            settled += [watched.root / one for one in sorted((*changes.new, *changes.changed))]
            renamed += [(watched.root / old, watched.root / new) for old, new in changes.renamed]
            gone += [watched.root / one for one in changes.vanished]
        return WatchReport(tuple(settled), tuple(renamed), tuple(gone), tuple(unreadable))


class _WatchedPath:
    """A folder or file with the state that was last reported."""

    def __init__(self, path: Path) -> None:
        is_file = path.is_file()
        self.root = path.parent if is_file else path
        self._scanner = None if is_file else FolderScanner(path, FolderRules())
        self._file = path
        self._detector = ChangeDetector(self.root)
        self._known: dict[str, KnownFile] = {}

    def poll(self) -> FolderChanges:
        """Return the changes since the last poll, and remember them. Raises `OSError`."""
        look = self._scanner.look() if self._scanner else self._look_at_file()
        changes = self._detector.compare(look, self._known)
        for path in (*changes.vanished, *(old for old, _ in changes.renamed)):
            del self._known[path]
        now = (*changes.new, *changes.changed, *changes.touched, *(new for _, new in changes.renamed))
        self._known |= {path: (*look.files[path], hash_file(self.root, path)) for path in now}
        return changes

    def _look_at_file(self) -> FolderLook:
        state = self._file.stat()
        return FolderLook({self._file.name: (state.st_mtime_ns, state.st_size)})
