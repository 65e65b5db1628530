"""Two documents at a time: while one waits for its parser or for the disk, the other is cut and embedded."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from crag.stopping import Stop

T = TypeVar("T")
R = TypeVar("R")
_AT_ONCE = 2


def map_in_order(work: Callable[[T, Stop], R], items: Iterable[T], stop: Stop) -> Iterator[R]:
    """`work(item, stop)` for each item, in order of the items; what is under way is stopped when nobody waits for it.

    Raises what the first item raises that fails.
    """
    own = Stop()
    waiting: deque[Future[R]] = deque()
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
