"""Background workers, and parallel mapping that stops as soon as it is cancelled."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from queue import SimpleQueue
from typing import TypeVar

from crag.cancellation import Cancellation
from crag.errors import CragError, Stopped

_IDLE_SECONDS = 1.0  # a thread that ended at once would be started for each of many requests in a row
_log = logging.getLogger(__name__)


class BackgroundWorker:
    """Thread that calls `work` whenever it is woken, and every `period` seconds if one is given. Thread-safe.

    Each call is one pass; there is never more than one at a time. Requests made before a pass begins share it; a
    request made during a pass leads to another one. An error of `work` is logged and does not end the worker. The
    thread exists only while there is something to do.
    """

    def __init__(self, name: str, work: Callable[[Cancellation], object], period: float | None = None) -> None:
        """Create the worker. `work` gets a cancellation, which is requested when the worker is closed."""
        self._name = name
        self._work = work
        self._period = period
        self._closing = Cancellation()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._is_open = False
        self._requested = self._begun = self._ended = 0

    def start(self) -> None:
        """Accept requests from now on. The first periodic pass comes after one period. Starting twice is harmless."""
        with self._changed:
            self._is_open = not self._closing.wait(0)
            if self._period is not None:
                self._ensure_thread()

    def wake(self) -> None:
        """Request a pass as soon as possible; does nothing before `start` and after `close`."""
        with self._changed:
            if self._is_open:
                self._requested += 1
                self._ensure_thread()
                self._changed.notify_all()

    @property
    def is_busy(self) -> bool:
        """Whether a requested pass has not ended."""
        return self._thread is not None and self._ended < self._requested

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until everything requested so far is done, at most `seconds`; return whether it is.

        What `close` dropped counts as done.
        """
        with self._changed:
            target = self._requested
            return self._changed.wait_for(lambda: self._thread is None or self._ended >= target, seconds)

    def close(self, seconds: float | None = None) -> None:
        """Cancel the running pass, drop all requests and wait for the thread to end, at most `seconds`."""
        self._closing.cancel()
        with self._changed:
            self._is_open, thread = False, self._thread
            self._changed.notify_all()
        if thread is not None and thread is not threading.current_thread():
            thread.join(seconds)

    def _ensure_thread(self) -> None:
        if self._is_open and self._thread is None:
            thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            thread.start()  # may fail for want of resources: the next request tries again
            self._thread = thread

    def _run(self) -> None:
        fault = ""
        while self._await_pass():
            try:
                self._work(self._closing)
                fault = ""
            except Stopped:
                pass
            except CragError as error:
                if fault != (fault := str(error)):  # once, however many passes meet it
                    _log.warning("%s: %s", self._name, error)
            except Exception:  # noqa: BLE001 — the thread must survive for the next pass
                _log.exception("%s failed", self._name)

    def _await_pass(self) -> bool:
        """Record the end of the last pass and wait for the next one; return False when the thread should end."""
        with self._changed:
            self._ended = self._begun
            self._changed.notify_all()
            timeout = _IDLE_SECONDS if self._period is None else self._period
            woken = self._changed.wait_for(lambda: not self._is_open or self._requested > self._begun, timeout)
            if not self._is_open or not (woken or self._period is not None):
                self._thread = None
                self._changed.notify_all()
                return False
            self._begun = self._requested
            return True


def run_in_background(name: str, work: Callable[[], object]) -> BackgroundWorker:
    """Call `work` once in a background thread, and return its worker to wait for."""

    def work_once(_closing: Cancellation) -> None:
        try:
            work()
        finally:
            worker.close()

    worker = BackgroundWorker(name, work_once)
    worker.start()
    worker.wake()
    return worker


Result = TypeVar("Result")


def map_parallel(
    work: Callable[[int], Result], count: int, workers: int, stop: Cancellation
) -> Iterator[tuple[int, Result]]:
    """Yield (index, `work(index)`) for `count` indexes in order of completion, with at most `workers` at a time.

    Raises whatever `work` raises. Raises `Stopped` at once; work already started then ends on its own.
    """
    stop.check()
    finished: SimpleQueue[Future[Result] | None] = SimpleQueue()
    pool = ThreadPoolExecutor(max_workers=max(1, min(workers, count)), thread_name_prefix="grading")
    try:
        with stop.on_cancel(lambda: finished.put(None)):
            indexes = {pool.submit(copy_context().run, work, index): index for index in range(count)}
            for future in indexes:
                future.add_done_callback(finished.put)
            for _ in indexes:
                done = finished.get()
                stop.check()
                if done is not None:
                    yield indexes[done], done.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


Item = TypeVar("Item")
Output = TypeVar("Output")
_ORDERED_WORKERS = 2  # while one document waits for its parser or the disk, the other is split and embedded


def map_in_order(
    work: Callable[[Item, Cancellation], Output],
    items: Iterable[Item],
    stop: Cancellation,
    workers: int = _ORDERED_WORKERS,
) -> Iterator[Output]:
    """Yield `work(item, stop)` for each item, in order, with at most `workers` at a time.

    Work in progress is cancelled and waited for when the caller stops iterating. Raises the error of the first item
    that fails.
    """
    own = Cancellation()
    waiting: deque[Future[Output]] = deque()
    with ThreadPoolExecutor(workers) as pool, stop.on_cancel(own.cancel):
        try:
            for item in items:
                waiting.append(pool.submit(copy_context().run, work, item, own))
                if len(waiting) > workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            own.cancel()
            pool.shutdown(cancel_futures=True)
