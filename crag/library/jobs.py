"""Ingest jobs: documents added in the background, by any process that shares the home."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TypedDict

from crag.cancellation import Cancellation
from crag.concurrency.workers import BackgroundWorker
from crag.errors import CragError, DatabaseUnreachable, HomeFault, NotFound, SourceRefused, Stopped
from crag.ingest.intake import complete_url, strip_credentials
from crag.ingest.site import SiteLimits
from crag.library.job_queue import Job, JobKind, JobQueue, JobState, UploadSpool, new_job
from crag.library.library import Library
from crag.storage.engine import Database
from crag.storage.files import FileExchange
from crag.storage.shared_files import open_shared_files
from crag.storage.user_scope import UserScoped
from crag.text.sanitization import clean_display_name
from crag.types import AddResult, Progress, ProgressCallback, Refusal, is_account


class _AddOptions(TypedDict):
    """Keyword arguments shared by all methods that add."""

    collection: str
    progress: ProgressCallback
    stop: Cancellation


def run_job(
    library: Library, spool: FileExchange, job: Job, report: ProgressCallback, stop: Cancellation
) -> Iterator[AddResult]:
    """Add what the job names, for who submitted it; yield one result per file. Raises `CragError`, `Stopped`."""
    library = library.for_user(job.person or None)
    way: _AddOptions = {"collection": job.collection, "progress": report, "stop": stop}
    if job.kind == "upload":
        if (data := spool.get(job.id)) is None:
            raise SourceRefused("unreachable", "The upload no longer exists.", "Add it again.")
        for result in library.pipeline.add_upload(job.name, data, **way):
            older = library.namesakes(result.id) if result.id and result.status != "unchanged" else []
            yield replace(result, older=tuple(older))
    elif job.kind == "address":
        yield from library.pipeline.add_address(job.spec, found_by=job.options.get("found_by", ""), **way)
    elif job.kind == "site":
        yield from library.pipeline.add_site(job.spec, SiteLimits(**job.options["limits"]), **way)
    else:
        yield from library.pipeline.add_below(Path(job.spec), job.options["files"], **way)


def restore_added_status(result: AddResult, job: Job, library: Library, rows: JobQueue) -> AddResult:
    """Change *unchanged* back to *added* if this job added the file itself before it was interrupted.

    That is the case if the job had stored such a result, or if the source is newer than the job and no other job has
    claimed it.
    """
    if not job.resumed or result.status != "unchanged" or result.id is None:
        return result
    if earlier := next((kept for kept in job.results if kept.source == result.source), None):
        return earlier
    try:
        if library.source(result.id).added_at < job.submitted_at:
            return result
    except NotFound:
        return result
    others = rows.naming_source(result.id, besides=job)
    claimed = any(kept.id == result.id and kept.status != "unchanged" for other in others for kept in other.results)
    return result if claimed else replace(result, status="added")


_log = logging.getLogger(__name__)
_WORKER_THREADS = 2
_POLL_SECONDS = 0.5  # delay until a cancellation by another process is noticed
_POLLS_PER_RECOVERY = 6  # polls between two searches for jobs of dead processes
_REPORT_SECONDS = 1.0  # every report is a transaction that waits for the disk to sync
_REPORT_SHARE = 0.05  # of the time: a report of ten thousand results takes a while
_CLOSE_SECONDS = 5.0


@dataclass(slots=True)
class _RunningJob:
    """A job running in this process, more up to date than its database row."""

    job: Job
    stop: Cancellation = field(default_factory=Cancellation)
    cancelled: bool = False
    progress: Progress = field(default_factory=lambda: Progress("Starting"))
    results: list[AddResult] = field(default_factory=list)
    next_report_at: float = field(default_factory=lambda: time.monotonic() + _REPORT_SECONDS)

    def begin_again(self, stage: str) -> None:
        """Prepare for another attempt; what was added already stays in the results of the job."""
        self.job = replace(self.job, resumed=True, results=tuple(self.results))
        self.results.clear()
        self.progress = Progress(stage)

    def snapshot(self) -> Job:
        """Return the job in its current state."""
        return replace(self.job, state="working", progress=self.progress, results=tuple(self.results))


class JobWorkers:
    """Worker threads that claim waiting jobs, and a thread that watches for cancellations by other processes.

    Each claimed job ends as done, failed or cancelled, or waits again when the process closes.
    """

    def __init__(self, rows: JobQueue, spool: FileExchange, library: Library, process: str) -> None:
        self._rows = rows
        self._spool = spool
        self._library = library
        self._owner = f"{process}-{secrets.token_hex(4)}"
        self._lock = threading.Lock()
        self._tasks: dict[str, _RunningJob] = {}
        self._polls = 0
        self._watcher = BackgroundWorker("jobs-watch", lambda _: self._watch(), _POLL_SECONDS)
        self._workers = [
            BackgroundWorker(f"ingest-{number}", self._run_waiting_jobs) for number in range(_WORKER_THREADS)
        ]
        self._is_started = False
        self.on_end: Callable[[], object] = lambda: None

    def start(self) -> None:
        """Start the threads. Starting twice is harmless."""
        with self._lock:
            if self._is_started:
                return
            self._is_started = True
            for worker in (self._watcher, *self._workers):
                worker.start()
            self._watcher.wake()

    def wake(self) -> None:
        """Signal that a job is waiting."""
        for worker in self._workers:
            worker.wake()

    def running_jobs(self) -> dict[str, Job]:
        """Return the jobs of this process in their current state, by id."""
        with self._lock:
            return {job_id: task.snapshot() for job_id, task in self._tasks.items()}

    def cancel(self, job_ids: Collection[str]) -> None:
        """Cancel the given jobs that run in this process."""
        with self._lock:
            chosen = [task for job_id, task in self._tasks.items() if job_id in job_ids]
        for task in chosen:
            task.cancelled = True
            task.stop.cancel()

    def close(self) -> None:
        """Stop the threads and release unfinished jobs for the next process."""
        self._watcher.wait(_CLOSE_SECONDS)  # even the shortest process cleans up once
        for worker in (self._watcher, *self._workers):
            worker.close(0)
        for worker in (self._watcher, *self._workers):
            worker.close(_CLOSE_SECONDS)
        if self._is_started:
            self._rows.release(self._owner)

    def _watch(self) -> None:
        """Poll for cancellations and dead processes, and clean up the spool once."""
        polls, self._polls = self._polls, self._polls + 1
        if polls == 0:
            self._spool.keep_only({job.id for job in self._rows.all() if not job.finished or job.has_failed})
        if polls % _POLLS_PER_RECOVERY == 0:
            self._rows.recover()
            if self._rows.count("waiting"):
                self.wake()
        self._cancel_requested()

    def _cancel_requested(self) -> None:
        """Cancel jobs of this process that another process has cancelled."""
        with self._lock:
            own = set(self._tasks)
        if own:
            self.cancel(self._rows.cancelled(own))

    def _run_waiting_jobs(self, closing: Cancellation) -> None:
        """Run waiting jobs until none is left, then save the index if no process has work."""
        while not closing.wait(0) and (job := self._rows.claim(self._owner)):
            task = _RunningJob(job)
            with self._lock:
                self._tasks[job.id] = task
            try:
                with closing.on_cancel(task.stop.cancel):
                    if state := self._add(task, closing):
                        self._end(task, state, closing)
                    else:
                        self._report(task)
            finally:
                with self._lock:
                    del self._tasks[job.id]
        if not self._rows.count("waiting", "working"):
            self._library.save()

    def _add(self, task: _RunningJob, closing: Cancellation) -> JobState | None:
        """Run the job and return its final state, or None if it was interrupted because this process closes."""
        while True:
            try:
                self._add_all(task)
            except Stopped:
                return "cancelled" if task.cancelled else None
            except DatabaseUnreachable:  # it may be restarted just now
                task.begin_again("Waiting for the database")
                if closing.wait(_REPORT_SECONDS):
                    return None
                continue
            except CragError as error:
                self._fail(task, error.code, str(error))
            except Exception:  # noqa: BLE001 — a dead worker would block all later jobs
                _log.exception("Unexpected error while adding a document")
                self._fail(task, "corrupt", "Something unexpected went wrong. Nothing was added.")
            return "failed" if all(result.error for result in task.results) else "done"

    def _add_all(self, task: _RunningJob) -> None:
        def report(progress: Progress) -> None:
            task.progress = progress
            if time.monotonic() > task.next_report_at:
                self._report(task)

        task.stop.check()
        for result in run_job(self._library, self._spool, task.job, report, task.stop):
            task.results.append(restore_added_status(result, task.job, self._library, self._rows))

    def _report(self, task: _RunningJob) -> None:
        began = time.monotonic()
        with suppress(HomeFault):  # failing to store progress must not fail the document
            self._rows.report(task.job.id, self._owner, task.progress, task.results)
        now = time.monotonic()
        task.next_report_at = now + max(_REPORT_SECONDS, (now - began) / _REPORT_SHARE)

    def _end(self, task: _RunningJob, state: JobState, closing: Cancellation) -> None:
        """Store the final state; retry while the disk refuses."""
        while True:
            try:
                self._rows.finish(task.job.id, self._owner, state, task.results, _spec_to_keep(task, state))
                break
            except HomeFault:
                task.progress = Progress("Waiting for the disk")
                if closing.wait(_REPORT_SECONDS):
                    return
        if state == "cancelled" or not any(result.error for result in task.results):
            self._spool.remove(task.job.id)
        self.on_end()

    def _fail(self, task: _RunningJob, code: str, message: str) -> None:
        name = task.job.name
        task.results.append(AddResult(name, None, name, "failed", error=Refusal(code, message)))


def _spec_to_keep(task: _RunningJob, state: JobState) -> str:
    """Return the URL or path for another attempt: none without a failure, and no URL with a password."""
    spec = task.job.spec
    is_kept = state != "cancelled" and any(result.error for result in task.results)
    return spec if is_kept and spec == strip_credentials(spec) else ""


class IngestJobs(UserScoped):
    """Adds submitted documents in the background, two at a time per process. Safe to share between threads.

    Jobs outlive the process: any process on the home can take them over. No job starts before `resume`, which every
    submission calls. Every method raises `HomeFault`, and `BadRequest` for a collection that the user may not add to;
    without one, it is the default of the user.
    """

    def __init__(self, database: Database, library: Library) -> None:
        self._library = library
        self._rows = JobQueue(database)
        self._spool = open_shared_files(database, "upload") or UploadSpool(library.home / "incoming")
        self._workers = JobWorkers(self._rows, self._spool, library, database.owner_name())
        self.check_limit: Callable[[str | None], object] = lambda _: None  # raises `BadRequest` if a user adds too much

    def submit_bytes(self, name: str, data: bytes, collection: str = "") -> str:
        """Submit an upload and return the job's id. The bytes are durably stored when this returns."""
        target = self.admit(collection)
        job = new_job(secrets.token_hex(6), "upload", "", clean_display_name(name), target)
        self._spool.put(job.id, data)
        return self._submit(job)

    def submit_url(self, url: str, collection: str = "", *, found_by: str = "") -> str:
        """Submit a URL and return the job's id; `https://` is assumed if it is missing.

        `found_by` is the question whose web search found it, if any.
        """
        url = complete_url(url)
        options = {"found_by": found_by} if found_by else {}
        target = self.admit(collection)
        return self._submit(_new_named_job("address", url, strip_credentials(url), target, **options))

    def submit_site(self, url: str, limits: SiteLimits, collection: str = "") -> str:
        """Submit a site and return the job's id. Every page within the limits gets a result."""
        url = complete_url(url)
        target = self.admit(collection)
        return self._submit(_new_named_job("site", url, strip_credentials(url), target, limits=asdict(limits)))

    def submit_files(self, folder: Path, files: Mapping[str, object], collection: str = "") -> str:
        """Submit files by their path below a folder and return the job's id; the mapped details are stored with it."""
        target = self.admit(collection)
        job = _new_named_job("files", str(folder), clean_display_name(folder.name), target, files=dict(files))
        return self._submit(job)

    def jobs(self) -> list[Job]:
        """Return all jobs that were not dismissed, of every process, oldest first."""
        own = self._workers.running_jobs()
        return [own.get(job.id, job) if not job.finished else job for job in self._rows.all()]

    def job(self, job_id: str) -> Job | None:
        """Return the job with this id, or None if the user has none."""
        stored = self._rows.get(job_id)
        return stored if stored is None or stored.finished else self._workers.running_jobs().get(job_id, stored)

    def unfinished(self, job_ids: Collection[str]) -> set[str]:
        """Return which of these jobs are waiting or running."""
        return self._rows.unfinished(job_ids) if job_ids else set()

    def notify_on_end(self, listener: Callable[[], object]) -> None:
        """Call `listener` whenever a job has ended or was cancelled in this process."""
        self._workers.on_end = listener

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

    def can_retry(self, job: Job) -> bool:
        """Return whether what failed of a job can be added again: its file, path or address is still known."""
        return job.has_failed and (bool(job.spec) or self._spool.holds(job.id))

    def retry(self, job_id: str) -> None:
        """Run a failed job again; files that it has added already stay as they are. Ignores a job that cannot be."""
        job = next((job for job in self._rows.all() if job.id == job_id), None)
        if job is not None and self.can_retry(job):
            self._rows.retry(job)
            self.resume()
            self._workers.wake()

    def dismiss(self, job_id: str) -> None:
        """Delete a finished job from the list, and an upload kept for another attempt."""
        self._remove_uploads(self._rows.dismiss(job_id))

    def dismiss_finished(self) -> None:
        """Delete every finished job from the list, and the uploads kept for another attempt."""
        self._remove_uploads(self._rows.dismiss())

    def close(self) -> None:
        """Stop working; unfinished jobs wait for the next process that calls `resume`."""
        self._workers.close()

    def admit(self, collection: str) -> str:
        """Return the collection to add to, and count the addition; without accounts, a bad name fails in the job.

        Raises `BadRequest`, also if the user has added too much.
        """
        self.check_limit(self._user)
        if collection and not is_account(self._user):
            return collection
        return self._library.find_target(collection)

    def _submit(self, job: Job) -> str:
        try:
            self._rows.add(job)
        except BaseException:
            self._spool.remove(job.id)
            raise
        self.resume()
        self._workers.wake()
        return job.id

    def _cancel(self, job_ids: Collection[str]) -> None:
        """Cancel this process's workers first: the database may be busy storing what they add."""
        job_ids = self._rows.unfinished(job_ids)
        self._workers.cancel(job_ids)
        self._remove_uploads(self._rows.cancel(job_ids))
        self._workers.on_end()

    def _remove_uploads(self, job_ids: Sequence[str]) -> None:
        for job_id in job_ids:
            self._spool.remove(job_id)


def _new_named_job(kind: JobKind, spec: str, name: str, collection: str, **options: object) -> Job:
    return new_job(secrets.token_hex(6), kind, spec, name, collection, **options)
