"""The processor, which everything in this process shares: what is on screen comes first, then runs, one by one."""

from __future__ import annotations

import os

from crag.concurrency.priority_semaphore import PrioritySemaphore
from crag.concurrency.request_queue import RequestQueue, request_queue

_CORES = os.cpu_count() or 1
drawing_turns = PrioritySemaphore(permits=_CORES)  # held by the sessions that draw


def run_queue() -> RequestQueue:
    """Return the queue of runs; a run has its turn until it begins to wait for a model or the web."""
    return request_queue("processor", "")


def max_computing_runs() -> int:
    """Return how many runs may have their turn at once: more would only make all of them, and drawing, slower."""
    return 1 if drawing_turns.is_contended else _CORES
