"""What work is waiting for, so that the screen can show it. Never stored."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal
from weakref import WeakKeyDictionary

from crag.stopping import Stop

WaitKind = Literal["queued", "answering", "retrying"]


@dataclass(frozen=True, slots=True)
class Wait:
    """One wait for `model`, such as `ollama:llama3.1:8b`, which started at `since` (`time.monotonic`).

    *queued*: waiting in this application's queue for the model at position `place`, from 1, counted in runs.
    *answering*: the request was sent and no reply has arrived yet. *retrying*: the model was busy or failed; `attempt`,
    from 2, is the next one.
    """

    kind: WaitKind
    model: str
    since: float
    place: int = 0
    attempt: int = 0


Tell = Callable[[], Wait | None]


@contextmanager
def telling(stop: Stop, reporter: Tell) -> Iterator[None]:
    """Report what the work of `stop` waits for during the block.

    `reporter` is called whenever the state is requested.
    """
    with _lock:
        _told.setdefault(stop, []).append(reporter)
    try:
        yield
    finally:
        with _lock:
            _told[stop].remove(reporter)


def waits(stop: Stop) -> list[Wait]:
    """Return everything that the work of `stop` waits for at present, longest wait first."""
    with _lock:
        reporters = list(_told.get(stop, ()))
    found = [wait for reporter in reporters if (wait := reporter()) is not None]
    return sorted(found, key=lambda wait: wait.since)


_lock = threading.Lock()
_told: WeakKeyDictionary[Stop, list[Tell]] = WeakKeyDictionary()
