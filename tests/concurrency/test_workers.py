"""Work that overlaps comes back in order, and none of it goes on when nobody waits for it."""

from __future__ import annotations

import threading

import pytest

from crag.cancellation import Cancellation
from crag.concurrency.workers import map_in_order
from crag.errors import Stopped


def test_two_work_at_once_and_come_back_in_order() -> None:
    both = threading.Barrier(2, timeout=10)

    def work(item: int, _stop: Cancellation) -> int:
        both.wait()
        return item * 10

    assert list(map_in_order(work, range(6), Cancellation())) == [0, 10, 20, 30, 40, 50]


@pytest.mark.parametrize("abandon", [True, False])
def test_what_is_under_way_stops_with_who_waits_for_it(abandon: bool) -> None:
    stop = Cancellation()
    ended: list[int] = []

    def work(item: int, stop: Cancellation) -> int:
        if item:
            assert stop.wait(10)
            ended.append(item)
            stop.check()
        return item

    results = map_in_order(work, range(100), stop)
    assert next(results) == 0
    if abandon:
        results.close()
    else:
        stop.request()
        with pytest.raises(Stopped):
            next(results)
    assert set(ended) <= {1, 2, 3}


def test_the_first_failure_is_raised_after_what_came_before_it() -> None:
    def work(item: int, _stop: Cancellation) -> int:
        return 10 // (2 - item)

    results = map_in_order(work, range(9), Cancellation())
    assert [next(results), next(results)] == [5, 10]
    with pytest.raises(ZeroDivisionError):
        next(results)
