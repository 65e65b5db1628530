"""Events of a run for asynchronous servers, whose clients may go away."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import cache

import anyio
import anyio.to_thread

from crag.app.application import Application
from crag.events import Event
from crag.runs.run import Run

_MAX_THREADS = 200  # that wait for events at the same time; followers of more runs take turns
_TURN_SECONDS = 1.0  # after which the thread of a client that left is free


@cache
def _threads() -> anyio.CapacityLimiter:
    return anyio.CapacityLimiter(_MAX_THREADS)


async def follow_run(application: Application, run: Run, *, stops: bool = True) -> AsyncIterator[Event]:
    """Yield the events of a run until it ends or waits for the user.

    With `stops`, the run is stopped when the caller goes away before.
    """
    number, is_over = 0, False
    try:
        while not is_over:
            is_settled = await anyio.to_thread.run_sync(lambda: run.settled, limiter=_threads())
            events = run.follow(number, _TURN_SECONDS)
            while found := await anyio.to_thread.run_sync(next, events, None, limiter=_threads()):
                number, event = found
                yield event
            is_over = is_settled
    finally:
        if stops and not is_over:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(application.runs.stop, run.id)
