"""Reading order of the lines of a page: column after column, table rows kept as rows."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace

from crag.library.parse.paragraphs import Line

Row = list[Line]

WIDE_GAP = 1.5  # in line heights: the smallest gap between table cells
_BLANK = 0.15  # in line heights
_GUTTER = 4.0  # smallest distance between two columns, in points
_FEWEST_ROWS = 3  # fewer rows are not treated as columns
_FARTHEST_ROW = 3.0  # in line heights, from the row above
_NUMBER = re.compile(r"[\[(]?(?:\d{1,3}|[a-zA-Z])[\]).:]{0,2}|[^\w\s]")
_NARROWEST = 12.0  # in line heights: anything narrower is a table cell


def in_order(lines: Sequence[Line]) -> list[Line]:
    """Return the lines in reading order.

    Side-by-side cells in several consecutive lines become table rows; others become one line.
    """
    return list(_in_order(list(_rows(lines))))


def _rows(lines: Sequence[Line]) -> Iterator[Row]:
    """Group consecutive lines that are side by side. Parts with a small gap are merged into one line."""
    row: Row = []
    for line in lines:
        if row and _goes_on(row[-1], line):
            gap = " " if line.left - row[-1].right > _BLANK * line.height else ""
            row[-1] = replace(row[-1], text=f"{row[-1].text}{gap}{line.text}", right=line.right)
            continue
        if row and not all(_beside(line, other) for other in row):
            yield row
            row = []
        row.append(line)
    if row:
        yield row


def _beside(line: Line, other: Line) -> bool:
    overlap = min(line.bottom + line.height, other.bottom + other.height) - max(line.bottom, other.bottom)
    apart = line.left >= other.right or other.left >= line.right
    return apart and overlap > 0.5 * min(line.height, other.height)


def _goes_on(line: Line, after: Line) -> bool:
    return _beside(line, after) and 0 <= after.left - line.right < WIDE_GAP * max(line.height, after.height)


def _in_order(rows: list[Row]) -> Iterator[Line]:
    start = 0
    while start < len(rows):
        end, middle = _columns(rows, start)
        if end > start:
            lines = [line for row in rows[start:end] for line in row]
            sides = [[line for line in lines if (_centre(line) > middle) == right] for right in (False, True)]
            for side in reversed(sides) if _right_to_left(lines) else sides:
                yield from in_order(side)
        else:
            end = start + 1
            while end < len(rows) and len(rows[start]) > 1 and _is_next(rows[end - 1], rows[end]):
                end += 1
            yield from (_one(row, is_row=end - start > 1) for row in rows[start:end])
        start = end


def _columns(rows: list[Row], start: int) -> tuple[int, float]:
    """Return where the columns that begin at `start` end, and the x position that separates them.

    The end equals `start` if there are no columns.
    """
    if len(rows[start]) < 2:
        return start, 0.0
    first, second = sorted(rows[start][:2], key=_centre)
    low, high = first.right, second.left
    end, pairs = start, []
    for number, row in enumerate(rows[start:], start + 1):
        middle = (low + high) / 2
        low = max([low, *(line.right for line in row if _centre(line) <= middle)])
        high = min([high, *(line.left for line in row if _centre(line) > middle)])
        if high - low < _GUTTER:
            break
        if any(_centre(line) <= middle for line in row) and any(_centre(line) > middle for line in row):
            end = number
            pairs.append(row)
    widths = [(line.right - line.left) / line.height for row in pairs for line in row if line.height]
    wide = len(pairs) >= _FEWEST_ROWS and sum(widths) > _NARROWEST * len(widths)
    return (_with_rest(rows, end), (low + high) / 2) if wide else (start, 0.0)


def _with_rest(rows: list[Row], end: int) -> int:
    """Return the end of the longer column: lines that follow closely and are at most as wide as a column."""
    last = rows[end - 1]
    widest = max(line.right - line.left for line in last)
    while end < len(rows) and len(rows[end]) == 1:
        line, above = rows[end][0], rows[end - 1][0]
        if line.right - line.left > 1.1 * widest or not 0 < above.bottom - line.bottom < 2 * line.height:
            break
        end += 1
    return end


def _is_next(above: Row, row: Row) -> bool:
    """Return whether `row` is the next row of the table."""
    return len(row) > 1 and abs(above[0].bottom - row[0].bottom) < _FARTHEST_ROW * row[0].height


def _one(row: Row, is_row: bool) -> Line:
    """Merge a row into one line: table cells with bars, other cells as words of one line."""
    if len(row) == 1:
        return row[0]
    is_row = is_row and not (len(row) == 2 and _NUMBER.fullmatch(row[0].text))  # else a list, not a table
    text = (" | " if is_row else " ").join(line.text for line in row)
    left, right = min(line.left for line in row), max(line.right for line in row)
    return replace(row[0], text=text, left=left, right=right, is_row=is_row)


def _centre(line: Line) -> float:
    return (line.left + line.right) / 2


def _right_to_left(lines: Sequence[Line]) -> bool:
    directions = [unicodedata.bidirectional(sign) for line in lines for sign in line.text if sign.isalpha()]
    return 2 * sum(direction in ("R", "AL") for direction in directions) > len(directions)
