"""Short-lived cache of the automatic model choice: finding it asks a server, and every page and question needs it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from crag.models.choice import ModelChoice, choose_chat_model
from crag.settings import Settings

_SECONDS = 10.0


class RememberedChoice:
    """Cached choice of the chat model on auto. Thread-safe."""

    def __init__(self, settings: Settings, on_change: Callable[[], None]) -> None:
        """`on_change` is called when a different model answers, and for the first one."""
        self._settings = settings
        self._on_change = on_change
        self._lock = threading.Lock()
        self._known: tuple[float, ModelChoice] | None = None

    def now(self, *, anew: bool = False) -> ModelChoice:
        """Return the current choice and its reason, looked up every few seconds at most, or again with `anew`."""
        with self._lock:
            known = self._known
        if not anew and known is not None and time.monotonic() - known[0] <= _SECONDS:
            return known[1]
        choice = choose_chat_model(self._settings)  # outside the lock, so that others need not wait
        with self._lock:
            self._known = (time.monotonic(), choice)
        if known is None or known[1].name != choice.name:
            self._on_change()
        return choice

    def forget(self) -> None:
        """Clear the cache after a change of the models."""
        with self._lock:
            self._known = None
