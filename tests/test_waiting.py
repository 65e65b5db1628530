"""What work waits for is told while it waits, by whoever knows, and to those who ask about that work alone."""

import gc
import weakref

import pytest

from crag.stopping import Stop
from crag.waiting import Wait, telling, waits


def test_waits_are_told_while_they_last_the_longest_first():
    stop, other = Stop(), Stop()
    sent, queued = Wait("answering", "ollama:llama3.1:8b", 5.0), Wait("queued", "ollama:llama3.1:8b", 3.0, place=2)
    with telling(stop, lambda: sent):
        with telling(stop, lambda: queued):
            assert waits(stop) == [queued, sent]
            assert waits(other) == []
        assert waits(stop) == [sent]
    assert waits(stop) == []


def test_what_is_told_may_change_and_may_be_nothing():
    stop, places = Stop(), iter([Wait("queued", "m", 1.0, place=2), Wait("queued", "m", 1.0, place=1), None])
    with telling(stop, lambda: next(places)):
        assert [wait.place for _ in range(2) for wait in waits(stop)] == [2, 1]
        assert waits(stop) == []


def test_a_failure_ends_the_wait():
    stop = Stop()
    with pytest.raises(ZeroDivisionError), telling(stop, lambda: Wait("answering", "m", 1.0)):
        _ = 1 / 0
    assert waits(stop) == []


def test_ended_work_is_not_held():
    stop = Stop()
    with telling(stop, lambda: None):
        pass
    gone = weakref.ref(stop)
    del stop
    gc.collect()
    assert gone() is None
