"""Cancellation: a flag that workers check, and hooks that interrupt what they wait for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from crag.errors import Stopped


class Stop:
    """A cancellation flag shared between the caller and the workers. Thread-safe."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._hooks: list[Callable[[], None]] = []

    def request(self) -> None:
        """Set the flag, then run the hooks, which close streams and the like. Repeated calls have no effect."""
        with self._lock:
            self._event.set()
            hooks, self._hooks = self._hooks, []
        for hook in hooks:
            with suppress(Exception):  # a hook closes something that may be closed already
                hook()

    def check(self) -> None:
        """Raise `Stopped` if cancellation was requested."""
        if self._event.is_set():
            raise Stopped

    def wait(self, seconds: float) -> bool:
        """Sleep for at most `seconds`. Return True as soon as cancellation is requested."""
        return self._event.wait(seconds)

    @contextmanager
    def breaking(self, hook: Callable[[], None]) -> Iterator[None]:
        """Call `hook` on cancellation during the block, or at once if cancellation was requested before."""
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
    """Provide a separate cancellation that is triggered after `seconds`, or together with `stop`."""
    own = Stop()
    timer = threading.Timer(seconds, own.request)
    timer.daemon = True
    timer.start()
    try:
        with stop.breaking(own.request):
            yield own
    finally:
        timer.cancel()
