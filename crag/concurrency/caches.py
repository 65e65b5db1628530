"""Caches shared between threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Generic, TypeVar

T = TypeVar("T")


class BackgroundCache(Generic[T]):
    """Cache of the result of `compute`, refreshed in the background when it is read after `seconds`. Thread-safe."""

    def __init__(self, compute: Callable[[], T], seconds: float) -> None:
        self._compute = compute
        self._seconds = seconds
        self._lock = threading.Lock()
        self._refresh: Future[T] | None = None
        self._value: T | None = None
        self._started_at = self._expires_at = 0.0

    def now(self, patience: float) -> T | None:
        """Return the value, or the previous one if a refresh takes longer than `patience` seconds.

        The result is None if there is no previous value. The limit counts from the start of the refresh, however many
        callers wait for it. Raises what `compute` raises.
        """
        refresh, started_at = self._start_refresh()
        if refresh is not None:
            with suppress(TimeoutError):
                return refresh.result(max(0.0, started_at + patience - time.monotonic()))
        return self._value

    def forget(self) -> None:
        """Invalidate the value. The next caller gets a result computed after this call."""
        with self._lock:
            self._refresh, self._expires_at = None, 0.0

    def _start_refresh(self) -> tuple[Future[T] | None, float]:
        """Return the refresh in progress, if any, and its start time; start one if the value has expired."""
        with self._lock:
            if self._refresh is None and time.monotonic() >= self._expires_at:
                self._refresh, self._started_at = Future(), time.monotonic()
                threading.Thread(target=self._run, args=(self._refresh,), name="latest", daemon=True).start()
            return self._refresh, self._started_at

    def _run(self, refresh: Future[T]) -> None:
        try:
            value = self._compute()
        except Exception as error:  # noqa: BLE001 — handed to whoever asked
            self._end_refresh(refresh)
            refresh.set_exception(error)
            return
        self._store(refresh, value)
        refresh.set_result(value)

    def _store(self, refresh: Future[T], value: T) -> None:
        """Store the value, unless it was invalidated during the refresh."""
        with self._lock:
            if self._refresh is refresh:
                self._value, self._expires_at = value, time.monotonic() + self._seconds
        self._end_refresh(refresh)

    def _end_refresh(self, refresh: Future[T]) -> None:
        with self._lock:
            if self._refresh is refresh:
                self._refresh = None


Known = TypeVar("Known")
_MAX_ENTRIES = 100_000
_MAX_KEY_LENGTH = 64


class BoundedCache(dict[str, Known]):
    """Bounded cache with the read speed of a dictionary, which no caching decorator reaches.

    `make` computes missing values. When the cache is full, entries that are not read again are dropped with the next
    generation. Keys above a maximum length are not stored. Thread-safe: at worst a value is computed twice.
    """

    def __init__(self, make: Callable[[str], Known]) -> None:
        super().__init__()
        self._make = make
        self._previous: dict[str, Known] = {}

    def __missing__(self, key: str) -> Known:
        value = self._previous.get(key)
        if value is None:
            value = self._make(key)
        if len(self) >= _MAX_ENTRIES:
            self._previous = self.copy()
            self.clear()
        if len(key) <= _MAX_KEY_LENGTH:
            self[key] = value
        return value
