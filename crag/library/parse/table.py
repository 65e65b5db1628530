"""Parser for comma- or tab-separated values."""

from __future__ import annotations

import csv
import io
from collections import Counter
from itertools import islice

from crag.library.parse.document import Block, Document
from crag.library.parse.request import Request

_DELIMITERS = ",;\t|"
_SAMPLE_ROWS = 50
_SAMPLE = 65_536
_LONGEST_HEADING = 150


def read_table(request: Request, text: str) -> Document:
    """Parse rows; the column names become the heading, so that every passage of the table carries them."""
    csv.field_size_limit(request.limits.characters)
    lines = io.StringIO(text.removeprefix("\ufeff"), newline="")
    rows = [row for row in csv.reader(lines, delimiter=_delimiter(text)) if any(map(str.strip, row))]
    blocks = [Block(" | ".join(" ".join(cell.split()) for cell in row).rstrip(" |"), "row") for row in rows]
    if len(rows) > 1 and _names_columns(rows[0]) and len(blocks[0].text) <= _LONGEST_HEADING:
        blocks[0] = Block(blocks[0].text, "heading", level=1)
    return Document("", "csv", None, tuple(blocks))


def _delimiter(text: str) -> str:
    """Return the delimiter that splits the first rows most evenly, preferring more columns."""

    def evenness(delimiter: str) -> tuple[float, int]:
        rows = csv.reader(io.StringIO(text[:_SAMPLE], newline=""), delimiter=delimiter)
        widths = Counter(len(row) for row in islice(rows, _SAMPLE_ROWS) if row)
        width, count = widths.most_common(1)[0] if widths else (1, 0)
        return (count / widths.total(), width) if width > 1 else (0.0, 0)

    return max(_DELIMITERS, key=evenness)


def _names_columns(row: list[str]) -> bool:
    """Return whether the first row is a header: all cells filled, distinct, and not starting with a digit."""
    cells = [cell.strip() for cell in row]
    return len(cells) > 1 and len(set(cells)) == len(cells) and all(cell and not cell[0].isdigit() for cell in cells)
