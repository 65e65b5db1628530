"""Remembers for a while what answers under `auto`: looking asks a server, and every page and question wants to know."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from crag.models.choice import ModelChoice, choose_chat_model
from crag.settings import Settings

_SECONDS = 10.0


class RememberedChoice:
    """The chat model that answers where none was chosen. Safe to share between threads."""

    def __init__(self, settings: Settings, on_change: Callable[[], None]) -> None:
        """`on_change` is called when another model answers than before, also for the first."""
        self._settings = settings
        self._on_change = on_change
        self._lock = threading.Lock()
        self._known: tuple[float, ModelChoice] | None = None

    def now(self, *, anew: bool = False) -> ModelChoice:
        """What answers now, and why; looked up every few seconds at most, or `anew`."""
        with self._lock:
            known = self._known
        if not anew and known is not None and time.monotonic() - known[0] <= _SECONDS:
            return known[1]
        choice = choose_chat_model(self._settings)  # others need not wait for it
        with self._lock:
            self._known = (time.monotonic(), choice)
        if known is None or known[1].name != choice.name:
            self._on_change()
        return choice

    def forget(self) -> None:
        """Something about the models has changed: the next look is a new one."""
        with self._lock:
            self._known = None
