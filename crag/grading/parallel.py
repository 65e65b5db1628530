"""Runs one piece of work for each passage at once and hands results out as they come; stops at once when asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from queue import SimpleQueue
from typing import TypeVar

from crag.stopping import Stop

T = TypeVar("T")


def in_parallel(work: Callable[[int], T], count: int, workers: int, stop: Stop) -> Iterator[tuple[int, T]]:
    """(index, `work(index)`) for `count` indexes in the order of completion, `workers` of them at a time.

    What `work` raises is raised here. Raises `Stopped`; work already begun then ends on its own.
    """
    stop.check()
    finished: SimpleQueue[Future[T] | None] = SimpleQueue()
    pool = ThreadPoolExecutor(max_workers=max(1, min(workers, count)), thread_name_prefix="grading")
    try:
        with stop.breaking(lambda: finished.put(None)):
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
