"""What the pictures of Evaluate look like in common, on either theme."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

BLUE, ORANGE = "#6079d6", "#c27116"  # with green, red and gray of `score_bars`: 3:1 at least on either background


def rows(names: Sequence[str], *, narrow: bool) -> dict[str, Any]:
    """An ordinal axis of names, in this order and none left out; shortened where there is little room."""
    limits = {"labelOverlap": False, "labelLimit": 150 if narrow else 240, "labelPadding": 8, "labelFlush": False}
    return {"type": "ordinal", "sort": [*names], "axis": {"title": None, "ticks": False, "domain": False, **limits}}
