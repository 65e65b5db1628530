"""What takes time to find out, kept for a while: looked up in the background, so that who asks need not wait for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Generic, TypeVar

T = TypeVar("T")


class Latest(Generic[T]):
    """Cache of the result of `look`, refreshed in the background when it is read after `seconds`. Thread-safe."""

    def __init__(self, look: Callable[[], T], seconds: float) -> None:
        self._look = look
        self._seconds = seconds
        self._lock = threading.Lock()
        self._looking: Future[T] | None = None
        self._known: T | None = None
        self._began_at = self._good_until = 0.0

    def now(self, patience: float) -> T | None:
        """Return the value, or the previous one if a refresh takes longer than `patience` seconds.

        The result is None if there is no previous value. The limit counts from the start of the refresh, however many
        callers wait for it. Raises what `look` raises.
        """
        looking, began_at = self._begin()
        if looking is not None:
            with suppress(TimeoutError):
                return looking.result(max(0.0, began_at + patience - time.monotonic()))
        return self._known

    def forget(self) -> None:
        """Invalidate the value. The next caller gets a result computed after this call."""
        with self._lock:
            self._looking, self._good_until = None, 0.0

    def _begin(self) -> tuple[Future[T] | None, float]:
        """Return the refresh in progress, if any, and its start time; start one if the value has expired."""
        with self._lock:
            if self._looking is None and time.monotonic() >= self._good_until:
                self._looking, self._began_at = Future(), time.monotonic()
                threading.Thread(target=self._run, args=(self._looking,), name="latest", daemon=True).start()
            return self._looking, self._began_at

    def _run(self, looking: Future[T]) -> None:
        try:
            value = self._look()
        except Exception as error:  # noqa: BLE001 — handed to whoever asked
            self._end(looking)
            looking.set_exception(error)
            return
        self._keep(looking, value)
        looking.set_result(value)

    def _keep(self, looking: Future[T], value: T) -> None:
        """Store the value, unless it was invalidated during the refresh."""
        with self._lock:
            if self._looking is looking:
                self._known, self._good_until = value, time.monotonic() + self._seconds
        self._end(looking)

    def _end(self, looking: Future[T]) -> None:
        with self._lock:
            if self._looking is looking:
                self._looking = None
