"""What is looked up in the background: nobody waits for long, and what changed is not told from memory."""

import threading
import time

import pytest

from crag.concurrency.caches import BackgroundCache
from tests.waiting import wait_until


def test_a_slow_look_is_not_waited_for():
    may_end = threading.Event()

    def look() -> int:
        assert may_end.wait(20)
        return 1

    latest = BackgroundCache(look, 60)
    assert latest.now(patience=0) is None
    may_end.set()
    wait_until(lambda: latest.now(patience=0) == 1)


def test_a_slow_look_is_waited_for_once_however_often_it_is_asked_for():
    may_end = threading.Event()
    latest = BackgroundCache(lambda: may_end.wait(20), 60)
    began = time.monotonic()
    assert [latest.now(patience=0.5) for _ in range(30)] == [None] * 30
    assert time.monotonic() - began < 5, "thirty times half a second would be fifteen"
    may_end.set()


def test_it_is_remembered_until_it_is_old_or_something_changed():
    looks = iter(range(9))
    latest = BackgroundCache(lambda: next(looks), 60)
    assert [latest.now(10), latest.now(10)] == [0, 0]
    latest.forget()
    assert latest.now(10) == 1
    always = BackgroundCache(lambda: next(looks), 0)
    assert [always.now(10), always.now(10)] == [2, 3]


def test_a_look_that_began_before_something_changed_does_not_count():
    began, may_end = threading.Event(), threading.Event()

    def look() -> str:
        if began.is_set():
            return "new"
        began.set()
        assert may_end.wait(20)
        return "old"

    latest = BackgroundCache(look, 60)
    assert latest.now(0) is None
    assert began.wait(20)
    latest.forget()
    assert latest.now(10) == "new"
    may_end.set()
    assert latest.now(10) == "new"


def test_what_goes_wrong_is_told_and_tried_again():
    answers = iter([ValueError("no"), 2])

    def look() -> int:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    latest = BackgroundCache(look, 60)
    with pytest.raises(ValueError, match="no"):
        latest.now(10)
    assert latest.now(10) == 2
