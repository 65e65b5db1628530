"""Shared colours and axes of the charts, for both themes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

BLUE, ORANGE = "#6079d6", "#c27116"  # like those of `score_bars`: contrast of at least 3:1 in both themes


def rows(names: Sequence[str], *, narrow: bool) -> dict[str, Any]:
    """Return an ordinal axis that shows every name in the given order; long names are cut, earlier if `narrow`."""
    limits = {"labelOverlap": False, "labelLimit": 150 if narrow else 240, "labelPadding": 8, "labelFlush": False}
    return {"type": "ordinal", "sort": [*names], "axis": {"title": None, "ticks": False, "domain": False, **limits}}
