"""Worker threads of the ingest jobs of one process."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field, replace

from crag.errors import CragError, HomeFault, Stopped
from crag.library.jobs.rows import Job, JobRows, JobState
from crag.library.jobs.spool import Spool
from crag.library.jobs.work import add_all, as_first_told
from crag.library.library import Library
from crag.processes import this_process
from crag.stopping import Stop
from crag.types import AddResult, Progress, Refusal

_log = logging.getLogger(__name__)
_WORKERS = 2
_LOOK_SECONDS = 0.5  # delay until a cancellation by another process is noticed
_RECOVER_EVERY = 6  # polls between two searches for jobs of dead processes
_REPORT_SECONDS = 1.0  # every report is a transaction that waits for the disk to sync
_CLOSE_SECONDS = 5.0


@dataclass(slots=True)
class _Task:
    """A job running in this process, more up to date than its database row."""

    job: Job
    stop: Stop = field(default_factory=Stop)
    cancelled: bool = False
    progress: Progress = field(default_factory=lambda: Progress("Starting"))
    results: list[AddResult] = field(default_factory=list)
    reported_at: float = field(default_factory=time.monotonic)

    def seen(self) -> Job:
        """Return the job in its current state."""
        return replace(self.job, state="working", progress=self.progress, results=tuple(self.results))


class JobWorkers:
    """Worker threads that claim waiting jobs, and a thread that watches for cancellations by other processes.

    Each claimed job ends as done, failed or cancelled, or waits again when the process closes.
    """

    def __init__(self, rows: JobRows, spool: Spool, library: Library) -> None:
        self._rows = rows
        self._spool = spool
        self._library = library
        self._owner = f"{this_process()}-{secrets.token_hex(4)}"
        self._lock = threading.Lock()
        self._tasks: dict[str, _Task] = {}
        self._threads: list[threading.Thread] = []
        self._work = threading.Semaphore(0)
        self._closing = threading.Event()

    def start(self) -> None:
        """Start the threads. Starting twice is harmless."""
        with self._lock:
            if self._threads:
                return
            self._threads = [threading.Thread(target=self._watch, name="jobs-watch", daemon=True)]
            for number in range(_WORKERS):
                self._threads.append(threading.Thread(target=self._serve, name=f"ingest-{number}", daemon=True))
            for thread in self._threads:
                thread.start()

    def wake(self) -> None:
        """Signal that a job is waiting."""
        self._work.release()

    def at_work(self) -> dict[str, Job]:
        """Return the jobs of this process in their current state, by id."""
        with self._lock:
            return {job_id: task.seen() for job_id, task in self._tasks.items()}

    def cancel(self, job_ids: Collection[str]) -> None:
        """Cancel those of these jobs that run in this process."""
        with self._lock:
            chosen = [task for job_id, task in self._tasks.items() if job_id in job_ids]
        for task in chosen:
            task.cancelled = True
            task.stop.request()

    def close(self) -> None:
        """Stop the threads and release unfinished jobs for the next process."""
        self._closing.set()
        with self._lock:
            tasks, threads = list(self._tasks.values()), self._threads
        for task in tasks:
            task.stop.request()
        for _ in threads:
            self._work.release()
        for thread in threads:
            thread.join(timeout=_CLOSE_SECONDS)
        if threads:
            self._rows.release(self._owner)

    def _watch(self) -> None:
        """Poll for cancellations and dead processes, and clean up the spool once."""
        polls = 0
        while True:
            try:
                if polls == 0:
                    self._spool.keep_only({job.id for job in self._rows.all() if not job.finished})
                if polls % _RECOVER_EVERY == 0:
                    self._recover()
                self._look()
            except HomeFault:
                _log.warning("The jobs cannot be looked at; trying again")
            polls += 1
            if self._closing.wait(_LOOK_SECONDS):
                return

    def _recover(self) -> None:
        """Requeue jobs left behind by dead processes."""
        self._rows.recover()
        if self._rows.count("waiting"):
            for _ in range(_WORKERS):
                self._work.release()

    def _look(self) -> None:
        """Cancel jobs of this process that another process has cancelled."""
        with self._lock:
            own = set(self._tasks)
        if own:
            self.cancel(self._rows.cancelled(own))

    def _serve(self) -> None:
        while not self._closing.is_set():
            self._work.acquire()
            try:
                self._work_off()
            except HomeFault:
                _log.warning("The jobs cannot be gone on with; trying again")

    def _work_off(self) -> None:
        """Run waiting jobs until none is left, then save the index if no process has work."""
        while not self._closing.is_set() and (job := self._rows.claim(self._owner)):
            task = _Task(job)
            with self._lock:
                self._tasks[job.id] = task
                if self._closing.is_set():  # claimed while this process began to close
                    task.stop.request()
            try:
                self._work_on(task)
            finally:
                with self._lock:
                    del self._tasks[job.id]
        if not self._rows.count("waiting", "working"):
            self._library.save()

    def _work_on(self, task: _Task) -> None:
        if state := self._add(task):
            self._end(task, state)
        else:
            self._report(task)

    def _add(self, task: _Task) -> JobState | None:
        """Run the job and return its final state, or None if it was interrupted because this process closes."""
        try:
            self._add_all(task)
        except Stopped:
            return "cancelled" if task.cancelled else None
        except CragError as error:
            self._fail(task, error.code, str(error))
        except Exception:  # noqa: BLE001 — a dead worker would block all later jobs
            _log.exception("A document could not be added in a way nobody foresaw")
            self._fail(task, "corrupt", "Something unexpected went wrong, and nothing of it was stored.")
        return "failed" if all(result.error for result in task.results) else "done"

    def _add_all(self, task: _Task) -> None:
        def report(progress: Progress) -> None:
            task.progress = progress
            if time.monotonic() - task.reported_at > _REPORT_SECONDS:
                self._report(task)

        task.stop.check()
        for result in add_all(self._library, self._spool, task.job, report, task.stop):
            others = self._rows.all() if task.job.resumed else []
            task.results.append(as_first_told(result, task.job, self._library, others))

    def _report(self, task: _Task) -> None:
        with suppress(HomeFault):  # failing to store progress must not fail the document
            self._rows.report(task.job.id, self._owner, task.progress, task.results)
        task.reported_at = time.monotonic()

    def _end(self, task: _Task, state: JobState) -> None:
        """Store the final state; retry while the disk refuses."""
        while True:
            try:
                self._rows.finish(task.job.id, self._owner, state, task.results)
                break
            except HomeFault:
                task.progress = Progress("Waiting for the disk")
                if self._closing.wait(_REPORT_SECONDS):
                    return
        self._spool.remove(task.job.id)

    def _fail(self, task: _Task, code: str, message: str) -> None:
        name = task.job.name
        task.results.append(AddResult(name, None, name, "failed", error=Refusal(code, message)))
