"""Turns: a semaphore with priorities, and the processor that drawing and runs share through it."""

from __future__ import annotations

import threading
from contextlib import ExitStack, suppress

import pytest

from crag.cancellation import Wait
from crag.concurrency.processor import PrioritySemaphore, drawing_turns, max_computing_runs
from tests.waiting import PATIENCE, wait_until

LONG = 30.0


class Worker:
    """A thread that holds the semaphore and computes until it is released."""

    def __init__(self, semaphore: PrioritySemaphore, priority: int, timeout: float) -> None:
        self.computes, self.done = threading.Event(), threading.Event()
        self._release = threading.Event()
        self._hold = lambda: semaphore.hold(priority, timeout)
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _work(self) -> None:
        with self._hold():
            self.computes.set()
            self._release.wait(LONG)
        self.done.set()

    def release(self) -> None:
        self._release.set()
        self._thread.join(LONG)


@pytest.fixture
def waiting():
    """A semaphore for one thread, and what adds workers that compute or wait for it, in the order they came."""
    semaphore = PrioritySemaphore(permits=1)
    with ExitStack() as workers:

        def add(priority: int, timeout: float = LONG) -> Worker:
            before = len(semaphore._waiting)  # nothing else shows that a thread waits
            worker = Worker(semaphore, priority, timeout)
            workers.callback(worker.release)
            wait_until(lambda: worker.computes.is_set() or len(semaphore._waiting) > before)
            return worker

        yield semaphore, add


def test_the_most_urgent_computes_next_and_among_equals_the_first_to_come(waiting):
    _, add = waiting
    first, redraw, click, second_click = add(1), add(1), add(0), add(0)
    assert first.computes.is_set()
    assert not any(worker.computes.is_set() for worker in (redraw, click, second_click))
    first.release()
    assert click.computes.wait(LONG)
    assert not second_click.computes.is_set()
    click.release()
    assert second_click.computes.wait(LONG)
    assert not redraw.computes.is_set()
    second_click.release()
    assert redraw.computes.wait(LONG)


def test_a_thread_that_gives_way_goes_on_after_more_urgent_ones(waiting):
    semaphore, add = waiting
    went_on = threading.Event()

    def draw() -> None:
        with semaphore.hold(0, LONG):
            drawn.set()
            others_wait.wait(LONG)
            semaphore.give_way(1)
            went_on.set()

    drawn, others_wait = threading.Event(), threading.Event()
    first = threading.Thread(target=draw)
    first.start()
    assert drawn.wait(LONG)
    timer, click = add(2), add(0)
    others_wait.set()
    assert click.computes.wait(LONG)
    assert not went_on.is_set()
    assert not timer.computes.is_set()
    click.release()
    assert went_on.wait(LONG)
    assert timer.computes.wait(LONG)
    first.join(LONG)


def test_a_thread_that_gives_way_is_told_its_place(waiting):
    semaphore, add = waiting
    told: list[Wait] = []
    others: list[Worker] = []

    def draw() -> None:
        with semaphore.hold(0, LONG):
            drawn.set()
            others_wait.wait(LONG)
            semaphore.give_way(2, told.append)

    drawn, others_wait = threading.Event(), threading.Event()
    thread = threading.Thread(target=draw)
    thread.start()
    assert drawn.wait(LONG)
    others += [add(2), add(2), add(2)]
    others_wait.set()
    wait_until(lambda: told)
    assert (told[0].kind, told[0].place, told[0].seconds_left) == ("queued", 3, None)  # the first of three goes on
    others[0].release()
    wait_until(lambda: told[-1].place == 2)
    assert told[-1].seconds_left is not None
    assert told[-1].seconds_left > 0
    for other in others[1:]:
        other.release()
    thread.join(LONG)


def test_a_wait_that_is_broken_off_leaves_the_semaphore_to_others(waiting):
    semaphore, add = waiting
    failed = threading.Event()

    def break_off(_: Wait) -> None:
        raise InterruptedError

    def draw() -> None:
        with suppress(InterruptedError), semaphore.hold(0, LONG):
            drawn.set()
            others_wait.wait(LONG)
            semaphore.give_way(2, break_off)
        failed.set()

    drawn, others_wait = threading.Event(), threading.Event()
    threading.Thread(target=draw).start()
    assert drawn.wait(LONG)
    first, second = add(1), add(1)
    others_wait.set()
    assert failed.wait(LONG)
    first.release()
    assert second.computes.wait(LONG)
    second.release()
    assert add(0).computes.is_set()


def test_a_thread_is_promoted_when_something_more_urgent_waits_for_it(waiting):
    semaphore, add = waiting
    first, owner, granted = add(0), object(), threading.Event()

    def draw() -> None:
        with semaphore.hold(2, LONG, owner):
            granted.set()

    timer = threading.Thread(target=draw)
    timer.start()
    wait_until(lambda: semaphore.is_contended)
    page = add(1)
    semaphore.promote(object(), 0)
    semaphore.promote(owner, 2)
    semaphore.promote(owner, 0)
    first.release()
    assert granted.wait(LONG)
    timer.join(LONG)
    page.release()


def test_a_thread_gives_way_to_nobody_when_nobody_waits(waiting):
    semaphore, add = waiting
    with semaphore.hold(0, LONG):
        assert not semaphore.is_contended
        semaphore.give_way(1)
        other = add(1)
        assert semaphore.is_contended
        semaphore.give_way(1)  # of the same priority by now
        assert not other.computes.is_set()
    assert other.computes.wait(LONG)


def test_a_thread_that_waits_too_long_computes_without_a_permit(waiting):
    _, add = waiting
    first, patient, impatient = add(0), add(0), add(0, timeout=0.01)
    assert impatient.computes.wait(LONG)
    impatient.release()
    assert not patient.computes.is_set()
    first.release()
    assert patient.computes.wait(LONG)


def test_a_thread_that_waits_for_something_lets_others_compute(waiting):
    semaphore, add = waiting
    with semaphore.hold(0, LONG):
        other = add(1)
        assert not other.computes.is_set()
        with semaphore.pause():
            assert other.computes.wait(LONG)
            other.release()
        next_one = add(1)
        assert not next_one.computes.is_set()
    assert next_one.computes.wait(LONG)


def test_a_pause_of_a_thread_without_a_permit_changes_nothing(waiting):
    semaphore, add = waiting
    with semaphore.pause():
        first = add(0)
    assert first.computes.wait(LONG)


def hold(semaphore: PrioritySemaphore, ending: threading.Event) -> None:
    with semaphore.hold(0, PATIENCE):
        ending.wait(PATIENCE)


def test_one_run_computes_while_sessions_wait_to_draw_and_more_when_none_does():
    usual, ending = max_computing_runs(), threading.Event()
    with ExitStack() as after:
        for _ in range(usual + 1):  # as many as may draw, and one that waits
            thread = threading.Thread(target=hold, args=(drawing_turns, ending))
            thread.start()
            after.callback(thread.join)
        after.callback(ending.set)
        wait_until(lambda: max_computing_runs() == 1 and drawing_turns.is_contended)
    assert max_computing_runs() == usual
