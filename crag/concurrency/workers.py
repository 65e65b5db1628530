"""Parallel mapping that stops as soon as it is cancelled."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from queue import SimpleQueue
from typing import TypeVar

from crag.cancellation import Cancellation

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
    work: Callable[[Item, Cancellation], Output], items: Iterable[Item], stop: Cancellation
) -> Iterator[Output]:
    """Yield `work(item, stop)` for each item, in order. Work in progress is cancelled when the caller stops iterating.

    Raises the error of the first item that fails.
    """
    own = Cancellation()
    waiting: deque[Future[Output]] = deque()
    with ThreadPoolExecutor(_ORDERED_WORKERS) as pool, stop.on_cancel(own.request):
        try:
            for item in items:
                waiting.append(pool.submit(work, item, own))
                if len(waiting) > _ORDERED_WORKERS:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            own.request()
            pool.shutdown(cancel_futures=True)
