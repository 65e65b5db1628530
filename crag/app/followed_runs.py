"""Events of a run for asynchronous servers, whose clients may go away."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import cache

import anyio
import anyio.to_thread

from crag.app.application import Application
from crag.events import Event
from crag.runs.run import Run

_MAX_FOLLOWED = 200  # each waits in a thread of its own


@cache
def _threads() -> anyio.CapacityLimiter:
    return anyio.CapacityLimiter(_MAX_FOLLOWED)


async def follow_run(application: Application, run: Run, *, stops: bool = True) -> AsyncIterator[Event]:
    """Yield the events of a run until it ends or waits for the user.

    With `stops`, the run is stopped when the caller goes away before.
    """
    events, is_over = run.follow(), False
    try:
        while found := await anyio.to_thread.run_sync(next, events, None, abandon_on_cancel=True, limiter=_threads()):
            yield found[1]
        is_over = True
    finally:
        if stops and not is_over:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(application.runs.stop, run.id)
