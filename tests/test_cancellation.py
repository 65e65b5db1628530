"""What work waits for is reported while it waits, to listeners of that work alone."""

import threading
from contextvars import ContextVar

import pytest

from crag.cancellation import Cancellation, Wait, call_cancellable
from crag.errors import Stopped


def test_waits_are_told_while_they_last_the_longest_first():
    stop, other = Cancellation(), Cancellation()
    sent, queued = Wait("answering", "ollama:llama3.1:8b", 5.0), Wait("queued", "ollama:llama3.1:8b", 3.0, place=2)
    with stop.report_wait(lambda: sent):
        with stop.report_wait(lambda: queued):
            assert stop.list_waits() == [queued, sent]
            assert other.list_waits() == []
        assert stop.list_waits() == [sent]
    assert stop.list_waits() == []


def test_what_is_told_may_change_and_may_be_nothing():
    stop, places = Cancellation(), iter([Wait("queued", "m", 1.0, place=2), Wait("queued", "m", 1.0, place=1), None])
    with stop.report_wait(lambda: next(places)):
        assert [wait.place for _ in range(2) for wait in stop.list_waits()] == [2, 1]
        assert stop.list_waits() == []


def test_a_failure_ends_the_wait():
    stop = Cancellation()
    with pytest.raises(ZeroDivisionError), stop.report_wait(lambda: Wait("answering", "m", 1.0)):
        _ = 1 / 0
    assert stop.list_waits() == []


def test_a_call_returns_its_result_or_raises_its_error():
    person = ContextVar("person", default="nobody")
    token = person.set("ann")
    assert call_cancellable(person.get, Cancellation()) == "ann"
    person.reset(token)
    with pytest.raises(ZeroDivisionError):
        call_cancellable(lambda: 1 / 0, Cancellation())


def test_a_call_is_left_when_it_is_stopped_or_takes_too_long():
    may_end, stop = threading.Event(), Cancellation()
    with pytest.raises(TimeoutError):
        call_cancellable(lambda: may_end.wait(20), stop, 0.01)
    threading.Timer(0.01, stop.cancel).start()
    with pytest.raises(Stopped):
        call_cancellable(lambda: may_end.wait(20), stop, 20)
    with pytest.raises(Stopped):
        call_cancellable(may_end.set, stop)
    assert not may_end.is_set(), "what was stopped before is not begun"
    may_end.set()
