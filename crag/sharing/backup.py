"""Backup of a whole home into one zip file while it is in use, with a manifest of sizes and SHA-256 digests.

The database is copied first as one snapshot, then the files that this snapshot names. A document removed in the
meantime is removed from the copy as well. The index is left out because it is a cache. Settings and keys are not
stored in the home.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sqlite3
import stat
import time
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, delete, select, update

from crag.cancellation import Cancellation
from crag.errors import BadRequest, HomeFault
from crag.library.job_queue import JOB_ID
from crag.storage.engine import Database
from crag.storage.files import check_absent, move_into_place, original_relative_path, staging_folder
from crag.storage.migrations import OLDEST_SCHEMA_VERSION, SCHEMA_VERSION
from crag.storage.removed_sources import RemovedSources
from crag.storage.sources import SourceStore
from crag.storage.sqlite_file import CHECKPOINTS_NAME, DATABASE_NAME
from crag.storage.tables import evaluations, jobs, runs, sources
from crag.types import Progress, ProgressCallback

MANIFEST_FILE = "manifest.json"
_BACKUP_FORMAT = "crag-backup"
_BACKUP_VERSION = 1
_MAX_MANIFEST_BYTES = 256 * 1024 * 1024
# The only valid member names, so that a hostile file cannot write anywhere else.
_MEMBER_NAME = re.compile(
    rf"{re.escape(DATABASE_NAME)}|{re.escape(CHECKPOINTS_NAME)}"
    rf"|originals/([0-9a-f]{{2}})/\1[0-9a-f]{{62}}|incoming/{JOB_ID}"
)
_COPY_BUFFER_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class BackupMember:
    """One file of the home; `size` in bytes."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class BackupManifest:
    """All files by name. `missing`: originals that the home itself had lost; `made_at` in seconds since the epoch."""

    made_at: float
    sources: int
    members: dict[str, BackupMember]
    missing: list[str] = field(default_factory=list)
    schema: int = SCHEMA_VERSION
    format: str = _BACKUP_FORMAT
    version: int = _BACKUP_VERSION

    @property
    def size(self) -> int:
        """Total size of all files, unpacked, in bytes."""
        return sum(member.size for member in self.members.values())

    def encode(self) -> str:
        """Return the manifest as JSON."""
        return json.dumps(asdict(self), indent=1)


def is_member_name(name: str) -> bool:
    """Return whether a backup can contain a file of this name: no other is written to the home."""
    return bool(_MEMBER_NAME.fullmatch(name))


def upload_name(job_id: str) -> str:
    """Return the relative path of the upload of an unfinished job."""
    return f"incoming/{job_id}"


def copy_and_hash(read: Callable[[int], bytes], write: Callable[[bytes], object], stop: Cancellation) -> BackupMember:
    """Copy all bytes from `read` to `write` in blocks; return their size and digest. Raises `Stopped`."""
    digest, size = hashlib.sha256(), 0
    while piece := read(_COPY_BUFFER_BYTES):
        stop.check()
        digest.update(piece)
        size += len(piece)
        write(piece)
    return BackupMember(size, digest.hexdigest())


def hash_file(path: Path, stop: Cancellation) -> BackupMember:
    """Return size and digest of a file. Raises `OSError`, `Stopped`."""
    with path.open("rb") as file:
        return copy_and_hash(file.read, lambda _: None, stop)


def read_manifest(archive: zipfile.ZipFile) -> BackupManifest:
    """Return the manifest after checking its names against the archive's. Raises `BadRequest`."""
    infos = {info.filename: info for info in archive.infolist()}
    if MANIFEST_FILE not in infos or infos[MANIFEST_FILE].file_size > _MAX_MANIFEST_BYTES:
        raise not_a_backup_error()
    manifest = _decode_manifest(archive.read(MANIFEST_FILE))
    if set(infos) != {MANIFEST_FILE, *manifest.members}:
        raise damaged_backup_error("its files are not those in its list")
    for name, member in manifest.members.items():
        if not is_member_name(name) or stat.S_ISLNK(infos[name].external_attr >> 16):
            raise damaged_backup_error("it contains a file that is not in its list")
        if name.startswith("originals/") and not name.endswith(member.sha256):
            raise damaged_backup_error("it contains a document under another document's name")
    if DATABASE_NAME not in manifest.members:
        raise damaged_backup_error("it contains no database")
    return manifest


def _decode_manifest(written: bytes) -> BackupManifest:
    try:
        fields: Any = json.loads(written)
        if fields["format"] != _BACKUP_FORMAT:
            raise not_a_backup_error()
        if fields["version"] > _BACKUP_VERSION or fields["schema"] > SCHEMA_VERSION:
            raise BadRequest("This backup was made by a newer version of the app.", "Update the app.")
        if fields["schema"] < OLDEST_SCHEMA_VERSION:
            raise BadRequest(
                "This backup was made by an early version of the application that this one cannot read.",
                "Restore it with that version.",
            )
        members = {
            str(name): BackupMember(int(one["size"]), str(one["sha256"])) for name, one in fields["members"].items()
        }
        missing = [str(digest) for digest in fields["missing"]]
        return BackupManifest(float(fields["made_at"]), int(fields["sources"]), members, missing, int(fields["schema"]))
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, OverflowError) as error:
        raise not_a_backup_error() from error


def not_a_backup_error() -> BadRequest:
    """Return the error for a file of another kind."""
    return BadRequest("This file is not a backup of this application; nothing was changed.", "Choose another file.")


def damaged_backup_error(what: str) -> BadRequest:
    """Return the error for a damaged backup; `what` completes the sentence."""
    return BadRequest(f"This backup is damaged: {what}. Nothing was changed.", "Choose another backup.")


def write_backup(database: Database, destination: Path, report: ProgressCallback, stop: Cancellation) -> BackupManifest:
    """Write a new backup file and return its manifest.

    Raises `BadRequest` if it exists or the home is in PostgreSQL, `HomeFault`, `Stopped`.
    """
    check_absent(destination)
    if not database.is_one_file:
        raise BadRequest(
            "This home is in PostgreSQL, which has backups of its own.",
            "Use pg_dump, or copy the home to a folder with the command move, and back that up.",
        )
    with staging_folder(destination) as work:
        report(Progress("Copying the database"))
        _preserve_uploads(database.home, work / "incoming")
        for name in (DATABASE_NAME, CHECKPOINTS_NAME):
            if (database.home / name).exists():
                _copy_database(database.home / name, work / name, stop)
        copy = Database(work)
        try:
            _drop_removed_sources(copy)
            _release_ownership(copy)
            with zipfile.ZipFile(work / "backup", "x", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                manifest = _BackupWriter(database, copy, archive, report, stop).fill()
        finally:
            copy.close()
        (work / "backup").chmod(0o600)  # it holds all documents and questions
        move_into_place(work / "backup", destination)
    return manifest


def _copy_database(source: Path, target: Path, stop: Cancellation) -> None:
    """Copy one snapshot of the database without deleted rows; writers continue meanwhile (WAL mode)."""
    connection = sqlite3.connect(f"{source.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None)
    try:
        with stop.on_cancel(connection.interrupt):
            connection.execute("VACUUM INTO ?", (str(target),))
    except sqlite3.Error as error:
        stop.check()
        raise HomeFault(
            "The database could not be copied: the disk is full, or the database is damaged.",
            "Free some space, or choose another place for the backup.",
        ) from error
    finally:
        connection.close()


def _drop_removed_sources(copy: Database) -> None:
    """Leave nothing of documents that were removed, even while that can be undone."""
    if RemovedSources(copy).purge(older_than=0.0, with_kept=True):
        with copy.read() as connection:
            connection.exec_driver_sql("VACUUM")


def _release_ownership(copy: Database) -> None:
    """Clear the owners of work in progress: once restored, jobs wait again and runs count as interrupted."""
    with copy.write() as connection:
        connection.execute(update(jobs).where(jobs.c.state == "working").values(state="waiting", owner=""))
        connection.execute(update(runs).where(runs.c.state == "running").values(owner=""))
        connection.execute(update(evaluations).values(owner="", stopping=0))


def _is_pending_upload() -> ColumnElement[bool]:
    return (jobs.c.kind == "upload") & jobs.c.state.in_(("waiting", "working"))


def _preserve_uploads(home: Path, kept: Path) -> None:
    """Link the current uploads: their jobs may end and remove them after the database was copied."""
    kept.mkdir()
    for path in (home / "incoming").glob("*"):
        with suppress(OSError):  # its job has just ended, or the upload is not complete yet
            _link_or_copy(path, kept / path.name)


def _link_or_copy(path: Path, target: Path) -> None:
    try:
        target.hardlink_to(path)
    except FileNotFoundError:
        raise
    except OSError:  # another disk, or no support for hard links
        shutil.copyfile(path, target)


@dataclass
class _BackupWriter:
    """One backup being written to its archive, from the home and from the staging folder with the database copy."""

    database: Database
    copy: Database
    archive: zipfile.ZipFile
    report: ProgressCallback
    stop: Cancellation
    members: dict[str, BackupMember] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)

    def fill(self) -> BackupManifest:
        """Add originals, uploads, the database (which records which of them exist), and last the manifest."""
        with self.copy.read() as connection:
            digests = sorted(set(connection.scalars(select(sources.c.sha256))))
            uploads = list(connection.scalars(select(jobs.c.id).where(_is_pending_upload())))
        for done, digest in enumerate(digests):
            self.report(Progress("Saving documents", done, len(digests)))
            self._add_original(digest)
        for job_id in uploads:
            self._add_upload(job_id)
        number = SourceStore(self.copy).counts()[0]
        self.copy.close()  # also writes the WAL back to the database file
        self._add(DATABASE_NAME, self.copy.home)
        if (self.copy.home / CHECKPOINTS_NAME).exists():
            self._add(CHECKPOINTS_NAME, self.copy.home)
        manifest = BackupManifest(time.time(), number, self.members, self.missing)
        self.archive.writestr(MANIFEST_FILE, manifest.encode())
        return manifest

    def _add_original(self, digest: str) -> None:
        """Add an original, or remove its source from the copy if the home no longer has that source."""
        name = original_relative_path(digest)
        try:
            if hash_file(self.database.home / name, self.stop).sha256 == digest:
                return self._add(name, self.database.home)
        except FileNotFoundError:
            pass
        with self.database.read() as connection:
            needed = connection.scalar(select(sources.c.id).where(sources.c.sha256 == digest).limit(1))
        if needed:  # the original was lost or damaged earlier; its passages still exist
            self.missing.append(digest)
            return None
        store = SourceStore(self.copy)
        store.remove([source.id for source in store.sources(sources.c.sha256 == digest)])
        return None

    def _add_upload(self, job_id: str) -> None:
        """Add an upload, or delete its job, which was submitted and ended since this backup began."""
        name = upload_name(job_id)
        for folder in (self.copy.home, self.database.home):
            with suppress(FileNotFoundError):
                return self._add(name, folder)
        with self.copy.write() as connection:
            connection.execute(delete(jobs).where(jobs.c.id == job_id))
        return None

    def _add(self, name: str, folder: Path) -> None:
        with (folder / name).open("rb") as file, self.archive.open(name, "w", force_zip64=True) as member:
            self.members[name] = copy_and_hash(file.read, member.write, self.stop)
