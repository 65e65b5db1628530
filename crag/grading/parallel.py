"""Parallel mapping in order of completion, which stops at once when cancelled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from queue import SimpleQueue
from typing import TypeVar

from crag.stopping import Stop

Result = TypeVar("Result")


def in_parallel(work: Callable[[int], Result], count: int, workers: int, stop: Stop) -> Iterator[tuple[int, Result]]:
    """Yield (index, `work(index)`) for `count` indexes in order of completion, with at most `workers` at a time.

    Raises whatever `work` raises. Raises `Stopped` at once; work already started then ends on its own.
    """
    stop.check()
    finished: SimpleQueue[Future[Result] | None] = SimpleQueue()
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
