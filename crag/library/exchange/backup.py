"""Backup of a whole home into one file while it is in use.

The database is copied first as one snapshot, then the files that this snapshot names. A document removed in the
meantime is removed from the copy as well. The index is left out because it is a cache. Settings and keys are not stored
in the home.
"""

from __future__ import annotations

import shutil
import sqlite3
import time
import zipfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import ColumnElement, delete, select, update

from crag.database import Database
from crag.database.engine import CHECKPOINTS_NAME, FILE_NAME
from crag.database.tables import evaluations, jobs, runs, sources
from crag.errors import HomeFault
from crag.library.exchange.manifest import (
    MANIFEST,
    Manifest,
    Member,
    copy_and_hash,
    hash_file,
    original_name,
    upload_name,
)
from crag.library.exchange.staging import check_new, put_in_place, staging_folder
from crag.library.store import Store
from crag.progress import Report
from crag.stopping import Stop
from crag.types import Progress


def write_backup(database: Database, destination: Path, report: Report, stop: Stop) -> Manifest:
    """Write a new backup file and return its manifest. Raises `BadRequest` if it exists, `HomeFault`, `Stopped`."""
    check_new(destination)
    with staging_folder(destination) as work:
        report(Progress("Copying the database"))
        _keep_uploads(database.home, work / "incoming")
        for name in (FILE_NAME, CHECKPOINTS_NAME):
            if (database.home / name).exists():
                _copy_database(database.home / name, work / name, stop)
        copy = Database(work)
        try:
            _disown(copy)
            with zipfile.ZipFile(work / "backup", "x", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                manifest = _Filling(database, copy, archive, report, stop).fill()
        finally:
            copy.close()
        (work / "backup").chmod(0o600)  # it holds all documents and questions
        put_in_place(work / "backup", destination)
    return manifest


def _copy_database(source: Path, target: Path, stop: Stop) -> None:
    """Copy one snapshot of the database without deleted rows; writers continue meanwhile (WAL mode)."""
    connection = sqlite3.connect(f"{source.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None)
    try:
        with stop.breaking(connection.interrupt):
            connection.execute("VACUUM INTO ?", (str(target),))
    except sqlite3.Error as error:
        stop.check()
        raise HomeFault(
            "The database could not be copied: the disk is full, or the database is damaged.",
            "Free some space, or choose another place for the backup.",
        ) from error
    finally:
        connection.close()


def _disown(copy: Database) -> None:
    """Clear the owners of work in progress: once restored, jobs wait again and runs count as interrupted."""
    with copy.write() as connection:
        connection.execute(update(jobs).where(jobs.c.state == "working").values(state="waiting", owner=""))
        connection.execute(update(runs).where(runs.c.state == "running").values(owner=""))
        connection.execute(update(evaluations).values(owner="", stopping=0))


def _waits_for_upload() -> ColumnElement[bool]:
    return (jobs.c.kind == "upload") & jobs.c.state.in_(("waiting", "working"))


def _keep_uploads(home: Path, kept: Path) -> None:
    """Link the current uploads: their jobs may end and remove them after the database was copied."""
    kept.mkdir()
    for path in (home / "incoming").glob("*"):
        with suppress(OSError):  # its job has just ended, or the upload is not complete yet
            _link(path, kept / path.name)


def _link(path: Path, target: Path) -> None:
    try:
        target.hardlink_to(path)
    except FileNotFoundError:
        raise
    except OSError:  # another disk, or no support for hard links
        shutil.copyfile(path, target)


@dataclass
class _Filling:
    """One backup being written to its archive, from the home and from the staging folder with the database copy."""

    database: Database
    copy: Database
    archive: zipfile.ZipFile
    report: Report
    stop: Stop
    members: dict[str, Member] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)

    def fill(self) -> Manifest:
        """Add originals, uploads, the database (which records which of them exist), and last the manifest."""
        with self.copy.read() as connection:
            digests = sorted(set(connection.scalars(select(sources.c.sha256))))
            uploads = list(connection.scalars(select(jobs.c.id).where(_waits_for_upload())))
        for done, digest in enumerate(digests):
            self.report(Progress("Saving documents", done, len(digests)))
            self._add_original(digest)
        for job_id in uploads:
            self._add_upload(job_id)
        number = Store(self.copy).counts()[0]
        self.copy.close()  # also writes the WAL back to the database file
        self._add(FILE_NAME, self.copy.home)
        if (self.copy.home / CHECKPOINTS_NAME).exists():
            self._add(CHECKPOINTS_NAME, self.copy.home)
        manifest = Manifest(time.time(), number, self.members, self.missing)
        self.archive.writestr(MANIFEST, manifest.encode())
        return manifest

    def _add_original(self, digest: str) -> None:
        """Add an original, or remove its source from the copy if the home no longer has that source."""
        name = original_name(digest)
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
        store = Store(self.copy)
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
