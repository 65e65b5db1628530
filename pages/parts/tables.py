"""Height of tables: grows with the rows up to a limit, then scrolls."""

from __future__ import annotations

_ROW, _EDGES = 35, 3  # pixels, as drawn by Streamlit


def height(rows: int, most: int) -> int:
    """Return the height in pixels of a table with a header and `rows` rows, `most` of them visible at once."""
    return (min(rows, most) + 1) * _ROW + _EDGES
