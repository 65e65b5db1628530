"""What work waits for is told while it waits, by whoever knows, and to those who ask about that work alone."""

import pytest

from crag.cancellation import Cancellation, Wait


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
