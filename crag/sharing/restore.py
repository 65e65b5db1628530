"""Restore of a backup: unpacked and verified in a staging folder, then moved into place by one rename."""

from __future__ import annotations

import errno
import shutil
import sqlite3
import time
import zipfile
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import delete, func, select

from crag.cancellation import Cancellation
from crag.errors import BadRequest, HomeFault
from crag.ingest.parse.zip_container import ZIP_ERRORS
from crag.library.job_queue import JobQueue
from crag.library.watched_folders import reset_watched_folders
from crag.sharing.backup import (
    BackupManifest,
    BackupMember,
    copy_and_hash,
    damaged_backup_error,
    is_member_name,
    not_a_backup_error,
    read_manifest,
    upload_name,
)
from crag.storage.engine import Database
from crag.storage.files import move_into_place, original_relative_path, staging_folder
from crag.storage.schema_check import has_own_schema
from crag.storage.sqlite_file import CHECKPOINTS_NAME, DATABASE_NAME
from crag.storage.tables import api_tokens, sources
from crag.types import Progress, ProgressCallback, Refusal

_CHECKPOINT_TABLES = ("checkpoints", "writes")
_UNREAD_PATH = Refusal("unreachable", "It was waiting in the backup. Add it again if it is on this computer, too.")


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """Manifest of the restored backup, and the new path of the previous home (None if there was none)."""

    manifest: BackupManifest
    moved_aside: Path | None


def restore_backup(
    file: Path, home: Path, report: ProgressCallback, stop: Cancellation, *, replace: bool = False
) -> RestoreResult:
    """Restore `home` from a backup; with `replace`, an existing home is moved aside first.

    Raises `BadRequest` for an unusable backup or home, `HomeFault`, `Stopped`; nothing is changed in these cases.
    """
    _check_home(home, replace)
    with staging_folder(home) as work:
        manifest = _unpack(file, work / "home", report, stop)
        report(Progress("Checking the database"))
        _check_database(work / "home", manifest)
        return RestoreResult(manifest, _move_into_place(work / "home", home, replace))


def _check_home(home: Path, replace: bool) -> None:
    if home.exists() and not home.is_dir():
        raise BadRequest(f"“{home.name}” is a file, not a folder; nothing was changed.", "Choose a folder with --home.")
    if not home.exists() or not any(home.iterdir()):
        return
    if not replace:
        raise BadRequest(
            "This folder already contains a library. Nothing was changed.",
            "Choose an empty folder with --home, or move the current one aside with --replace.",
        )
    if _is_in_use(home / DATABASE_NAME):
        raise BadRequest("The application is running on this folder; nothing was changed.", "Stop it first.")


def _is_in_use(path: Path) -> bool:
    """Return whether a process has the database open. Each one holds a lock, which prevents exclusive access."""
    if not path.is_file():
        return False
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None, timeout=0)
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("ROLLBACK")
    except sqlite3.OperationalError as error:
        return "locked" in str(error) or "busy" in str(error)
    except sqlite3.DatabaseError:  # a damaged database may be replaced
        return False
    finally:
        connection.close()
    return False


def _unpack(file: Path, folder: Path, report: ProgressCallback, stop: Cancellation) -> BackupManifest:
    """Extract every file of the backup and verify its checksum."""
    with _open_archive(file) as archive:
        try:
            manifest = read_manifest(archive)
            if manifest.size > shutil.disk_usage(folder.parent).free:
                raise HomeFault("There is not enough space on the disk; nothing was changed.", "Free some space.")
            for done, (name, member) in enumerate(manifest.members.items()):
                report(Progress("Unpacking", done, len(manifest.members)))
                _extract(archive, name, member, folder / name, stop)
        except ZIP_ERRORS as error:
            raise damaged_backup_error("it cannot be unpacked") from error
        except OSError as error:
            if error.errno not in (errno.EINVAL, None):  # an offset before the start of the file; damage, says bz2
                raise
            raise damaged_backup_error("it cannot be unpacked") from error
    return manifest


def _open_archive(file: Path) -> zipfile.ZipFile:
    try:
        if not file.is_file():  # a device would be read without end
            raise FileNotFoundError(file)
        return zipfile.ZipFile(file)
    except OSError as error:
        raise BadRequest(f"“{file.name}” cannot be read.", "Check the path.") from error
    except ZIP_ERRORS as error:
        raise not_a_backup_error() from error


def _extract(archive: zipfile.ZipFile, name: str, member: BackupMember, path: Path, stop: Cancellation) -> None:
    """Extract one file. Never writes more bytes than the manifest states, regardless of the archive's content."""
    if archive.getinfo(name).file_size != member.size:
        raise damaged_backup_error("a file in it does not have the size in its list")
    path.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(name) as packed, path.open("xb") as file:
        found = copy_and_hash(packed.read, file.write, stop)
    if found != member:
        raise damaged_backup_error("a file in it has changed since it was saved")


def _check_database(home: Path, manifest: BackupManifest) -> None:
    """Check that the database is intact, has a supported version, no foreign triggers or views, and its documents."""
    try:
        with closing(sqlite3.connect(home / DATABASE_NAME)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            kinds = connection.execute("SELECT DISTINCT type FROM sqlite_master").fetchall()
            if version != manifest.schema or not set(kinds) <= {("table",), ("index",)}:  # else something may be run
                raise damaged_backup_error("its database does not belong to this application")
            if connection.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
                raise damaged_backup_error("its database is incomplete")
        _check_documents(home, manifest)
        if CHECKPOINTS_NAME in manifest.members:
            _check_checkpoints(home / CHECKPOINTS_NAME)
    except (sqlite3.Error, HomeFault) as error:
        raise damaged_backup_error("its database cannot be read") from error


def _check_checkpoints(path: Path) -> None:
    """Check that the checkpoint database is intact and has only the tables of the graph state."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA trusted_schema = OFF")
        objects = set(connection.execute("SELECT type, tbl_name FROM sqlite_master"))
        if not objects <= {("table", name) for name in _CHECKPOINT_TABLES} | {
            ("index", name) for name in _CHECKPOINT_TABLES
        }:
            raise damaged_backup_error("the state of its runs does not belong to this application")
        if connection.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
            raise damaged_backup_error("the state of its runs is incomplete")


def _check_documents(home: Path, manifest: BackupManifest) -> None:
    """Open the database as the application does, which migrates it, and check its tables, documents and jobs."""
    database = Database(home)
    try:
        with database.read() as connection:
            if not has_own_schema(connection):
                raise damaged_backup_error("its tables are not those of this application")
            number = connection.scalar(select(func.count()).select_from(sources))
            digests: Sequence[str] = connection.scalars(select(sources.c.sha256).distinct()).all()
        _check_jobs(database)
        _revoke_tokens(database)
    finally:
        database.close()
    missing = {digest for digest in digests if original_relative_path(digest) not in manifest.members} - set(
        manifest.missing
    )
    if missing or number != manifest.sources:
        raise damaged_backup_error("documents are missing from it")


def _check_jobs(database: Database) -> None:
    """Check that jobs name no file outside of the home, and end those that would read a path of this machine."""
    queue = JobQueue(database)
    try:
        found = queue.all()
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise damaged_backup_error("its list of files to add cannot be read") from error
    if not all(is_member_name(upload_name(job.id)) for job in found):
        raise damaged_backup_error("its list of files to add does not belong to this application")
    queue.give_up_paths(_UNREAD_PATH)
    reset_watched_folders(database)


def _revoke_tokens(database: Database) -> None:
    """Delete all API tokens. Some may have been revoked after the backup was made, or its maker may know them."""
    with database.write() as connection:
        connection.execute(delete(api_tokens))


def _move_into_place(new_home: Path, home: Path, replace: bool) -> Path | None:
    """Move the new home into place and return the new path of the old one."""
    if not home.exists():
        move_into_place(new_home, home)
        return None
    if not any(home.iterdir()):
        home.rmdir()
        move_into_place(new_home, home)
        return None
    _check_home(home, replace)  # the home may have changed during unpacking
    aside = home.with_name(f"{home.name}-before-{time.strftime('%Y%m%d-%H%M%S')}")
    home.rename(aside)
    try:
        move_into_place(new_home, home)
    except BaseException:
        with suppress(OSError):
            aside.rename(home)
        raise
    return aside
