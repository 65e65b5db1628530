"""Progress reports of long tasks: callbacks that receive `Progress` values."""

from __future__ import annotations

from collections.abc import Callable

from crag.types import Progress

Report = Callable[[Progress], None]


def silent(_progress: Progress) -> None:
    """Ignore progress; a `ProgressCallback` for work that nobody watches."""
