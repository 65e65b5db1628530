"""Caches shared between threads."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, TypeVar

from crag.concurrency.workers import run_in_background

Value = TypeVar("Value")


@dataclass(slots=True, eq=False)
class _Computation(Generic[Value]):
    """One computation of a value, under way or ended; `previous` is the value of the one before."""

    previous: Value | None
    future: Future[Value] = field(default_factory=Future)
    started_at: float = field(default_factory=time.monotonic)
    expires_at: float = math.inf

    @property
    def latest(self) -> Value | None:
        """The value, or the previous one if it is not known."""
        is_known = self.future.done() and self.future.exception() is None
        return self.future.result() if is_known else self.previous


class Once(Generic[Value]):
    """Decorator of a function without parameters whose result is computed at the first call and kept. Thread-safe.

    A failed computation raises its error and is tried again at the next call.
    """

    def __init__(self, compute: Callable[[], Value]) -> None:
        self._compute = compute
        self._lock = threading.RLock()
        self._values: list[Value] = []

    def __call__(self) -> Value:
        """Return the value."""
        with self._lock:
            if not self._values:
                self._values.append(self._compute())
            return self._values[0]

    def clear(self) -> None:
        """Forget the value; the next call computes another one."""
        with self._lock:
            self._values.clear()


class TTLCache(Generic[Value]):
    """Cache of `compute(*key)` for some seconds. Each value is computed by one thread at a time. Thread-safe.

    A failed computation raises its error and is not cached. A value computed from the state before `forget` is never
    returned after it.
    """

    def __init__(self, compute: Callable[..., Value], seconds: float | Callable[[Value], float]) -> None:
        """Create an empty cache. `seconds` is how long a value is valid, or a function that returns it for a value."""
        self._compute = compute
        self._seconds = seconds
        self._lock = threading.Lock()
        self._computations: dict[tuple[Hashable, ...], _Computation[Value]] = {}

    def get(self, *key: Hashable) -> Value:
        """Return the value; compute it in this thread if it is unknown or has expired. Raises what `compute` raises."""
        while True:
            computation, is_new = self._find_or_begin(key)
            if is_new:
                self._run(computation, key)
            if is_new or computation.future.exception() is None:  # the error of another thread is its own
                return computation.future.result()

    def get_within(self, seconds: float, *key: Hashable) -> Value | None:
        """Return the value, computed in the background if necessary; the previous one if that takes longer.

        The result is None if there is no previous value. The limit counts from the start of the computation, however
        many callers wait for it. Raises what `compute` raises.
        """
        computation, is_new = self._find_or_begin(key)
        if is_new:
            run_in_background("cache", partial(self._run, computation, key))
        wait([computation.future], max(0.0, computation.started_at + seconds - time.monotonic()))
        return computation.future.result() if computation.future.done() else computation.previous

    def forget(self, *key: Hashable) -> None:
        """Invalidate the value. The next caller gets one computed after this call."""
        with self._lock:
            if computation := self._computations.get(key):
                computation.expires_at = 0.0

    def forget_all(self) -> None:
        """Invalidate every value."""
        with self._lock:
            for computation in self._computations.values():
                computation.expires_at = 0.0

    def _find_or_begin(self, key: tuple[Hashable, ...]) -> tuple[_Computation[Value], bool]:
        """Return the valid computation of this value, and whether it was created now, to be run by the caller."""
        with self._lock:
            last = self._computations.get(key)
            if last and time.monotonic() < last.expires_at:
                return last, False
            computation = self._computations[key] = _Computation(last.latest if last else None)
            return computation, True

    def _run(self, computation: _Computation[Value], key: tuple[Hashable, ...]) -> None:
        try:
            value = self._compute(*key)
            seconds = self._seconds(value) if callable(self._seconds) else self._seconds
        except BaseException as error:  # noqa: BLE001 — raised to the callers
            computation.expires_at = 0.0
            computation.future.set_exception(error)
            return
        with self._lock:
            if computation.expires_at:  # else it was invalidated meanwhile
                computation.expires_at = time.monotonic() + seconds
        computation.future.set_result(value)


Key = TypeVar("Key", bound=Hashable)


class LRUCache(Generic[Key, Value]):
    """Cache that keeps the `size` values that were used last. Thread-safe."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._values: OrderedDict[Key, Value] = OrderedDict()

    def get(self, key: Key) -> Value | None:
        """Return the cached value, if any."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: Key, value: Value) -> None:
        """Cache a value; drop the least recently used beyond the size."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > self._size:
                self._values.popitem(last=False)


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
