"""What work waits for is told while it waits, by whoever knows, and to those who ask about that work alone."""

import gc
import weakref

import pytest

from crag.cancellation import Cancellation, Wait, list_waits, report_wait


def test_waits_are_told_while_they_last_the_longest_first():
    stop, other = Cancellation(), Cancellation()
    sent, queued = Wait("answering", "ollama:llama3.1:8b", 5.0), Wait("queued", "ollama:llama3.1:8b", 3.0, place=2)
    with report_wait(stop, lambda: sent):
        with report_wait(stop, lambda: queued):
            assert list_waits(stop) == [queued, sent]
            assert list_waits(other) == []
        assert list_waits(stop) == [sent]
    assert list_waits(stop) == []


def test_what_is_told_may_change_and_may_be_nothing():
    stop, places = Cancellation(), iter([Wait("queued", "m", 1.0, place=2), Wait("queued", "m", 1.0, place=1), None])
    with report_wait(stop, lambda: next(places)):
        assert [wait.place for _ in range(2) for wait in list_waits(stop)] == [2, 1]
        assert list_waits(stop) == []


def test_a_failure_ends_the_wait():
    stop = Cancellation()
    with pytest.raises(ZeroDivisionError), report_wait(stop, lambda: Wait("answering", "m", 1.0)):
        _ = 1 / 0
    assert list_waits(stop) == []


def test_ended_work_is_not_held():
    stop = Cancellation()
    with report_wait(stop, lambda: None):
        pass
    gone = weakref.ref(stop)
    del stop
    gc.collect()
    assert gone() is None
