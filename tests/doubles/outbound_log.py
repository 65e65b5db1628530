"""An outbound log in memory, which can also refuse to write."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class ListOutboundLog:
    failure: Exception | None = None
    entries: list[tuple[str, str, str]] = field(default_factory=list)

    def record(self, host: str, kind: str, what: str) -> None:
        if self.failure:
            raise self.failure
        self.entries.append((host, kind, what))
