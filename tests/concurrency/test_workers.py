"""Background work runs once at a time and ends when it is closed; parallel work ends when nobody waits for it."""

from __future__ import annotations

import threading

import pytest

from crag.cancellation import Cancellation
from crag.concurrency import workers
from crag.concurrency.workers import BackgroundWorker, map_in_order, run_in_background
from crag.errors import BadRequest, Stopped
from tests.waiting import PATIENCE, wait_until


class Gate:
    """Work that begins, waits until it may end, and counts."""

    def __init__(self) -> None:
        self.begun = 0
        self.running = 0
        self.may_end = threading.Event()

    def __call__(self, stop: Cancellation) -> None:
        self.begun += 1
        self.running += 1
        assert self.running == 1, "one pass at a time"
        while not self.may_end.wait(0.001) and not stop.wait(0):
            pass
        self.running -= 1


def test_nothing_runs_before_start_or_after_close() -> None:
    passes: list[object] = []
    worker = BackgroundWorker("worker", passes.append)
    worker.wake()
    assert worker.wait(PATIENCE)
    assert not worker.is_busy
    worker.start()
    assert passes == []
    worker.wake()
    assert worker.wait(PATIENCE)
    assert len(passes) == 1
    worker.close(10)
    worker.start()
    worker.wake()
    assert worker.wait(PATIENCE)
    assert len(passes) == 1


def test_requests_during_a_pass_lead_to_one_more() -> None:
    gate = Gate()
    worker = BackgroundWorker("worker", gate)
    worker.start()
    worker.wake()
    wait_until(lambda: gate.begun == 1)
    for _ in range(5):
        worker.wake()
    assert worker.is_busy
    assert not worker.wait(0.01)
    gate.may_end.set()
    assert worker.wait(PATIENCE)
    assert (gate.begun, worker.is_busy) == (2, False)


def test_many_threads_may_request_and_wait() -> None:
    taken: list[int] = []
    waiting: list[int] = []

    def take(_: Cancellation) -> None:
        while waiting:
            taken.append(waiting.pop())

    worker = BackgroundWorker("worker", take)
    worker.start()

    def put(number: int) -> None:
        waiting.append(number)
        worker.wake()
        assert worker.wait(PATIENCE)
        assert number in taken

    threads = [run_in_background("put", lambda number=number: put(number)) for number in range(200)]
    assert all(thread.wait(PATIENCE) for thread in threads)
    assert sorted(taken) == list(range(200))


def test_an_idle_thread_ends_and_a_request_starts_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_IDLE_SECONDS", 0.01)
    threads: list[threading.Thread] = []
    worker = BackgroundWorker("worker", lambda _: threads.append(threading.current_thread()))
    worker.start()
    for number in (1, 2):
        worker.wake()
        wait_until(lambda number=number: len(threads) == number)
        wait_until(lambda: not threads[-1].is_alive())
    assert threads[0] is not threads[1]


def test_periodic_work_goes_on_after_errors_and_may_be_woken(caplog: pytest.LogCaptureFixture) -> None:
    passes: list[object] = []

    def work(_: Cancellation) -> None:
        passes.append(None)
        raise (Stopped, BadRequest("No."), ValueError("Never."))[len(passes) % 3]

    worker = BackgroundWorker("the work", work, period=0.001)
    worker.start()
    wait_until(lambda: len(passes) > 5)
    worker.close(10)
    assert {record.getMessage() for record in caplog.records} == {"the work: No.", "the work failed"}
    seldom = BackgroundWorker("worker", passes.append, period=1000)
    passes.clear()
    seldom.start()
    assert seldom.wait(PATIENCE)
    assert not seldom.is_busy, "the first pass comes after a period"
    seldom.wake()
    assert seldom.wait(PATIENCE)
    assert len(passes) == 1
    seldom.close(10)


def test_closing_cancels_the_pass_and_drops_requests() -> None:
    gate = Gate()
    worker = BackgroundWorker("worker", gate)
    worker.start()
    worker.wake()
    wait_until(lambda: gate.begun == 1)
    worker.wake()
    worker.close(10)
    assert (gate.begun, gate.running, worker.is_busy) == (1, 0, False)
    assert worker.wait(0)


def test_work_may_close_its_own_worker() -> None:
    worker = BackgroundWorker("worker", lambda _: worker.close())
    worker.start()
    worker.wake()
    assert worker.wait(PATIENCE)


def test_work_in_the_background_runs_once() -> None:
    done: list[int] = []
    assert run_in_background("once", lambda: done.append(1)).wait(PATIENCE)
    assert done == [1]


def test_two_work_at_once_and_come_back_in_order() -> None:
    both = threading.Barrier(2, timeout=PATIENCE)

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
            assert stop.wait(PATIENCE)
            ended.append(item)
            stop.check()
        return item

    results = map_in_order(work, range(100), stop)
    assert next(results) == 0
    if abandon:
        results.close()
    else:
        stop.cancel()
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
