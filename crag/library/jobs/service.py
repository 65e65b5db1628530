"""Ingest jobs: documents added in the background, by any process that shares the home."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from crag.database import Database
from crag.library.adding.intake import without_password
from crag.library.cleaning import display_name
from crag.library.jobs.rows import Job, JobKind, JobRows, new_job
from crag.library.jobs.spool import Spool
from crag.library.jobs.workers import JobWorkers
from crag.library.library import Library
from crag.library.web.site import SiteLimits
from crag.types import DEFAULT_COLLECTION


class IngestJobs:
    """Adds submitted documents in the background, two at a time per process. Safe to share between threads.

    Jobs outlive the process: any process on the home can take them over. No job starts before `resume`, which every
    submission calls. Every method raises `HomeFault`.
    """

    def __init__(self, database: Database, library: Library) -> None:
        self._rows = JobRows(database)
        self._spool = Spool(library.home / "incoming")
        self._workers = JobWorkers(self._rows, self._spool, library)

    def submit_bytes(self, name: str, data: bytes, collection: str = DEFAULT_COLLECTION) -> str:
        """Submit an upload and return the job's id. The bytes are durably stored when this returns."""
        job = new_job(secrets.token_hex(6), "upload", "", display_name(name), collection)
        self._spool.put(job.id, data)
        return self._submit(job)

    def submit_url(self, url: str, collection: str = DEFAULT_COLLECTION, *, found_by: str = "") -> str:
        """Submit a URL and return the job's id. `found_by` is the question whose web search found it, if any."""
        options = {"found_by": found_by} if found_by else {}
        return self._submit(_named("address", url, without_password(url.strip()), collection, **options))

    def submit_site(self, url: str, limits: SiteLimits, collection: str = DEFAULT_COLLECTION) -> str:
        """Submit a site and return the job's id. Every page within the limits gets a result."""
        name = without_password(url.strip())
        return self._submit(_named("site", url, name, collection, limits=asdict(limits)))

    def submit_path(self, path: Path, collection: str = DEFAULT_COLLECTION) -> str:
        """Submit a file or folder and return the job's id. Every file below a folder gets a result."""
        return self._submit(_named("path", str(path.expanduser().absolute()), display_name(path.name), collection))

    def jobs(self) -> list[Job]:
        """Return all jobs that were not dismissed, of every process, oldest first."""
        own = self._workers.at_work()
        return [own.get(job.id, job) if not job.finished else job for job in self._rows.all()]

    @property
    def active(self) -> bool:
        """Whether any job is waiting or running."""
        return self._rows.count("waiting", "working") > 0

    def resume(self) -> None:
        """Start working, also on unfinished jobs of processes that have ended or will die later."""
        self._workers.start()

    def cancel(self, job_id: str) -> None:
        """Cancel one job of any process; nothing more of it is stored, unless its commit was already made."""
        self._cancel([job_id])

    def cancel_all(self) -> None:
        """Cancel every job that is waiting or running."""
        self._cancel([job.id for job in self.jobs() if not job.finished])

    def dismiss(self, job_id: str) -> None:
        """Delete a finished job from the list."""
        self._rows.dismiss(job_id)

    def dismiss_finished(self) -> None:
        """Delete every finished job from the list."""
        self._rows.dismiss()

    def close(self) -> None:
        """Stop working; unfinished jobs wait for the next process that calls `resume`."""
        self._workers.close()

    def _submit(self, job: Job) -> str:
        try:
            self._rows.add(job)
        except BaseException:
            self._spool.remove(job.id)
            raise
        self.resume()
        self._workers.wake()
        return job.id

    def _cancel(self, job_ids: Sequence[str]) -> None:
        """Cancel this process's workers first: the database may be busy storing what they add."""
        self._workers.cancel(job_ids)
        for job_id in self._rows.cancel(job_ids):
            self._spool.remove(job_id)


def _named(kind: JobKind, spec: str, name: str, collection: str, **options: object) -> Job:
    return new_job(secrets.token_hex(6), kind, spec, name, collection, **options)
