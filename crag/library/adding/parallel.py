"""Ordered parallel mapping of two items at a time, so that one can wait while the other is processed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from crag.stopping import Stop

Item = TypeVar("Item")
Output = TypeVar("Output")
_AT_ONCE = 2  # while one document waits for its parser or the disk, the other is split and embedded


def map_in_order(work: Callable[[Item, Stop], Output], items: Iterable[Item], stop: Stop) -> Iterator[Output]:
    """Yield `work(item, stop)` for each item, in order. Work in progress is cancelled when the caller stops iterating.

    Raises the error of the first item that fails.
    """
    own = Stop()
    waiting: deque[Future[Output]] = deque()
    with ThreadPoolExecutor(_AT_ONCE) as pool, stop.breaking(own.request):
        try:
            for item in items:
                waiting.append(pool.submit(work, item, own))
                if len(waiting) > _AT_ONCE:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            own.request()
            pool.shutdown(cancel_futures=True)
