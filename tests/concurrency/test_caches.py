"""What is looked up once at a time: nobody waits for long, and what changed is not told from memory."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace

import pytest

from crag.concurrency.caches import LRUCache, Once, TTLCache
from crag.concurrency.workers import run_in_background
from tests.waiting import PATIENCE, wait_until


def test_a_slow_look_is_not_waited_for():
    may_end = threading.Event()

    def look() -> int:
        assert may_end.wait(PATIENCE)
        return 1

    latest = TTLCache(look, 60)
    assert latest.get_within(0) is None
    may_end.set()
    wait_until(lambda: latest.get_within(0) == 1)


def test_the_limit_counts_from_the_start_of_the_lookup_for_all_who_wait(monkeypatch):
    may_end = threading.Event()
    latest = TTLCache(lambda: may_end.wait(PATIENCE), 3600)
    assert latest.get_within(0) is None
    later = time.monotonic() + 1800
    monkeypatch.setattr("crag.concurrency.caches.time", SimpleNamespace(monotonic=lambda: later))
    assert latest.get_within(1000) is None, "else it would wait for the end of the lookup"
    assert not may_end.is_set()
    may_end.set()


def test_it_is_remembered_until_it_is_old_or_something_changed():
    looks = iter(range(9))
    latest = TTLCache(lambda: next(looks), 60)
    assert [latest.get_within(10), latest.get_within(10)] == [0, 0]
    latest.forget()
    assert latest.get_within(10) == 1
    always = TTLCache(lambda: next(looks), 0)
    assert [always.get_within(10), always.get_within(10)] == [2, 3]


def test_a_lookup_begun_before_a_change_is_discarded():
    began, may_end = threading.Event(), threading.Event()

    def look() -> str:
        if began.is_set():
            return "new"
        began.set()
        assert may_end.wait(PATIENCE)
        return "old"

    latest = TTLCache(look, 60)
    assert latest.get_within(0) is None
    assert began.wait(PATIENCE)
    latest.forget()
    assert latest.get_within(10) == "new"
    may_end.set()
    assert latest.get_within(10) == "new"


def test_what_goes_wrong_is_told_and_tried_again():
    answers = iter([ValueError("no"), 2])

    def look() -> int:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    latest = TTLCache(look, 60)
    with pytest.raises(ValueError, match="no"):
        latest.get_within(10)
    assert latest.get_within(10) == 2


def test_each_key_is_computed_once_however_many_threads_ask():
    computed = []
    may_end = threading.Event()

    def compute(name: str) -> str:
        computed.append(name)
        assert may_end.wait(PATIENCE)
        return name.upper()

    cache = TTLCache(compute, 60)
    found: list[str] = []
    names = "abab"
    readers = [run_in_background("reader", partial(lambda name: found.append(cache.get(name)), name)) for name in names]
    wait_until(lambda: len(computed) == 2)
    may_end.set()
    assert all(reader.wait(PATIENCE) for reader in readers)
    assert (sorted(found), sorted(computed)) == (["A", "A", "B", "B"], ["a", "b"])
    assert cache.get("a") == "A"
    cache.forget("a")
    assert (cache.get("a"), cache.get("b"), sorted(computed)) == ("A", "B", ["a", "a", "b"])
    cache.forget_all()
    assert (cache.get("a"), cache.get("b"), len(computed)) == ("A", "B", 5)


def test_who_waited_for_a_failure_tries_it_again():
    begun, may_fail = threading.Event(), threading.Event()

    def compute() -> str:
        if begun.is_set():
            return "well"
        begun.set()
        assert may_fail.wait(PATIENCE)
        raise ValueError("no")

    cache = TTLCache(compute, 60)
    first = run_in_background("first", cache.get)
    assert begun.wait(PATIENCE)
    found: list[str] = []
    second = run_in_background("second", lambda: found.append(cache.get()))
    may_fail.set()
    assert first.wait(PATIENCE)
    assert second.wait(PATIENCE)
    assert found == ["well"]


def test_the_value_may_say_how_long_it_is_valid():
    numbers = iter(range(9))
    cache = TTLCache(lambda: next(numbers), lambda number: 60 if number else 0)
    assert [cache.get(), cache.get(), cache.get()] == [0, 1, 1]


def test_the_value_used_longest_ago_is_dropped():
    cache = LRUCache[str, int](2)
    for number, name in enumerate("ab"):
        cache.put(name, number)
    assert cache.get("a") == 0
    cache.put("c", 2)
    assert [cache.get(name) for name in "abc"] == [0, None, 2]


def test_the_size_holds_for_many_threads():
    cache = LRUCache[int, int](50)

    def use(number: int) -> None:
        cache.put(number % 200, number)
        cache.get(number % 200)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(use, range(2_000)))
    assert sum(cache.get(number) is not None for number in range(200)) == 50


def test_a_value_is_computed_once_for_all_threads_until_it_is_cleared():
    computed = []
    value = Once(lambda: computed.append(1) or len(computed))
    with ThreadPoolExecutor(8) as threads:
        assert {future.result() for future in [threads.submit(value) for _ in range(100)]} == {1}
    value.clear()
    assert value() == 2


def test_a_failure_is_not_kept():
    answers = [1]
    value = Once(answers.pop)
    assert value() == 1
    value.clear()
    with pytest.raises(IndexError):
        value()
    answers.append(2)
    assert value() == 2
