"""Parallel ingest tasks with ordered results, cancelled by Ctrl-C."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from crag.app.application import Application
from crag.cancellation import Cancellation
from crag.cli.terminal import ProgressLines
from crag.concurrency.workers import run_in_background
from crag.errors import Stopped
from crag.ingest.intake import is_url, strip_credentials
from crag.ingest.site import SiteLimits
from crag.types import AddResult, ProgressCallback

_MAX_PARALLEL = 2
_POLL_SECONDS = 0.5  # Windows cannot interrupt a wait without a timeout


@dataclass(frozen=True, slots=True)
class IngestTask:
    """A document or address to add or refresh, with a short name. Tasks of one `place` run one after the other."""

    place: str
    name: str
    do: Callable[[ProgressCallback, Cancellation], Iterator[AddResult]]


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """Results of a task; `complete` is false if it was cancelled."""

    results: tuple[AddResult, ...]
    complete: bool


def create_add_task(application: Application, spec: str, collection: str, site: SiteLimits | None = None) -> IngestTask:
    """Create the task that adds a file, a folder, an archive or an address, with its site if limits are given."""

    def do(report: ProgressCallback, stop: Cancellation) -> Iterator[AddResult]:
        if site and is_url(spec):
            return application.library.pipeline.add_site(spec, site, collection=collection, progress=report, stop=stop)
        return application.library.pipeline.add(spec, collection=collection, progress=report, stop=stop)

    return IngestTask(spec, strip_credentials(spec) if is_url(spec) else Path(spec).name, do)


def run_tasks(tasks: Sequence[IngestTask], lines: ProgressLines, stop: Cancellation) -> Iterator[TaskOutcome]:
    """Yield the outcome of every task, in the given order. Raises `CragError`."""
    running: dict[str, Future[TaskOutcome]] = {}
    futures = []
    with ThreadPoolExecutor(_MAX_PARALLEL, thread_name_prefix="task") as pool:
        for task in tasks:
            running[task.place] = pool.submit(_run_task, task, running.get(task.place), lines, stop)
            futures.append(running[task.place])
        try:
            for future in futures:
                while not future.done():
                    wait([future], _POLL_SECONDS)
                yield future.result()
        except BaseException:  # cancel the other tasks on an error or when the caller stops reading
            stop.cancel()
            raise


@contextmanager
def cancel_on_signals() -> Iterator[Cancellation]:
    """Yield a cancellation that is requested on Ctrl-C or SIGTERM; a second signal ends the process as usual."""
    stop = Cancellation()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def request(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, before[signal.Signals(number)])
        # Not in the handler: the interrupted main thread may hold a lock of the cancellation.
        run_in_background("stop", stop.cancel)

    for number in before:
        signal.signal(number, request)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _run_task(
    task: IngestTask, earlier: Future[TaskOutcome] | None, lines: ProgressLines, stop: Cancellation
) -> TaskOutcome:
    if earlier:
        wait([earlier])
    results: list[AddResult] = []
    try:
        stop.check()
        with lines(task.name) as report:
            for result in task.do(report, stop):
                results.append(result)  # noqa: PERF402 — results before a cancellation are kept
    except Stopped:
        return TaskOutcome(tuple(results), complete=False)
    return TaskOutcome(tuple(results), complete=True)
