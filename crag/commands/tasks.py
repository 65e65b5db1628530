"""Parallel ingest tasks with results in the given order, cancelled at once by Ctrl-C."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from crag.assembly import Application
from crag.commands.progress import Lines
from crag.errors import Stopped
from crag.library.adding.intake import is_address, without_password
from crag.library.web.site import SiteLimits
from crag.progress import Report
from crag.stopping import Stop
from crag.types import AddResult

_AT_ONCE = 2
_LOOK_SECONDS = 0.5  # Windows cannot interrupt a wait without a timeout


@dataclass(frozen=True, slots=True)
class Task:
    """A document or address to add or refresh, with a short name. Tasks of one `place` run one after the other."""

    place: str
    name: str
    do: Callable[[Report, Stop], Iterator[AddResult]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Results of a task; `complete` is false if it was cancelled."""

    results: tuple[AddResult, ...]
    complete: bool


def adding_task(application: Application, spec: str, collection: str, site: SiteLimits | None = None) -> Task:
    """Create the task that adds a file, a folder, an archive or an address, with its site if limits are given."""

    def do(report: Report, stop: Stop) -> Iterator[AddResult]:
        if site and is_address(spec):
            return application.library.add_site(spec, site, collection=collection, progress=report, stop=stop)
        return application.library.add(spec, collection=collection, progress=report, stop=stop)

    return Task(spec, without_password(spec) if is_address(spec) else Path(spec).name, do)


def run_tasks(tasks: Sequence[Task], lines: Lines, stop: Stop) -> Iterator[Outcome]:
    """Yield the outcome of every task, in the given order. Raises `CragError`."""
    running: dict[str, Future[Outcome]] = {}
    futures = []
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="task") as pool:
        for task in tasks:
            running[task.place] = pool.submit(_run, task, running.get(task.place), lines, stop)
            futures.append(running[task.place])
        try:
            for future in futures:
                while not future.done():
                    wait([future], _LOOK_SECONDS)
                yield future.result()
        except BaseException:  # cancel the other tasks on an error or when the caller stops reading
            stop.request()
            raise


@contextmanager
def stopped_by_signals() -> Iterator[Stop]:
    """Yield a cancellation that Ctrl-C and SIGTERM request; a second signal ends the process as usual."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def request(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, before[signal.Signals(number)])
        # Not in the handler: the interrupted main thread may hold a lock of the cancellation.
        threading.Thread(target=stop.request, name="stop").start()

    for number in before:
        signal.signal(number, request)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _run(task: Task, earlier: Future[Outcome] | None, lines: Lines, stop: Stop) -> Outcome:
    if earlier:
        wait([earlier])
    results: list[AddResult] = []
    try:
        stop.check()
        with lines(task.name) as report:
            for result in task.do(report, stop):
                results.append(result)  # noqa: PERF402 — results before a cancellation are kept
    except Stopped:
        return Outcome(tuple(results), complete=False)
    return Outcome(tuple(results), complete=True)
