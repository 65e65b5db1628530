"""Watched folders: folders of this machine whose files are kept in step with a collection.

One process looks after each folder: it looks every few seconds, stores what differs, and applies it, either on a click
or by itself. New and changed files become an ingest job; renamed and vanished ones are applied at once.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sqlalchemy import Row, delete, func, insert, select, update

from crag.cancellation import Cancellation
from crag.errors import BadRequest, CragError, NotFound
from crag.ingest.folder_watch import (
    ChangeDetector,
    FileState,
    FolderChanges,
    FolderLook,
    FolderRules,
    FolderScanner,
    hash_file,
)
from crag.ingest.intake import split_member_location
from crag.library.job_queue import Job
from crag.library.jobs import IngestJobs
from crag.library.library import Library
from crag.settings import Settings
from crag.storage.engine import Database, is_owner_alive, see_everything
from crag.storage.row_security import document_owner
from crag.storage.sources import ensure_collection
from crag.storage.tables import sources, users, watched_folders
from crag.storage.user_scope import UserScoped, check_admin
from crag.translation import N_
from crag.types import is_account

PASS_SECONDS = 0.5  # between two passes of the worker
_LOOK_SECONDS = 2.0  # shortest time between two looks at a folder in which nothing happens
_MAX_LOOK_SECONDS = 60.0
_SETTLE_SECONDS = 1.0  # a file must be unchanged this long
_PROCESSOR_SHARE = 1 / 120  # of a core, for looking at a folder in which nothing happens
_LOOKS_AVERAGED = 16
_FILES_PER_JOB = 500
_MAX_NAMED = 200  # files named in a preview, of each kind
_REPORT_SECONDS = 30.0
_PASSES_PER_RECOVERY = 10  # passes between two searches for folders of dead processes
_MAX_PATTERNS = 50
KEPT_SECONDS = 86_400.0  # documents of vanished files: nobody may be watching when they are removed


@dataclass(frozen=True, slots=True)
class FolderPreview:
    """What the last look found: how many files of each kind, and the first of them by their path below the folder.

    `renamed` holds pairs of the old and the new path; `ignored` and `refused` pairs of a path and the reason. A refused
    file could not be added.
    """

    counts: Mapping[str, int] = field(default_factory=dict)
    new: Sequence[str] = ()
    changed: Sequence[str] = ()
    renamed: Sequence[Sequence[str]] = ()
    vanished: Sequence[str] = ()
    writing: Sequence[str] = ()
    ignored: Sequence[Sequence[str]] = ()
    refused: Sequence[Sequence[str]] = ()

    @property
    def pending(self) -> int:
        """Number of files that would be applied now."""
        return sum(self.counts.get(kind, 0) for kind in ("new", "changed", "renamed", "vanished"))


@dataclass(frozen=True, slots=True)
class WatchedFolder:
    """A watched folder. `looked_at` is in seconds since the epoch, None before the first look is complete.

    Nothing is applied before `is_started`: the first preview waits for a click.
    """

    id: str
    path: str
    collection: str
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    subfolders: bool
    is_automatic: bool
    is_paused: bool
    is_started: bool
    is_applying: bool
    is_reachable: bool
    fault: str
    looked_at: float | None
    preview: FolderPreview

    @property
    def files(self) -> int:
        """Number of files that were applied."""
        return self.preview.counts.get("applied", 0)

    @property
    def state(self) -> str:
        """The state in words."""
        if self.is_paused:
            return N_("Paused")
        if not self.is_reachable:
            return N_("Not reachable")
        if self.looked_at is None:
            return N_("Looking")
        if self.is_applying:
            return N_("Applying")
        return N_("Changes found") if self.preview.pending else N_("Up to date")


class WatchedFolders(UserScoped):
    """The watched folders of a home, or of an account. Every method raises `HomeFault`."""

    def __init__(self, database: Database, library: Library, jobs: IngestJobs, settings: Settings) -> None:
        self._database = database
        self._library = library
        self._jobs = jobs
        self._settings = settings

    @property
    def is_offered(self) -> bool:
        """Whether this user may name folders of the machine: on their own machine, or as an administrator."""
        if is_account(self._user):
            try:
                check_admin(self._database, self._user)
            except BadRequest:
                return False
            return True
        return not self._settings.serves_others

    def list(self) -> list[WatchedFolder]:
        """Return all folders, the first added first."""
        columns = [one for one in watched_folders.c if one.name not in ("files", "devices")]
        query = select(*columns).where(self._visible(watched_folders)).order_by(watched_folders.c.created_at)
        with self._database.read() as connection:
            return [_folder_from_row(row) for row in connection.execute(query)]

    def revision(self) -> object:
        """Return a value that changes with what `list` returns, except for the time of the last look."""
        kept = [one for one in watched_folders.c if one.name not in ("files", "devices", "owner", "looked_at")]
        with self._database.read() as connection:
            rows = connection.execute(select(*kept).where(self._visible(watched_folders)))
            return hash(tuple(sorted(map(repr, rows))))

    def get(self, folder_id: str) -> WatchedFolder:
        """Return one folder. Raises `NotFound`."""
        for folder in self.list():
            if folder.id == folder_id:
                return folder
        raise NotFound("This folder is no longer watched.")

    def add(
        self,
        path: str,
        collection: str = "",
        *,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        subfolders: bool = True,
        automatic: bool = False,
    ) -> str:
        """Watch a folder and return its id. Nothing is added before the first `apply`. Raises `BadRequest`."""
        self._check_offered()
        folder = self._check_path(path)
        target = self._library.find_target(collection)
        values = {
            "id": secrets.token_hex(6),
            "person": document_owner(self._user),
            "path": str(folder),
            "collection": target,
            "include": json.dumps(_clean_patterns(include)),
            "exclude": json.dumps(_clean_patterns(exclude)),
            "subfolders": int(subfolders),
            "automatic": int(automatic),
            "created_at": time.time(),
        }
        with self._database.write() as connection:
            with see_everything(connection):
                others = connection.execute(select(watched_folders).where(watched_folders.c.collection == target)).all()
            for other in others:
                if folder.is_relative_to(other.path) or Path(other.path).is_relative_to(folder):
                    raise BadRequest(f"“{other.path}” is watched already.", "Remove it first, or choose another one.")
            ensure_collection(connection, target, self._user)
            connection.execute(insert(watched_folders), values)
        return str(values["id"])

    def apply(self, folder_id: str) -> None:
        """Apply the changes that the last look found, and those found until then."""
        self._change(folder_id, started=1, applying=1, paused=0)

    def set_automatic(self, folder_id: str, on: bool) -> None:
        """Choose whether changes are applied by themselves, after the first preview was."""
        self._change(folder_id, automatic=int(on))

    def pause(self, folder_id: str, on: bool = True) -> None:
        """Stop looking at a folder, or go on."""
        self._change(folder_id, paused=int(on), applying=0)

    def remove(self, folder_id: str, *, with_documents: bool = False) -> None:
        """Stop watching a folder; its documents can be removed, too, which `Library.restore` undoes for a day.

        Raises `NotFound`, and `BadRequest` if the user may only read the collection.
        """
        folder = self.get(folder_id)
        with self._database.write() as connection:
            gone = delete(watched_folders).where(watched_folders.c.id == folder_id)
            job = connection.scalar(gone.returning(watched_folders.c.job))
        if job:
            self._jobs.cancel(job)
        if with_documents:
            below = f"{folder.path.rstrip('/')}/"
            found = [one.id for one in self._library.sources(folder.collection) if one.location.startswith(below)]
            self._library.discard(found, KEPT_SECONDS)

    def _change(self, folder_id: str, **values: Any) -> None:
        self._check_offered()
        own = watched_folders.c.id == folder_id, self._visible(watched_folders)
        with self._database.write() as connection:
            if connection.execute(update(watched_folders).where(*own).values(**values)).rowcount == 0:
                raise NotFound("This folder is no longer watched.")

    def _check_offered(self) -> None:
        if self._user is not None and not self.is_offered:
            raise BadRequest(
                "Folders of this machine cannot be watched from here.",
                "Open the app on the machine itself, or ask an administrator.",
            )

    def _check_path(self, path: str) -> Path:
        try:
            folder = Path(path.strip()).expanduser().resolve()
            is_folder = bool(path.strip()) and folder.is_dir()
        except (OSError, RuntimeError, ValueError):
            is_folder = False
        if not is_folder or not Path(path.strip()).expanduser().is_absolute():
            raise BadRequest(f"There is no folder “{path.strip()}”.", "Type the whole path of a folder.")
        if folder.is_relative_to(self._database.home.resolve()):
            raise BadRequest("This folder holds the data of this application.", "Choose another one.")
        return folder


def reset_watched_folders(database: Database) -> None:
    """Pause all folders and forget their findings: a backup must not choose which files are read."""
    forgotten = {
        "files": "{}",
        "changes": "{}",
        "devices": "{}",
        "job": "",
        "owner": "",
        "fault": "",
        "looked_at": None,
    }
    with database.write() as connection:
        for row in connection.execute(select(watched_folders)).all():
            own = watched_folders.c.id == row.id
            if _are_patterns(row.include) and _are_patterns(row.exclude):
                changed = update(watched_folders).where(own)
                connection.execute(changed.values(**forgotten, paused=1, started=0, applying=0))
            else:
                connection.execute(delete(watched_folders).where(own))


def _are_patterns(stored: str) -> bool:
    try:
        patterns = json.loads(stored)
    except ValueError:
        return False
    return isinstance(patterns, list) and all(isinstance(one, str) for one in patterns)


def _clean_patterns(patterns: Sequence[str]) -> list[str]:
    cleaned = [one.strip().removeprefix("./") for one in patterns if one.strip()]
    if len(cleaned) > _MAX_PATTERNS:
        raise BadRequest(f"There may be {_MAX_PATTERNS} patterns.", "Use fewer.")
    return cleaned


def _folder_from_row(row: Row[Any]) -> WatchedFolder:
    return WatchedFolder(
        id=row.id,
        path=row.path,
        collection=row.collection,
        include=tuple(json.loads(row.include)),
        exclude=tuple(json.loads(row.exclude)),
        subfolders=bool(row.subfolders),
        is_automatic=bool(row.automatic),
        is_paused=bool(row.paused),
        is_started=bool(row.started),
        is_applying=bool(row.applying),
        is_reachable=bool(row.reachable),
        fault=row.fault,
        looked_at=row.looked_at,
        preview=FolderPreview(**json.loads(row.changes)),
    )


_AppliedFile = tuple[int, int, str, str]  # modification time in nanoseconds, size, SHA-256, why it could not be added


class LookPace:
    """Chooses the pauses between looks, so that looking takes less than a hundredth of a core."""

    def __init__(self) -> None:
        self._cost: float | None = None

    def next_pause(self, spent: float, *, is_settled: bool = True) -> float:
        """Return the seconds until the next look, after one that took `spent` seconds of a core.

        Costs are averaged, since some looks list everything again, as the first one does.
        """
        self._cost = spent / 2 if self._cost is None else self._cost + (spent - self._cost) / _LOOKS_AVERAGED
        pause = self._cost / _PROCESSOR_SHARE
        if not is_settled:
            return max(_SETTLE_SECONDS, pause / 10)
        return min(max(_LOOK_SECONDS, pause), _MAX_LOOK_SECONDS)


class _FolderState:
    """What this process knows of a folder that it looks after."""

    def __init__(self, row: Row[Any], home: Path, max_bytes: int) -> None:
        self.root = Path(row.path)
        include, exclude = (tuple(json.loads(one)) for one in (row.include, row.exclude))
        skipped = (home.relative_to(self.root).as_posix(),) if home.is_relative_to(self.root) else ()
        rules = FolderRules(include, exclude, bool(row.subfolders), max_bytes, skipped)
        self.scanner = FolderScanner(self.root, rules, json.loads(row.devices))
        self.detector = ChangeDetector(self.root)
        self.applied: dict[str, _AppliedFile] = {
            path: (entry[0], entry[1], entry[2], entry[3]) for path, entry in json.loads(row.files).items()
        }
        self.changes = FolderChanges()
        self.stored = row.changes
        self.due = self.reported_at = 0.0
        self.looks = 0
        self.pace = LookPace()
        self.examined: set[tuple[str, FileState]] = set()


class FolderWorker:
    """Looks after the watched folders that no other process looks after. `run` is called every `PASS_SECONDS`."""

    def __init__(self, database: Database, library: Library, jobs: IngestJobs, max_bytes: int) -> None:
        self._database = database
        self._library = library
        self._jobs = jobs
        self._max_bytes = max_bytes
        self._owner = f"{database.owner_name()}-{secrets.token_hex(4)}"
        self._states: dict[str, _FolderState] = {}
        self._passes = 0

    def run(self, stop: Cancellation) -> None:
        """Look at each folder that is due, and apply what is to be applied."""
        found = self._read_rows()
        if self._passes % _PASSES_PER_RECOVERY == 0 or not all(row.owner for row in found):
            self._claim()
            found = self._read_rows()
        self._passes += 1
        rows = {row.id: row for row in found if row.owner == self._owner and not row.paused}
        self._states = {folder_id: state for folder_id, state in self._states.items() if folder_id in rows}
        for folder_id, row in rows.items():
            if stop.wait(0):
                return
            if folder_id not in self._states:
                if (whole := self._read_row(folder_id)) is None:
                    continue
                self._states[folder_id] = _FolderState(whole, self._database.home.resolve(), self._max_bytes)
            state = self._states[folder_id]
            if row.job:
                self._follow_job(row, state)
            elif state.due <= time.monotonic() or (row.applying and state.changes):
                self._look(row, state)

    def close(self) -> None:
        """Let another process look after the folders."""
        self._states.clear()
        with self._database.write() as connection:
            mine = update(watched_folders).where(watched_folders.c.owner == self._owner)
            connection.execute(mine.values(owner=""))

    def _read_rows(self) -> Sequence[Row[Any]]:
        names = ("id", "path", "person", "collection", "automatic", "paused", "started", "applying", "reachable")
        columns = [watched_folders.c[name] for name in (*names, "fault", "job", "owner")]
        admins = select(users.c.id).where(users.c.role == "admin")
        query = select(*columns).where(watched_folders.c.person.in_(admins) | (watched_folders.c.person == ""))
        with self._database.read() as connection:
            return connection.execute(query).all()

    def _read_row(self, folder_id: str) -> Row[Any] | None:
        with self._database.read() as connection:
            return connection.execute(select(watched_folders).where(watched_folders.c.id == folder_id)).first()

    def _claim(self) -> None:
        with self._database.read() as connection:
            owners = set(connection.scalars(select(watched_folders.c.owner))) - {self._owner}
            free = [owner for owner in owners if not owner or not is_owner_alive(connection, owner)]
        if free:
            with self._database.write() as connection:
                unowned = update(watched_folders).where(watched_folders.c.owner.in_(free))
                connection.execute(unowned.values(owner=self._owner))

    def _store(self, folder_id: str, **values: Any) -> None:
        mine = watched_folders.c.id == folder_id, watched_folders.c.owner == self._owner
        with self._database.write() as connection:
            connection.execute(update(watched_folders).where(*mine).values(**values))

    def _look(self, row: Row[Any], state: _FolderState) -> None:
        began = time.thread_time()
        try:
            look = state.scanner.look()
        except OSError:
            state.due = time.monotonic() + _LOOK_SECONDS
            if row.reachable or row.applying:
                self._store(row.id, reachable=0, applying=0)
            return
        changes = state.detector.compare(look, state.applied)
        state.looks += 1
        spent = time.thread_time() - began
        state.due = time.monotonic() + state.pace.next_pause(spent, is_settled=changes.is_settled)
        state.changes = self._adopt(row, state, look, changes)
        if state.looks == 1 and not changes.is_settled:
            return  # the first look cannot tell which files still change
        self._report(row, state, look)
        if row.applying or (row.started and row.automatic):
            try:
                self._apply(row, state, look)
            except CragError as error:
                self._store(row.id, fault=str(error), applying=0)

    def _report(self, row: Row[Any], state: _FolderState, look: FolderLook) -> None:
        """Store the findings of a look if they are new or were last stored a while ago."""
        changes = _encode_preview(state, look)
        is_news = changes != state.stored or not row.reachable
        if is_news or time.monotonic() - state.reported_at > _REPORT_SECONDS:
            state.stored, state.reported_at = changes, time.monotonic()
            devices = json.dumps(look.devices)
            self._store(row.id, changes=changes, devices=devices, reachable=1, looked_at=time.time())

    def _adopt(self, row: Row[Any], state: _FolderState, look: FolderLook, changes: FolderChanges) -> FolderChanges:
        """Note files that the collection has already, and those that were only touched; return the other changes."""
        applied = {path: (*look.files[path], *state.applied[path][2:]) for path in changes.touched}
        candidates = [path for path in changes.new if (path, look.files[path]) not in state.examined]
        if candidates:
            found = self._digests_below(row)
            for path in candidates:
                state.examined.add((path, look.files[path]))
                digest = found.get(str(state.root / path))
                if digest and hash_file(state.root, path) == digest:
                    applied[path] = (*look.files[path], digest, "")
        if applied:
            state.applied |= applied
            self._store(row.id, files=json.dumps(state.applied))
        return replace(changes, new=tuple(path for path in changes.new if path not in applied), touched=())

    def _digests_below(self, row: Row[Any]) -> dict[str, str]:
        """Return the SHA-256 of each file below the folder that the collection has, by its whole path."""
        within = f"{row.path.rstrip('/')}/"
        is_below = func.substr(sources.c.location, 1, len(within)) == within
        query = select(sources.c.location, sources.c.sha256).where(sources.c.collection == row.collection, is_below)
        with self._database.read() as connection:
            return {row.location: row.sha256 for row in connection.execute(query)}

    def _apply(self, row: Row[Any], state: _FolderState, look: FolderLook) -> None:
        changes = state.changes
        library = self._library.for_user(row.person or None)
        if changes.renamed or changes.vanished:
            for old, new in changes.renamed:
                library.relocate(state.root / old, state.root / new, row.collection)
                state.applied[new] = (*look.files[new], state.applied.pop(old)[2], "")
            self._remove_vanished(library, row, state)
            self._store(row.id, files=json.dumps(state.applied), fault="")
            state.due = 0.0
        if paths := [*changes.changed, *changes.new][:_FILES_PER_JOB]:
            files = {path: look.files[path] for path in paths}
            job = self._jobs.for_user(row.person or None).submit_files(state.root, files, row.collection)
            self._store(row.id, job=job, applying=1, fault="")
        elif row.applying and not changes:
            self._store(row.id, applying=0)
        state.changes = FolderChanges(is_settled=False)

    def _remove_vanished(self, library: Library, row: Row[Any], state: _FolderState) -> None:
        """Discard the documents of vanished files, except those of which another file has the same content."""
        gone = {path: state.applied.pop(path) for path in state.changes.vanished}
        others = {entry[2]: path for path, entry in state.applied.items() if entry[2]}
        discarded: list[str] = []
        for path, entry in gone.items():
            place = state.root / path
            if entry[2] in others:
                library.relocate(place, state.root / others[entry[2]], row.collection)
            else:
                discarded += [one.id for one in library.documents_at(place, row.collection)]
        if discarded:
            library.discard(discarded, KEPT_SECONDS)

    def _follow_job(self, row: Row[Any], state: _FolderState) -> None:
        """Note the results of the folder's job, once it has ended."""
        if self._jobs.unfinished([row.job]):
            return
        values: dict[str, Any] = {"job": ""}
        job = self._jobs.job(row.job)
        if job is None:  # dismissed: what it added is found in the collection
            state.examined.clear()
        else:
            digests = {one.id: one.sha256 for one in self._library.sources(row.collection)}
            state.applied |= _read_results(state.root, job, digests)
            values["files"] = json.dumps(state.applied)
            if job.state == "cancelled":
                values |= {"paused": 1, "applying": 0}
        self._store(row.id, **values)
        state.due = 0.0


def _read_results(root: Path, job: Job, digests: Mapping[str, str]) -> dict[str, _AppliedFile]:
    """Return the files that a job has dealt with; `digests` are those of the collection by id."""
    results: dict[str, list[tuple[str, str]]] = {}
    for result in job.results:
        archive = split_member_location(result.source)
        digest = digests.get(result.id or "", "") if archive is None else ""
        reason = result.error.message if result.error else ""
        results.setdefault(archive[0] if archive else result.source, []).append((digest, reason))
    applied: dict[str, _AppliedFile] = {}
    for path, (changed_at, size) in job.options["files"].items():
        if found := results.get(str(root / path)):
            digest = found[0][0] or hash_file(root, path)
            is_refused = all(reason for _, reason in found)
            applied[path] = (changed_at, size, digest, found[0][1] if is_refused else "")
    return applied


def _encode_preview(state: _FolderState, look: FolderLook) -> str:
    changes = state.changes
    kinds: dict[str, Iterable[Any]] = {
        "new": changes.new,
        "changed": changes.changed,
        "renamed": changes.renamed,
        "vanished": changes.vanished,
        "writing": changes.writing,
        "ignored": look.ignored.items(),
        "refused": [(path, entry[3]) for path, entry in state.applied.items() if entry[3]],
    }
    found = {kind: list(those) for kind, those in kinds.items()}
    named = {kind: those[:_MAX_NAMED] for kind, those in found.items()}
    counts = {kind: len(those) for kind, those in found.items()}
    return json.dumps({"counts": counts | {"applied": len(state.applied) - counts["refused"]}, **named})
