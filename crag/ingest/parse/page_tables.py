"""Ruled tables of a PDF page: crossing lines, and the text of the cells between them."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any, NamedTuple

_THIN = 3.0  # points: a filled rectangle that is narrower is a line
_NEAR = 3.0  # points by which the ends of lines may miss each other
_MAX_SEGMENTS = 10_000  # of a page; a drawing has more
_MAX_LINES = 300  # of a page, in one direction
_MAX_CELLS = 5_000
_LEAST_FILLED = 0.5  # share of the cells; the grid of a chart is empty
_LONGEST_CELL = 300  # characters on average; longer texts are columns or boxes of a page
_LEAST_CELLS = 4  # with text
_MAX_UNRULED = 2  # rows of a table that has lines below its header and at its end only
_LEAST_LINES = 3  # in each of their cells


class _Line(NamedTuple):
    """A horizontal or vertical line: its place across its direction, and from where to where it goes."""

    at: float
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class PageTable:
    """The cells of a table row by row; a cell that spans several columns or rows is in each of them.

    `bottoms` are the lower edges of the rows. Lengths are in points, from the left and the lower edge of the page.
    """

    rows: tuple[tuple[str, ...], ...]
    bottoms: tuple[float, ...]
    left: float
    right: float
    top: float

    def contains(self, x: float, y: float) -> bool:
        """Return whether a point is inside."""
        return self.left <= x <= self.right and self.bottoms[-1] <= y <= self.top


def find_ruled_tables(sheet: Any, text: Any) -> list[PageTable]:
    """Return the tables of a page, of which `text` is the text page, from above."""
    flat, upright = _read_lines(sheet)
    tables = [_read_table(*lines, text) for lines in _join_crossing(flat, upright)]
    return sorted(filter(None, tables), key=lambda table: -table.top)


def _read_lines(sheet: Any) -> tuple[list[_Line], list[_Line]]:
    """Return the horizontal and the vertical lines of a page; none of a page full of drawings."""
    import pypdfium2.raw as pdfium

    flat: list[_Line] = []
    upright: list[_Line] = []
    count = 0
    for path in sheet.get_objects([pdfium.FPDF_PAGEOBJ_PATH], max_depth=1):
        count += max(0, pdfium.FPDFPath_CountSegments(path.raw))
        if count > _MAX_SEGMENTS:
            return [], []
        for (left, bottom), (right, top) in _segments(path):
            if abs(top - bottom) <= 1 < abs(right - left):
                flat.append(_Line((bottom + top) / 2, min(left, right), max(left, right)))
            elif abs(right - left) <= 1 < abs(top - bottom):
                upright.append(_Line((left + right) / 2, min(bottom, top), max(bottom, top)))
    lines = _merge_lines(flat), _merge_lines(upright)
    return lines if max(map(len, lines)) <= _MAX_LINES else ([], [])


def _segments(path: Any) -> Iterator[tuple[tuple[float, float], tuple[float, float]]]:
    """Yield the straight strokes of a path, and the middle line of each thin rectangle that it fills."""
    import pypdfium2.raw as pdfium

    fill, stroke, x, y = ctypes.c_int(), ctypes.c_int(), ctypes.c_float(), ctypes.c_float()
    pdfium.FPDFPath_GetDrawMode(path.raw, fill, stroke)
    matrix = path.get_matrix()
    parts: list[list[tuple[float, float]]] = []
    for at in range(pdfium.FPDFPath_CountSegments(path.raw)):
        segment = pdfium.FPDFPath_GetPathSegment(path.raw, at)
        kind = pdfium.FPDFPathSegment_GetType(segment)
        if kind == pdfium.FPDF_SEGMENT_BEZIERTO:
            return
        pdfium.FPDFPathSegment_GetPoint(segment, x, y)
        if kind == pdfium.FPDF_SEGMENT_MOVETO or not parts:
            parts.append([])
        parts[-1].append(matrix.on_point(x.value, y.value))
        if pdfium.FPDFPathSegment_GetClose(segment):
            parts[-1].append(parts[-1][0])
    for points in parts:
        if stroke.value:
            yield from pairwise(points)
        elif fill.value:
            across, along = sorted({one for one, _ in points}), sorted({one for _, one in points})
            middle = (across[0] + across[-1]) / 2, (along[0] + along[-1]) / 2
            if across[-1] - across[0] <= _THIN < along[-1] - along[0]:
                yield (middle[0], along[0]), (middle[0], along[-1])
            elif along[-1] - along[0] <= _THIN < across[-1] - across[0]:
                yield (across[0], middle[1]), (across[-1], middle[1])


def _merge_lines(lines: Sequence[_Line]) -> list[_Line]:
    """Return lines without their breaks: pieces of the same height that touch are one line."""
    merged: list[_Line] = []
    places: list[list[_Line]] = []
    for line in sorted(lines):
        if places and line.at - places[-1][0].at <= _NEAR:
            places[-1].append(line)
        else:
            places.append([line])
    for place in places:
        at = place[0].at
        for line in sorted(place, key=lambda one: one.start):
            if merged and merged[-1].at == at and line.start <= merged[-1].end + _NEAR:
                merged[-1] = merged[-1]._replace(end=max(merged[-1].end, line.end))
            else:
                merged.append(_Line(at, line.start, line.end))
    return merged


def _join_crossing(flat: Sequence[_Line], upright: Sequence[_Line]) -> Iterator[tuple[list[_Line], list[_Line]]]:
    """Yield the horizontal and vertical lines that cross or meet, directly or over others."""
    left, rest = list(upright), list(flat)
    while rest:
        rows, columns = [rest.pop()], list[_Line]()
        new = list(rows)
        while new:
            found = [line for line in left if any(_cross(row, line) for row in new)]
            left = [line for line in left if line not in found]
            new = [line for line in rest if any(_cross(line, column) for column in found)]
            rest = [line for line in rest if line not in new]
            columns += found
            rows += new
        yield rows, columns


def _cross(flat: _Line, upright: _Line) -> bool:
    meets = flat.start - _NEAR <= upright.at <= flat.end + _NEAR
    return meets and upright.start - _NEAR <= flat.at <= upright.end + _NEAR


def _read_table(flat: Sequence[_Line], upright: Sequence[_Line], text: Any) -> PageTable | None:
    """Return the table between lines; None if they are no grid, or one that holds no table."""
    across = sorted({line.at for line in upright})
    edges = sorted({line.at for line in flat}, reverse=True)
    height, width = len(edges) - 1, len(across) - 1
    if height < 1 or width < 2 or height * width > _MAX_CELLS:
        return None
    cells, texts = _read_cells(across, edges, flat, upright, text)
    is_empty = sum(map(bool, texts)) < max(_LEAST_CELLS, _LEAST_FILLED * len(texts))
    if is_empty or len("".join(texts)) > _LONGEST_CELL * len(texts):
        return None
    parts = [(part, bottom) for row, bottom in zip(cells, edges[1:], strict=True) for part in _split_row(row, height)]
    rows = tuple(tuple(" ".join(cell.replace("\ufffe", "-").split()) for cell in row) for row, _ in parts)
    bottoms = tuple(bottom for _, bottom in parts)
    return PageTable(rows, bottoms, across[0], across[-1], edges[0]) if len(rows) > 1 else None


def _read_cells(
    across: Sequence[float], edges: Sequence[float], flat: Sequence[_Line], upright: Sequence[_Line], text: Any
) -> tuple[list[list[str]], list[str]]:
    """Return the texts of the cells by row and column, those of merged cells repeated, and each text once."""
    height, width = len(edges) - 1, len(across) - 1
    cells: dict[tuple[int, int], str] = {}
    texts: list[str] = []
    for top, first in product(range(height), range(width)):
        if (top, first) in cells:
            continue
        last, bottom = first + 1, top + 1
        middle = (edges[top] + edges[bottom]) / 2
        while last < width and not _is_ruled(upright, across[last], middle):
            last += 1
        middle = (across[first] + across[first + 1]) / 2
        while bottom < height and not _is_ruled(flat, edges[bottom], middle):
            bottom += 1
        inside = across[first] + 1, edges[bottom] + 1, across[last] - 1, edges[top] - 1
        texts.append(text.get_text_bounded(*inside).strip())
        for at in product(range(top, bottom), range(first, last)):
            is_title = last - first == width  # over all columns
            cells[at] = "" if is_title and at[1] > first else texts[-1]
    return [[cells[top, first] for first in range(width)] for top in range(height)], texts


def _is_ruled(lines: Sequence[_Line], at: float, middle: float) -> bool:
    return any(line.at == at and line.start <= middle <= line.end for line in lines)


def _split_row(cells: Sequence[str], height: int) -> list[Sequence[str]]:
    """Return the rows inside a row: each line is one in a table that has lines between its columns only."""
    lines = [cell.splitlines() for cell in cells]
    counts = {len(one) for one in lines}
    if height <= _MAX_UNRULED and len(counts) == 1 and (count := counts.pop()) >= _LEAST_LINES:
        return [[one[at] for one in lines] for at in range(count)]
    return [cells]
