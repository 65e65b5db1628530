"""A queue of runs: the expected wait, and a turn that ends early. Queues of models are tested with the models."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager

import pytest

from crag.cancellation import Cancellation, WaitReporter
from crag.concurrency.request_queue import RequestQueue
from crag.errors import Stopped
from tests.waiting import PATIENCE, wait_until


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(20) as threads:
        yield threads


class Turns:
    """Runs in a queue with one place, in threads that keep their turn until they are let go."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self.queue, self._pool = RequestQueue("processor"), pool

    def take(self, stop: Cancellation) -> tuple[threading.Event, threading.Event, Future[None]]:
        """Events for the beginning of the turn, and to end it."""
        begun, ending = threading.Event(), threading.Event()

        def work() -> None:
            with self.queue.take_turn(stop, limit=lambda: 1):
                begun.set()
                ending.wait(PATIENCE)

        return begun, ending, self._pool.submit(work)


def test_expected_wait_follows_from_the_turns_before_and_shrinks(pool: ThreadPoolExecutor) -> None:
    turns, stops = Turns(pool), [Cancellation() for _ in range(3)]
    runs = []
    for n, stop in enumerate(stops):
        runs.append(turns.take(stop))
        wait_until(lambda n=n, stop=stop: stop.list_waits() if n else runs[0][0].is_set())  # type: ignore[misc]
    assert stops[2].list_waits()[0].seconds_left is None  # no turn has ended yet
    runs[0][1].set()
    wait_until(runs[1][0].is_set)
    (wait,) = stops[2].list_waits()
    assert wait.place == 1
    took = wait.seconds_left
    later = Cancellation()
    runs.append(turns.take(later))
    wait_until(later.list_waits)
    assert took is not None
    assert (expected := later.list_waits()[0].seconds_left) is not None
    assert expected >= 2 * took  # two turns like the one before, or longer, as the present one goes on
    for _, ending, _ in runs:
        ending.set()
    for *_, done in runs:
        done.result(PATIENCE)


def test_a_run_that_ends_its_turn_early_makes_room(pool: ThreadPoolExecutor) -> None:
    turns, first, second = Turns(pool), Cancellation(), Cancellation()
    _, end_first, first_done = turns.take(first)
    begun, end_second, second_done = turns.take(second)
    wait_until(second.list_waits)
    turns.queue.end_turns(first)
    assert begun.wait(PATIENCE)
    turns.queue.end_turns(first)
    end_first.set()
    end_second.set()
    first_done.result(PATIENCE)
    second_done.result(PATIENCE)


def test_a_run_does_not_say_that_it_waits_for_itself(pool: ThreadPoolExecutor) -> None:
    turns, stop, other = Turns(pool), Cancellation(), Cancellation()
    begun, end_first, _ = turns.take(stop)
    assert begun.wait(PATIENCE)
    _, end_second, _ = turns.take(stop)
    wait_until(lambda: turns.queue._line)
    assert stop.list_waits() == []
    _, end_other, _ = turns.take(other)
    wait_until(other.list_waits)
    for ending in (end_first, end_second, end_other):
        ending.set()


def test_a_run_whose_turn_came_while_somebody_asks_waits_for_nothing(pool: ThreadPoolExecutor) -> None:
    class Asked(Cancellation):
        def report_wait(self, reporter: WaitReporter) -> AbstractContextManager[None]:
            self.reporter = reporter
            return super().report_wait(reporter)

    turns, first, second = Turns(pool), Cancellation(), Asked()
    begun_first, end_first, _ = turns.take(first)
    wait_until(begun_first.is_set)
    begun, end_second, ended = turns.take(second)
    wait_until(second.list_waits)
    end_first.set()
    end_second.set()
    ended.result(PATIENCE)
    assert begun.is_set()
    assert second.reporter() is None


def test_a_run_that_is_stopped_while_it_waits_never_has_its_turn(pool: ThreadPoolExecutor) -> None:
    turns, first, second = Turns(pool), Cancellation(), Cancellation()
    begun_first, end_first, _ = turns.take(first)
    wait_until(begun_first.is_set)
    begun, _, ended = turns.take(second)
    wait_until(second.list_waits)
    second.cancel()
    with pytest.raises(Stopped):
        ended.result(PATIENCE)
    assert not begun.is_set()
    end_first.set()
