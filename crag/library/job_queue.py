"""Job queue: job rows shared by all processes on the home, and the spool of uploads."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from crag.storage.engine import Database, is_owner_alive
from crag.storage.files import write_atomically, write_fault
from crag.storage.row_security import document_owner
from crag.storage.tables import jobs
from crag.storage.user_scope import UserScoped
from crag.types import AddResult, Progress, Refusal

JobKind = Literal["upload", "address", "files", "site"]
JobState = Literal["waiting", "working", "done", "failed", "cancelled"]
FINISHED_STATES: tuple[JobState, ...] = ("done", "failed", "cancelled")
_MAX_FINISHED_JOBS = 500
_MAX_ATTEMPTS = 5
_GIVEN_UP_ERROR = Refusal("corrupt", f"The app stopped {_MAX_ATTEMPTS} times while adding it, so it was skipped.")


@dataclass(frozen=True, slots=True)
class Job:
    """A file, folder, URL or site being added; one result per file.

    `spec` is the URL or folder; it is cleared at the end, unless something failed and can be tried again. Uploads are
    in the spool. `resumed` means that the job was started before. `person` is the account that adds it.
    """

    id: str
    kind: JobKind
    spec: str
    name: str
    collection: str
    submitted_at: float
    options: dict[str, Any] = field(default_factory=dict)
    state: JobState = "waiting"
    progress: Progress = field(default_factory=lambda: Progress("Waiting"))
    results: tuple[AddResult, ...] = ()
    resumed: bool = False
    person: str = ""

    @property
    def finished(self) -> bool:
        """Whether the job has ended."""
        return self.state in FINISHED_STATES

    @property
    def has_failed(self) -> bool:
        """Whether it has ended and anything of it was refused."""
        return self.finished and (self.state == "failed" or any(result.error for result in self.results))

    @property
    def result(self) -> AddResult | None:
        """The result of the first file, which is the only one unless the job is a folder, an archive or a site."""
        return self.results[0] if self.results else None


class JobQueue(UserScoped):
    """Job queue in the database, shared by all workers and processes. Every method raises `HomeFault`.

    What workers call ignores the user: `claim` and the methods that take an `owner`.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, job: Job) -> None:
        """Append a new job to the queue."""
        names = ("id", "kind", "spec", "name", "collection", "state", "submitted_at")
        values = {name: getattr(job, name) for name in names} | {"options": json.dumps(job.options)}
        values |= {"person": document_owner(self._user)}
        with self._database.write() as connection:
            connection.execute(insert(jobs), values)

    def all(self) -> list[Job]:
        """Return every job, oldest first."""
        wanted = select(jobs).where(self._visible(jobs)).order_by(jobs.c.number)
        with self._database.read() as connection:
            return [_job_from_row(row) for row in connection.execute(wanted)]

    def get(self, job_id: str) -> Job | None:
        """Return the job with this id, or None if the user has none."""
        with self._database.read() as connection:
            row = connection.execute(select(jobs).where(jobs.c.id == job_id, self._visible(jobs))).first()
        return None if row is None else _job_from_row(row)

    def naming_source(self, source_id: str, *, besides: Job) -> list[Job]:
        """Return the other jobs whose results contain this id."""
        is_named = func.instr(jobs.c.result, source_id) > 0
        with self._database.read() as connection:
            found = connection.execute(select(jobs).where(jobs.c.id != besides.id, is_named, self._visible(jobs)))
            return [_job_from_row(row) for row in found]

    def count(self, *states: JobState) -> int:
        """Count the jobs in these states."""
        with self._database.read() as connection:
            counted = select(func.count()).where(jobs.c.state.in_(states), self._visible(jobs))
            return connection.scalar(counted) or 0

    def unfinished(self, job_ids: Collection[str]) -> set[str]:
        """Return which of these jobs are waiting or running."""
        with self._database.read() as connection:
            found = select(jobs.c.id).where(
                jobs.c.id.in_(job_ids), jobs.c.state.not_in(FINISHED_STATES), self._visible(jobs)
            )
            return set(connection.scalars(found))

    def claim(self, owner: str) -> Job | None:
        """Assign the job that has waited longest to the owner; return None if none is waiting."""
        if not self.count("waiting"):  # checking costs no write transaction
            return None
        waiting = select(jobs).where(jobs.c.state == "waiting").order_by(jobs.c.number).limit(1)
        with self._database.write() as connection:
            row = connection.execute(waiting).first()
            if row is None:
                return None
            connection.execute(update(jobs).where(jobs.c.id == row.id).values(state="working", owner=owner))
        return _job_from_row(row)

    def report(self, job_id: str, owner: str, progress: Progress, results: Sequence[AddResult]) -> None:
        """Store the owner's progress, for other processes and for one that resumes the job later."""
        values = asdict(progress) | {"result": _encode_results(results)}
        with self._database.write() as connection:
            connection.execute(update(jobs).where(jobs.c.id == job_id, jobs.c.owner == owner).values(values))

    def finish(self, job_id: str, owner: str, state: JobState, results: Sequence[AddResult], spec: str = "") -> None:
        """End the owner's job, keeping `spec` for another attempt.

        Finished jobs of the person who submitted it are deleted beyond their newest 500.
        """
        mine = update(jobs).where(jobs.c.id == job_id, jobs.c.owner == owner, jobs.c.state == "working")
        this = jobs.alias()
        person = select(this.c.person).where(this.c.id == job_id).scalar_subquery()
        ended = jobs.c.state.in_(FINISHED_STATES) & (jobs.c.person == person)
        kept = select(jobs.c.number).where(ended).order_by(jobs.c.number.desc()).limit(_MAX_FINISHED_JOBS)
        with self._database.write() as connection:
            connection.execute(mine.values(state=state, result=_encode_results(results), spec=spec))
            connection.execute(delete(jobs).where(ended, jobs.c.number.not_in(kept)))

    def retry(self, job: Job) -> None:
        """Let a finished job wait again; what it has added stays in its results."""
        kept = [result for result in job.results if result.error is None]
        values = {"state": "waiting", "stage": "", "done": 0, "total": 0, "cancelled": 0}
        again = update(jobs).where(jobs.c.id == job.id, jobs.c.state.in_(FINISHED_STATES), self._visible(jobs))
        with self._database.write() as connection:
            connection.execute(again.values(**values, result=_encode_results(kept)))

    def cancel(self, job_ids: Collection[str]) -> list[str]:
        """Cancel waiting jobs and return their ids; ask the owners of running ones to stop."""
        chosen = update(jobs).where(jobs.c.id.in_(job_ids), self._visible(jobs))
        ended = chosen.where(jobs.c.state == "waiting").values(state="cancelled").returning(jobs.c.id)
        with self._database.write() as connection:
            connection.execute(chosen.where(jobs.c.state == "working").values(cancelled=1))
            return list(connection.scalars(ended))

    def cancelled(self, job_ids: Collection[str]) -> set[str]:
        """Return which of these jobs were cancelled or taken away."""
        wanted = select(jobs.c.id).where(jobs.c.id.in_(job_ids), jobs.c.cancelled == 0)
        with self._database.read() as connection:
            return set(job_ids) - set(connection.scalars(wanted))

    def dismiss(self, job_id: str | None = None) -> list[str]:
        """Delete one finished job, or all of them; return their ids."""
        chosen = [] if job_id is None else [jobs.c.id == job_id]
        finished = jobs.c.state.in_(FINISHED_STATES), self._visible(jobs)
        ended = delete(jobs).where(*finished, *chosen).returning(jobs.c.id)
        with self._database.write() as connection:
            return list(connection.scalars(ended))

    def release(self, owner: str) -> None:
        """Requeue the owner's unfinished jobs."""
        with self._database.write() as connection:
            _release_jobs(connection, owner)

    def give_up_paths(self, reason: Refusal) -> None:
        """End the unfinished jobs that may name a folder outside of the home; they can be tried again."""
        is_harmless = jobs.c.kind.in_(("upload", "address", "site"))
        unread = select(jobs).where(~is_harmless, jobs.c.state.not_in(FINISHED_STATES))
        with self._database.write() as connection:
            for job in [_job_from_row(row) for row in connection.execute(unread)]:
                _give_up(connection, job, reason)

    def recover(self) -> None:
        """Requeue jobs of dead processes; give up a job during which several processes died."""
        with self._database.read() as connection:
            owners = set(connection.scalars(select(jobs.c.owner).where(jobs.c.state == "working")))
            dead = [owner for owner in owners if not is_owner_alive(connection, owner)]
        for owner in dead:
            with self._database.write() as connection:
                _count_attempts(connection, owner)
                _release_jobs(connection, owner)


def _release_jobs(connection: Connection, owner: str) -> None:
    """Requeue the owner's running jobs; those marked as cancelled end instead."""
    mine = update(jobs).where(jobs.c.owner == owner, jobs.c.state == "working")
    connection.execute(mine.where(jobs.c.cancelled == 1).values(state="cancelled"))
    connection.execute(mine.values(state="waiting"))


def _count_attempts(connection: Connection, owner: str) -> None:
    """Count an interrupted attempt, because a file that crashes the process would do so at every start."""
    left = select(jobs).where(jobs.c.owner == owner, jobs.c.state == "working")
    for job in [_job_from_row(row) for row in connection.execute(left)]:
        attempts = job.options.get("attempts", 0) + 1
        values = {"options": json.dumps(job.options | {"attempts": attempts})}
        connection.execute(update(jobs).where(jobs.c.id == job.id).values(values))
        if attempts >= _MAX_ATTEMPTS:
            _give_up(connection, job, _GIVEN_UP_ERROR)


def _give_up(connection: Connection, job: Job, reason: Refusal) -> None:
    given_up = AddResult(job.name, None, job.name, "failed", error=reason)
    values = {"state": "failed", "result": _encode_results([*job.results, given_up])}
    connection.execute(update(jobs).where(jobs.c.id == job.id).values(values))


def new_job(job_id: str, kind: JobKind, spec: str, name: str, collection: str, **options: Any) -> Job:
    """Return a waiting job."""
    return Job(job_id, kind, spec, name, collection, time.time(), options)


def _encode_results(results: Sequence[AddResult]) -> str:
    return json.dumps([asdict(result) for result in results])


def _job_from_row(row: Row[Any]) -> Job:
    stage = row.state.capitalize() if row.state in FINISHED_STATES else row.stage or "Waiting"
    return Job(
        id=row.id,
        kind=row.kind,
        spec=row.spec,
        name=row.name,
        collection=row.collection,
        submitted_at=row.submitted_at,
        options=json.loads(row.options),
        state=row.state,
        progress=Progress(stage, row.done, row.total),
        results=tuple(_decode_result(entry) for entry in json.loads(row.result or "[]")),
        resumed=row.state == "waiting" and bool(row.owner),
        person=row.person,
    )


def _decode_result(entry: dict[str, Any]) -> AddResult:
    error = entry["error"]
    older = tuple(entry.get("older", ()))
    return AddResult(**entry | {"error": Refusal(**error) if error else None, "older": older})


JOB_ID = "[0-9a-f]{1,64}"
"""Regular expression of the ids of jobs, which are also the names of their uploads."""
_ABANDONED_SECONDS = 3600.0


class UploadSpool:
    """Folder of uploads, each stored under its job's id until all of it was added or its job was dismissed.

    Keeps uploads out of memory, and a restart does not lose them.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, job_id: str, data: bytes) -> None:
        """Store the bytes durably. Raises `HomeFault` if the disk refuses."""
        try:
            write_atomically(self._place(job_id), lambda file: file.write(data), self._folder.parent)
        except OSError as error:
            raise write_fault(error) from error

    def get(self, job_id: str) -> bytes | None:
        """Return the bytes of an upload, or None if the file was removed."""
        try:
            return self._place(job_id).read_bytes()
        except OSError:
            return None

    def holds(self, job_id: str) -> bool:
        """Return whether the upload is still there."""
        return self._place(job_id).is_file()

    def remove(self, job_id: str) -> None:
        """Delete an upload."""
        with suppress(OSError):  # Windows: another program may have it open; a later start removes it
            self._place(job_id).unlink(missing_ok=True)

    def keep_only(self, job_ids: Collection[str]) -> None:
        """Delete uploads of other jobs, except recent ones whose job may not be stored yet."""
        latest = time.time() - _ABANDONED_SECONDS
        for path in self._folder.glob("*"):
            with suppress(OSError):  # another process may clean up at the same time
                if path.name not in job_ids and path.stat().st_mtime < latest:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()

    def _place(self, job_id: str) -> Path:
        if not re.fullmatch(JOB_ID, job_id):
            raise ValueError("not the id of a job")
        return self._folder / job_id
