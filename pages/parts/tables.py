"""How high tables are: as many rows as there are, up to where they scroll."""

from __future__ import annotations

_ROW, _EDGES = 35, 3  # pixels, as Streamlit draws them


def height(rows: int, most: int) -> int:
    """In pixels, for so many rows below the head; at `most` so many are seen at once."""
    return (min(rows, most) + 1) * _ROW + _EDGES
