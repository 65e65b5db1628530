"""State of a download, and the type of a fetch function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from crag.progress import Report
from crag.stopping import Stop

DownloadState = Literal["running", "cancelled", "failed", "done"]

# Fetches what is missing and reports progress in bytes. Each request is recorded in the ledger before it is sent.
# Raises `CragError`, and `Stopped` within half a second of cancellation, even while no data arrives. Resumes when
# called again.
Fetch = Callable[[Report, Stop], None]


@dataclass(frozen=True, slots=True)
class Download:
    """State of a download. `name` is `ollama:NAME` or `nomic`; `stage` is for display; sizes in bytes.

    `total` is 0 while unknown. `rate` is in bytes per second over the last seconds; `seconds_left` is None while
    unknown. `fault` says why it failed and what to do. A download interrupted by the end of its process is *cancelled*.
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
        """Remaining time at the current rate."""
        if self.state != "running" or self.rate <= 0 or self.done >= self.total:
            return None
        return (self.total - self.done) / self.rate
