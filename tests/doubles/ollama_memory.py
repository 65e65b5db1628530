"""The models in memory of the scripted Ollama server, reloaded when their window changes."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.doubles.ollama_values import Asked, Model

_USUAL_WINDOW = 4096
_USUAL_KEEP_ALIVE = 300.0
_FOR_EVER = 2.0**63 / 1e9  # the longest time that the server can count, in seconds


@dataclass
class Loaded:
    """A model in memory; `expires_at` in seconds since the epoch."""

    model: Model
    window: int
    expires_at: float

    def listed(self, on_gpu: float) -> dict[str, Any]:
        """As `/api/ps` tells of it."""
        expires = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=self.expires_at)
        size = self.model.size
        told = {"size_vram": round(on_gpu * size), "context_length": self.window, "expires_at": expires.isoformat()}
        return self.model.entry | told


class NotLoaded(Exception):
    """The server says why."""


@dataclass
class Memory:
    """`loads` are the names and windows of all loads that began; `on_gpu` the share of a model that a GPU holds.

    `refusals` end the next loads, one each, with these words and status 500.
    """

    load_seconds: float = 0.0
    on_gpu: float = 1.0
    loads: list[tuple[str, int]] = field(default_factory=list)
    held: dict[str, Loaded] = field(default_factory=dict)
    refusals: deque[str] = field(default_factory=deque)
    _loading: threading.Lock = field(default_factory=threading.Lock)

    def load(self, model: Model, asked: Asked, pause: Callable[[Callable[[], float]], None]) -> None:
        """Has the model there as it is asked for; `pause` waits, and raises when the client leaves, which aborts."""
        window = asked.body.get("options", {}).get("num_ctx", _USUAL_WINDOW)
        while not self._loading.acquire(timeout=0.01):
            pause(time.monotonic)
        try:
            held = self.held.get(model.name)
            if held is None or held.window != window:
                self.held.pop(model.name, None)
                self.loads.append((model.name, window))
                began = time.monotonic()
                pause(lambda: began + self.load_seconds)
                if self.refusals:
                    raise NotLoaded(self.refusals.popleft())
            self.held[model.name] = Loaded(model, window, time.time() + _kept(asked))
        finally:
            self._loading.release()

    def unload(self, name: str) -> None:
        """As when its time is over."""
        self.held.pop(name, None)

    def listed(self) -> list[dict[str, Any]]:
        """As `/api/ps` tells of it; a model that is still loading is not there."""
        return [loaded.listed(self.on_gpu) for loaded in list(self.held.values())]


def _kept(asked: Asked) -> float:
    """Seconds; numbers as they are, anything below 0 for ever."""
    kept = _USUAL_KEEP_ALIVE
    with suppress(TypeError, ValueError):
        kept = float(asked.body.get("keep_alive", _USUAL_KEEP_ALIVE))
    return _FOR_EVER if kept < 0 else kept
