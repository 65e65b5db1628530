"""How work tells how far it is: it calls a function with each `Progress`."""

from __future__ import annotations

from collections.abc import Callable

from crag.types import Progress

Report = Callable[[Progress], None]


def silent(_progress: Progress) -> None:
    """Ignore progress; a `ProgressCallback` for work that nobody watches."""
