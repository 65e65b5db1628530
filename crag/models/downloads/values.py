"""What a download is, and what fetches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from crag.progress import Report
from crag.stopping import Stop

DownloadState = Literal["running", "cancelled", "failed", "done"]

# Fetches all that is not there yet, and tells its `Report` how far it is in bytes; what it asks of which host is in the
# ledger before it is sent. Raises `CragError`, and `Stopped` within half a second of a request, also while nothing
# comes. Called again, it goes on where it was.
Fetch = Callable[[Report, Stop], None]


@dataclass(frozen=True, slots=True)
class Download:
    """How far it is. `name` is `ollama:NAME` or `nomic`; `stage` is for people; `done` and `total` in bytes.

    `total` is 0 while it is not known. `rate` in bytes a second, over the last seconds; `seconds_left` None while
    nothing can be said. `fault`: why it failed, and what to do. What the end of its process broke off is *cancelled*.
    """

    name: str
    state: DownloadState
    stage: str = ""
    done: int = 0
    total: int = 0
    rate: float = 0.0
    fault: str = ""

    @property
    def seconds_left(self) -> float | None:
        """At the rate of the last seconds."""
        if self.state != "running" or self.rate <= 0 or self.done >= self.total:
            return None
        return (self.total - self.done) / self.rate
