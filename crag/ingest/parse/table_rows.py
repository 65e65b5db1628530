"""Rows of tables and sheets as blocks: captions and names of columns become one header."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from crag.ingest.parse.document import Block
from crag.text.table_headers import (
    TableHeader,
    find_figures,
    find_header,
    is_short,
    lone_cell,
    names_period,
    names_unit,
)
from crag.text.tables import write_row

MAX_COLUMNS_LENGTH = 500  # characters; longer names of columns are not repeated in every passage of a table
_MAX_HEADER_ROWS = 6  # read at once, with the figures below
_SURE_NAMES = 3  # so many filled cells name columns even if a blank row follows


def table_blocks(rows: Sequence[Sequence[str]], *, least_names: int = 0, title: str = "") -> list[Block]:
    """Return the rows of a table, or of a sheet with several tables. Blank rows are given as empty ones.

    The first row with at least `least_names` cells is a header, too, if no figures are below it; 0: it never is.
    `title` is a caption above every table that does not name another period.
    """
    return list(_TableReader([_strip_end(row) for row in rows], least_names, title).blocks())


def _strip_end(row: Sequence[str]) -> list[str]:
    return list(row[: max((at for at, cell in enumerate(row, 1) if cell), default=0)])


class _TableReader:
    """Reads rows from above, with the header of the table that they belong to."""

    def __init__(self, rows: Sequence[list[str]], least_names: int, title: str) -> None:
        self._rows = rows
        self._first = next((at for at, row in enumerate(rows) if sum(map(bool, row)) > 1), len(rows))
        self._least_names = least_names
        self._title = title
        self._header: TableHeader | None = None
        self._is_written = True  # the header
        self._names: list[str] = []
        self._has_figures = False  # the last row
        self._width = self._width_of(self._rows[self._first]) if self._first < len(rows) else 1

    def blocks(self) -> Iterator[Block]:
        """Yield the headers, each before the first row below it, and the rows."""
        at = 0
        while at < len(self._rows):
            row = self._rows[at]
            title = lone_cell(row)
            if not row:
                at += 1
            elif found := self._find_header(at):
                self._header, self._names, at = found
                self._width, self._is_written = len(self._names), False
            elif self._header and names_period(title) and is_short(title) and self._has_row_below(at):
                self._header, self._is_written = self._header.in_section(title), False
                at += 1
            else:
                yield from self._row_blocks(at)
                at += 1

    def _find_header(self, at: int) -> tuple[TableHeader, list[str], int] | None:
        """Return the header that begins at a row, the row that names the columns, and the first row below."""
        if find_figures(self._rows[at], is_first=True):
            return None
        places = list(islice((n for n in range(at, len(self._rows)) if self._rows[n]), _MAX_HEADER_ROWS))
        width = self._width_of(*(self._rows[n] for n in places))
        ahead = [[*self._rows[n], *[""] * (width - len(self._rows[n]))][:width] for n in places]
        header = find_header(ahead) or self._find_plain_header(at) or self._find_next_header(at, ahead)
        if header is None or len({*header.names} - {""}) < 2 or len(write_row(header.cells)) > MAX_COLUMNS_LENGTH:
            return None
        names = ahead[header.height - 1]
        above = [cell for row in ahead[: header.height - 1] for cell in row]
        is_new = self._follows_blank(at) or self._header is None or names[0] == self._names[0]
        is_new = is_new or any(names_period(cell) or names_unit(cell) for cell in above)
        if not is_new or not all(self._belongs_below(places, n) for n in range(header.height)):
            return None
        return header, names, places[header.height - 1] + 1

    def _find_plain_header(self, at: int) -> TableHeader | None:
        """Return the first row with several cells as a header if it is likely to be one."""
        names = [cell for cell in self._rows[at] if cell]
        is_header = at == self._first < len(self._rows) - 1 and _are_distinct_names(self._rows[at][: len(names)])
        return TableHeader(tuple(self._rows[at])) if 0 < self._least_names <= len(names) and is_header else None

    def _find_next_header(self, at: int, ahead: Sequence[Sequence[str]]) -> TableHeader | None:
        """Return the header, below a blank row, of another table, which has no figures although the one above has."""
        if len(ahead) < 2 or not self._header or not self._has_figures or not self._follows_blank(at):
            return None
        caption = lone_cell(ahead[0])
        names, *below = ahead[1:] if caption else ahead
        filled = [cell for cell in names if cell]
        is_header = len(below) > 1 and len(filled) > 1 and _are_distinct_names(names[: len(filled)])
        if not is_header or any(find_figures(row) for row in (names, *below)) or not is_short(caption):
            return None
        return TableHeader(tuple(names), (caption,), 2) if caption else TableHeader(tuple(names))

    def _belongs_below(self, places: Sequence[int], n: int) -> bool:
        """Return whether the header continues with this row after a blank one, if there is one."""
        row = self._rows[places[n]]
        if n + 1 == len(places) or places[n + 1] == places[n] + 1:
            return True
        if lone_cell(row):
            return names_period(lone_cell(row)) or names_unit(lone_cell(row))
        return sum(map(bool, row)) >= _SURE_NAMES or not row[0] or names_unit(row[0])

    def _has_row_below(self, at: int) -> bool:
        """Return whether a row of several cells comes next."""
        return any(sum(map(bool, row)) > 1 for row in self._rows[at + 1 : at + 3])

    def _follows_blank(self, at: int) -> bool:
        return at == 0 or not self._rows[at - 1]

    def _row_blocks(self, at: int) -> Iterator[Block]:
        """Yield a row, below the header if it is the first; as a paragraph if the table has ended above it."""
        row = self._rows[at]
        self._has_figures = bool(find_figures(row))
        if self._header and not self._is_written:
            self._is_written = True
            yield Block(write_row(self._titled(self._header).cells), "header")
        elif self._header and self._follows_blank(at) and not self._goes_on(at):
            self._header, self._names = None, []
            yield Block(write_row(row))
            return
        yield Block(write_row([*row, *[""] * (self._width - len(row))] if len(row) > 1 else row), "row")

    def _goes_on(self, at: int) -> bool:
        """Return whether the next row of several cells fills most columns of the table above the blank row."""
        ahead = self._rows[at : at + _MAX_HEADER_ROWS]
        wide = next((row for row in ahead if sum(map(bool, row)) > 1), [])
        return 2 * sum(map(bool, wide)) > sum(map(bool, self._names))

    def _titled(self, header: TableHeader) -> TableHeader:
        other = names_period(self._title) and any(names_period(cell) for cell in header.cells)
        return replace(header, captions=(self._title, *header.captions)) if self._title and not other else header

    def _width_of(self, *rows: Sequence[str]) -> int:
        """Return the width of rows that is worth empty cells: none if the names would be too long to be repeated."""
        widest = max(rows, key=len)
        return len(widest) if len(" | ".join(widest)) <= MAX_COLUMNS_LENGTH else 1


def _are_distinct_names(cells: Sequence[str]) -> bool:
    """Return whether cells could name columns: all filled, distinct, and not starting with a digit."""
    return len(cells) > 1 and len(set(cells)) == len(cells) and all(cell and not cell[0].isdigit() for cell in cells)
