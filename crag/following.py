"""Run work in another thread, so that cancellation takes effect at once whatever that thread waits for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable
from contextvars import copy_context
from functools import partial
from queue import SimpleQueue
from typing import TypeVar

from crag.line import Line
from crag.stopping import Stop

Item = TypeVar("Item")


class _Ended:
    """End of the items. `error` is the reason if the work failed."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error


def follow(produce: Callable[[], Iterable[Item]], stop: Stop) -> Generator[Item, None, None]:
    """Run `produce()` in a thread of its own and yield its items as they arrive.

    Raises `Stopped` as soon as `stop` is requested, and whatever `produce` raises. When the caller leaves, for any
    reason, the connections of the thread are cut, so that no server continues to generate unread tokens. A thread that
    uses other connections ends with its next item.
    """
    stop.check()
    line = Line()
    inbox: SimpleQueue[Item | _Ended] = SimpleQueue()
    work = partial(copy_context().run, _work, produce, line, inbox)  # the context holds the user, the run and its step
    threading.Thread(target=work, name="model-call", daemon=True).start()
    try:
        with stop.breaking(lambda: inbox.put(_Ended())):
            while not isinstance(item := inbox.get(), _Ended):
                stop.check()
                yield item
        stop.check()
        if item.error is not None:
            raise item.error
    finally:
        line.cut()


def _work(produce: Callable[[], Iterable[Item]], line: Line, inbox: SimpleQueue[Item | _Ended]) -> None:
    try:
        with line.holding():
            for item in produce():
                if line.is_cut:
                    break
                inbox.put(item)
        inbox.put(_Ended())
    except Exception as error:  # noqa: BLE001 — raised again where the items are waited for
        inbox.put(_Ended(error))
