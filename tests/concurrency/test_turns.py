"""Turns at the processor: who computes, in which order, and what a waiting thread gives up."""

import threading
from contextlib import ExitStack

import pytest

from crag.concurrency.turns import Turns
from tests.waiting import wait_until

LONG = 30.0


class Worker:
    """A thread that takes a turn and computes until it is released."""

    def __init__(self, turns: Turns, urgency: int, patience: float = LONG) -> None:
        self.computes, self.done = threading.Event(), threading.Event()
        self._release = threading.Event()
        self._take = lambda: turns.take(urgency, patience)
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _work(self) -> None:
        with self._take():
            self.computes.set()
            self._release.wait(LONG)
        self.done.set()

    def release(self) -> None:
        self._release.set()
        self._thread.join(LONG)


@pytest.fixture
def line(request):
    """Workers in a line behind one that computes, in the order they came."""
    turns = Turns(places=1)
    with ExitStack() as workers:

        def add(urgency: int, patience: float = LONG) -> Worker:
            before = len(turns._line)  # nothing else shows that a thread waits
            worker = Worker(turns, urgency, patience)
            workers.callback(worker.release)
            wait_until(lambda: worker.computes.is_set() or len(turns._line) > before)
            return worker

        yield turns, add


def test_the_most_urgent_computes_next_and_among_equals_the_first_to_come(line):
    _, add = line
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


def test_who_waits_too_long_computes_all_the_same_and_takes_no_place(line):
    _, add = line
    first, impatient, patient = add(0), add(0, patience=0.01), add(0)
    assert impatient.computes.wait(LONG)
    impatient.release()
    assert not patient.computes.is_set()
    first.release()
    assert patient.computes.wait(LONG)


def test_a_thread_that_waits_for_something_lets_others_compute(line):
    turns, add = line
    with turns.take(0, LONG):
        other = add(1)
        assert not other.computes.is_set()
        with turns.pause():
            assert other.computes.wait(LONG)
            other.release()
        next_one = add(1)
        assert not next_one.computes.is_set()
    assert next_one.computes.wait(LONG)


def test_a_pause_without_a_turn_changes_nothing(line):
    turns, add = line
    with turns.pause():
        first = add(0)
    assert first.computes.wait(LONG)
