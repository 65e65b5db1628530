"""How many runs compute at once beside the sessions that draw."""

import threading
from contextlib import ExitStack

from crag.concurrency.priority_semaphore import PrioritySemaphore
from crag.concurrency.processor import drawing_turns, max_computing_runs
from tests.waiting import PATIENCE, wait_until


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
