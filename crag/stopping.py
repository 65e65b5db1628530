"""How work is stopped: a flag that workers check, and hooks that break what they wait for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from crag.errors import Stopped


class Stop:
    """A request to stop, shared between whoever asks and whoever works. Safe to use from several threads."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._hooks: list[Callable[[], None]] = []

    def request(self) -> None:
        """Ask to stop: sets the flag, then runs the hooks (closing streams and the like). Asking twice is harmless."""
        with self._lock:
            self._event.set()
            hooks, self._hooks = self._hooks, []
        for hook in hooks:
            with suppress(Exception):  # a hook closes something that may be closed already
                hook()

    def check(self) -> None:
        """Raise `Stopped` if somebody asked to stop."""
        if self._event.is_set():
            raise Stopped

    def wait(self, seconds: float) -> bool:
        """Sleep for at most `seconds`; True as soon as somebody asks to stop."""
        return self._event.wait(seconds)

    @contextmanager
    def breaking(self, hook: Callable[[], None]) -> Iterator[None]:
        """While the block runs, a request to stop also calls `hook` (at once, if it was made before)."""
        with self._lock:
            already = self._event.is_set()
            if not already:
                self._hooks.append(hook)
        if already:
            hook()
        try:
            yield
        finally:
            with self._lock:
                if hook in self._hooks:
                    self._hooks.remove(hook)


@contextmanager
def deadline(seconds: float, stop: Stop) -> Iterator[Stop]:
    """A stop of its own, requested when time is up or when `stop` is."""
    own = Stop()
    timer = threading.Timer(seconds, own.request)
    timer.daemon = True
    timer.start()
    try:
        with stop.breaking(own.request):
            yield own
    finally:
        timer.cancel()
