"""Adding in the background: a queue that the screen can watch, with two workers."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from typing import Literal

from crag.errors import CragError, Stopped
from crag.library.cleaning import display_name
from crag.library.intake import without_password
from crag.library.library import Library
from crag.library.reading import Report
from crag.library.spool import Spool
from crag.stopping import Stop
from crag.types import DEFAULT_COLLECTION, AddResult, Progress, Refusal

JobState = Literal["waiting", "working", "done", "failed", "cancelled"]
_FINISHED = ("done", "failed", "cancelled")
_WORKERS = 2
_Work = Callable[[Report, Stop], AddResult]


@dataclass(frozen=True, slots=True)
class Job:
    """One file or address on its way into the library."""

    id: str
    name: str
    collection: str
    state: JobState = "waiting"
    progress: Progress = field(default_factory=lambda: Progress("Waiting"))
    result: AddResult | None = None

    @property
    def finished(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.state in _FINISHED


@dataclass(slots=True)
class _Task:
    work: _Work
    clean_up: Callable[[], None]
    stop: Stop = field(default_factory=Stop)


class IngestJobs:
    """Adds what is submitted, two at a time. Jobs live in memory; what was added is in the library."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._spool = Spool(library.home / "incoming")
        self._lock = threading.Lock()
        self._jobs: dict[str, Job] = {}
        self._tasks: dict[str, _Task] = {}
        self._queue: SimpleQueue[str | None] = SimpleQueue()
        self._workers = [threading.Thread(target=self._serve, name=f"ingest-{n}", daemon=True) for n in range(_WORKERS)]
        for worker in self._workers:
            worker.start()

    def submit_bytes(self, name: str, data: bytes, collection: str = DEFAULT_COLLECTION) -> str:
        """The job's id. The bytes are on disk when this returns. Raises `HomeFault` when the disk refuses."""
        path = self._spool.put(data)

        def work(report: Report, stop: Stop) -> AddResult:
            return self._library.add_bytes(name, path.read_bytes(), collection=collection, progress=report, stop=stop)

        return self._submit(display_name(name), collection, work, lambda: path.unlink(missing_ok=True))

    def submit_url(self, url: str, collection: str = DEFAULT_COLLECTION) -> str:
        """The job's id."""
        return self._submit(
            without_password(url.strip()),
            collection,
            lambda report, stop: self._library.add_url(url, collection=collection, progress=report, stop=stop),
        )

    def jobs(self) -> list[Job]:
        """All jobs that were not dismissed, oldest first."""
        with self._lock:
            return list(self._jobs.values())

    @property
    def active(self) -> bool:
        """Whether any job waits or works."""
        return any(not job.finished for job in self.jobs())

    def cancel(self, job_id: str) -> None:
        """Stops one job; nothing of it will be stored, unless its commit was already made."""
        with self._lock:
            task, job = self._tasks.get(job_id), self._jobs.get(job_id)
            if job and job.state == "waiting":
                self._jobs[job_id] = replace(job, state="cancelled", progress=Progress("Cancelled"))
        if task:
            task.stop.request()

    def cancel_all(self) -> None:
        """Stops every job that waits or works."""
        for job in self.jobs():
            self.cancel(job.id)

    def dismiss(self, job_id: str) -> None:
        """Forgets a finished job."""
        with self._lock:
            if (job := self._jobs.get(job_id)) and job.finished:
                del self._jobs[job_id]

    def dismiss_finished(self) -> None:
        """Forgets every finished job."""
        for job in self.jobs():
            self.dismiss(job.id)

    def close(self) -> None:
        """Cancels everything and waits a moment for the workers."""
        self.cancel_all()
        for _ in self._workers:
            self._queue.put(None)
        for worker in self._workers:
            worker.join(timeout=5)
        self._spool.close()

    def _submit(self, name: str, collection: str, work: _Work, clean_up: Callable[[], None] = lambda: None) -> str:
        job = Job(secrets.token_hex(6), name, collection)
        with self._lock:
            self._jobs[job.id] = job
            self._tasks[job.id] = _Task(work, clean_up)
        self._queue.put(job.id)
        return job.id

    def _serve(self) -> None:
        while (job_id := self._queue.get()) is not None:
            self._run(job_id)
            if not self.active:
                self._library.save()

    def _run(self, job_id: str) -> None:
        task = self._tasks[job_id]
        try:
            task.stop.check()
            self._change(job_id, state="working", progress=Progress("Starting"))
            result = task.work(lambda progress: self._change(job_id, progress=progress), task.stop)
            state: JobState = "failed" if result.status == "failed" else "done"
            self._change(job_id, state=state, progress=Progress("Done"), result=result)
        except Stopped:
            self._change(job_id, state="cancelled", progress=Progress("Cancelled"))
        except CragError as error:
            self._fail(job_id, error.code, str(error))
        except Exception:  # noqa: BLE001 — a worker that dies would take all later jobs with it
            self._fail(job_id, "corrupt", "Something unexpected went wrong, and nothing of it was stored.")
        finally:
            task.clean_up()
            with self._lock:
                del self._tasks[job_id]

    def _fail(self, job_id: str, code: str, message: str) -> None:
        with self._lock:
            name = self._jobs[job_id].name
        result = AddResult(name, None, name, "failed", error=Refusal(code, message))
        self._change(job_id, state="failed", progress=Progress("Failed"), result=result)

    def _change(
        self,
        job_id: str,
        *,
        progress: Progress,
        state: JobState | None = None,
        result: AddResult | None = None,
    ) -> None:
        with self._lock:
            if job := self._jobs.get(job_id):
                self._jobs[job_id] = replace(job, progress=progress, state=state or job.state, result=result)
