"""Typed tables, reconstructed from the rows that the passages of documents hold."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Literal

from crag.concurrency.caches import LRUCache
from crag.tables.cell_numbers import CellNumber, read_numbers
from crag.text.dates import parse_date
from crag.text.language import split_sentences
from crag.text.patterns import lazy_regex
from crag.text.table_headers import CAPTION_SEPARATOR, find_figures, find_header, names_unit
from crag.text.tables import TableUnit, find_heading_columns, is_total_row, read_table_units, table_cells, write_row
from crag.types import HEADING_SEPARATOR, Passage

MAX_CELLS = 200_000
_MAX_CACHED = 4  # sets of passages
_KIND_SHARE = 0.8  # of the filled cells of a column, which decide what it holds
_SAMPLE = 20  # cells of which one is a date if the column holds dates
_MAX_NAME = 40  # characters
_SLASHED = lazy_regex(r"(\d{1,2})/(\d{1,2})/(\d{4})")
_MONTHS = 12
_EMPTY_CELL = lazy_regex(r"[-–—―./?]*|n\.?\s?/?\s?a\.?|none|null|nil|없음|해당 ?없음|[无無]|暂无|暫無", re.IGNORECASE)
_IN_BRACKETS = lazy_regex(r"\s*[(（\[]([^()（）\[\]]*)[)）\]]")
_TITLE_UNIT = lazy_regex(
    r"(?:단위|[单單]位)?\s?[:：]?\s?[천만백억千百万萬亿億]*\s?[원명元圆圓]"
    r"|(?:in )?(?:[A-Z]{3}|[$€£¥])?\s?(?:k|m|bn|000s?|thousands?|millions?|billions?)?"
    r"(?: (?:of )?(?:[A-Z]{3}|[$€£¥]))?",
    re.IGNORECASE,
)
_IS_TOTAL = lazy_regex(
    r"(?:(?:grand |overall )?totals?|sub-?\s?totals?|sum|average|avg\.?|mean|overall|all|합계|총계|총합|총합계|계|누계"
    r"|소계|평균|전체|[总總][计計额額数數]?|合[计計]|小[计計]|共[计計]|平均|全部)[:：]?",
    re.IGNORECASE,
)
_SUBTOTAL = lazy_regex(r"\bsub-?\s?totals?\b|소계|小[计計]", re.IGNORECASE)
_TOLERANCE = 0.006  # by which a total may differ from the sum of its rounded parts, as a share


class TablesTooLarge(Exception):
    """The tables hold more cells than are computed with. The message says so."""


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column, named as in the document, with a name for SQL that is unique in its table.

    `unread` counts the filled cells that do not hold what the kind says; their values are None.
    """

    name: str
    sql_name: str
    kind: Literal["text", "number", "date"]
    unit: str = ""
    unread: int = 0

    @property
    def quoted(self) -> str:
        """The name in SQL, in quotes."""
        return f'"{self.sql_name}"'


@dataclass(frozen=True, slots=True)
class TableRow:
    """The values of a row by column: numbers, text, dates as YYYY-MM-DD, or None; and the row as written."""

    values: tuple[str | float | None, ...]
    text: str
    passage_id: int


@dataclass(frozen=True, slots=True)
class DataTable:
    """A table of a document. `totals` are its rows of totals and averages, which `rows` leaves out."""

    sql_name: str
    title: str
    source_id: str
    columns: tuple[TableColumn, ...]
    rows: tuple[TableRow, ...]
    totals: tuple[TableRow, ...] = ()


@dataclass(slots=True)
class _RawTable:
    """A header and the rows below it, as written, with the ids of their passages."""

    title: str
    source_id: str
    header: tuple[str, ...]
    rows: list[tuple[tuple[str, ...], str, int]] = field(default_factory=list)


class TableCache:
    """Finds tables, and keeps those of the passages that were asked about last. Thread-safe."""

    def __init__(self) -> None:
        self._found: LRUCache[bytes, list[DataTable]] = LRUCache(_MAX_CACHED)

    def find(self, passages: Sequence[Passage]) -> list[DataTable]:
        """Return what `find_tables` returns, which must not be changed. Raises `TablesTooLarge`."""
        digest = hashlib.blake2b()
        for passage in passages:
            digest.update(repr((passage.id, passage.source_id, passage.title, passage.sheet, passage.heading)).encode())
            digest.update(passage.text.encode())
        key = digest.digest()
        if (found := self._found.get(key)) is None:
            found = find_tables(passages)
            self._found.put(key, found)
        return found


def find_tables(passages: Sequence[Passage]) -> list[DataTable]:
    """Return the tables of passages in document order. Raises `TablesTooLarge`."""
    raw = [table for table in _read_raw_tables(passages) if len(table.header) > 1 and table.rows]
    cells = sum(len(table.header) * len(table.rows) for table in raw)
    if cells > MAX_CELLS:
        raise TablesTooLarge(
            f"The tables have {cells:,} cells; at most {MAX_CELLS:,} are computed with. Choose fewer documents."
        )
    tables = (_build_table(table, number) for number, table in enumerate(raw, 1))
    return [table for table in tables if table.rows]


def _read_raw_tables(passages: Sequence[Passage]) -> Iterator[_RawTable]:
    """Yield tables; rows directly below those of the passage before belong to the same one."""
    table: _RawTable | None = None
    follows_row = False
    source_id = ""
    for passage in passages:
        if passage.source_id != source_id:
            source_id, follows_row = passage.source_id, False
        previous = table.header if table and follows_row else ()
        for unit in _read_units(passage, previous):
            is_new = table is None or unit.header != table.header or table.source_id != passage.source_id
            if unit.kind == "text":
                follows_row = False
            elif unit.header and (is_new or (unit.kind == "header" and not follows_row)):
                if table:
                    yield table
                table = _RawTable(_table_title(passage, unit.header), passage.source_id, unit.header)
            if unit.kind != "text":
                follows_row = True
            if unit.kind == "row" and unit.header and table and (cells := _fit(unit.cells, len(unit.header))):
                table.rows.append((cells, unit.text, passage.id))
    if table:
        yield table


def _read_units(passage: Passage, previous: tuple[str, ...]) -> Iterator[TableUnit]:
    """Yield the units of a passage; one that begins with a row and names no columns goes on with the `previous`."""
    units = split_sentences(passage.text)
    heading = passage.heading
    if previous and units and not find_heading_columns(heading):
        first = [table_cells(unit) for unit in units[:6]]
        if len(first[0]) == len(previous) and (find_figures(first[0]) or not find_header(first)):
            heading = write_row(previous)
    return read_table_units(units, heading)


def _fit(cells: tuple[str, ...], width: int) -> tuple[str, ...]:
    """Return the cells of a row with empty ones at its end up to a width; nothing if there are too many."""
    return (*cells, *[""] * (width - len(cells))) if len(cells) <= width else ()


def _table_title(passage: Passage, header: tuple[str, ...]) -> str:
    columns = find_heading_columns(passage.heading)
    heading = passage.heading.rpartition(HEADING_SEPARATOR)[0] if columns else passage.heading
    caption = header[0].rpartition(CAPTION_SEPARATOR)[0]
    parts = (passage.title, passage.sheet, heading, caption)
    return HEADING_SEPARATOR.join(dict.fromkeys(part for part in parts if part))


def _build_table(raw: _RawTable, number: int) -> DataTable:
    caption, _, first = raw.header[0].rpartition(CAPTION_SEPARATOR)
    names = (first, *raw.header[1:])
    columns = [[_clean(cells[at]) for cells, _, _ in raw.rows] for at in range(len(names))]
    read = [read_numbers(cells) for cells in columns]
    rows = [at for at, (cells, _, _) in enumerate(raw.rows) if any(map(_clean, cells))]
    totals = _find_totals([raw.rows[at] for at in rows], [[numbers[at] for at in rows] for numbers in read])
    kept = [at for n, at in enumerate(rows) if n not in totals]
    built: list[TableColumn] = []
    values: list[list[str | float | None]] = []
    for at, name in enumerate(names):
        kind, unit, typed = _type_column(columns[at], read[at], kept)
        known = {column.sql_name for column in built}
        unit = _header_unit(name, caption) or unit or _title_unit(raw.title) if kind == "number" else ""
        unread = sum(1 for row in kept if columns[at][row] and typed[row] is None)
        built.append(TableColumn(name or f"Column {at + 1}", _sql_name(name, at, known), kind, unit, unread))
        values.append(typed)
    made = {at: TableRow(tuple(typed[at] for typed in values), raw.rows[at][1], raw.rows[at][2]) for at in rows}
    sums = tuple(made[rows[n]] for n in sorted(totals))
    title = raw.title
    return DataTable(f"table_{number}", title, raw.source_id, tuple(built), tuple(made[at] for at in kept), sums)


def _clean(cell: str) -> str:
    text = cell.strip().strip("*").strip()
    return "" if _EMPTY_CELL.fullmatch(text) else text


def _type_column(
    cells: Sequence[str], numbers: Sequence[CellNumber | None], kept: Sequence[int]
) -> tuple[Literal["text", "number", "date"], str, list[str | float | None]]:
    """Return the kind of a column, the unit of its cells and their values; `kept` are the rows that decide."""
    filled = [at for at in kept if cells[at]]
    least = _KIND_SHARE * max(len(filled), 1)
    if any(_read_date(cells[at]) or _SLASHED.fullmatch(cells[at]) for at in filled[:_SAMPLE]):
        dates = [_read_date(cell) for cell in _order_days(cells)]
        if sum(dates[at] is not None for at in filled) >= least:
            return "date", "", list(dates)
    units = Counter(found.unit for at in filled if (found := numbers[at]))
    named = [unit for unit in units if unit]
    is_mixed = len(named) > 1 or ("%" in named and "" in units)
    if units.total() >= least and not is_mixed:
        return "number", named[0] if named else "", [number.value if number else None for number in numbers]
    return "text", "", [cell or None for cell in cells]


def _order_days(cells: Sequence[str]) -> list[str]:
    """Return cells with dates such as 03/04/2024 as 2024-04-03 if another cell shows whether the day comes first."""
    matches = [_SLASHED.fullmatch(cell) for cell in cells]
    is_day = [any(match and int(match[at]) > _MONTHS for match in matches) for at in (1, 2)]
    if is_day[0] == is_day[1]:
        return list(cells)
    day, month = (1, 2) if is_day[0] else (2, 1)
    pairs = zip(cells, matches, strict=True)
    return [f"{match[3]}-{match[month]:0>2}-{match[day]:0>2}" if match else cell for cell, match in pairs]


def _read_date(cell: str) -> str | None:
    found = parse_date(cell) if len(cell) <= _MAX_NAME and re.search(r"\d", cell) else None
    if found is None or not (found.year and found.month and found.day):
        return None
    try:
        return date(found.year, found.month, found.day).isoformat()
    except ValueError:
        return None


def _header_unit(name: str, caption: str) -> str:
    """Return the unit in the brackets of a column's name, or in the caption of its table."""
    inside = _IN_BRACKETS.findall(name)
    if inside:
        return str(inside[-1]).strip()
    parts = [part for part in caption.split(CAPTION_SEPARATOR) if names_unit(part)]
    return parts[-1].removeprefix("in ") if parts else ""


def _title_unit(title: str) -> str:
    """Return the unit in the last brackets of a title, as in “Budget (万元)”."""
    inside = [text for text in _IN_BRACKETS.findall(title) if _TITLE_UNIT.fullmatch(text.strip())]
    return str(inside[-1]).strip() if inside else ""


def _sql_name(name: str, at: int, known: set[str]) -> str:
    bare = re.sub(r"\W+", "_", _IN_BRACKETS.sub("", name)).strip("_").lower()[:_MAX_NAME]
    bare = bare if bare and bare != "rowid" else f"column_{at + 1}"
    return bare if bare not in known else f"{bare}_{at + 1}"


def _find_totals(
    rows: Sequence[tuple[tuple[str, ...], str, int]], numbers: Sequence[Sequence[CellNumber | None]]
) -> set[int]:
    """Return the indices of rows that hold totals or averages.

    A row with a word for a total among others, as in “Total War”, is one only at the end, or if its figures add up.
    """
    found: set[int] = set()
    for at, (cells, text, _) in enumerate(rows):
        labels = [cell for n, cell in enumerate(map(_clean, cells)) if cell and numbers[n][at] is None]
        has_figure = any(column[at] for column in numbers)
        if not has_figure or not labels:
            continue
        is_named = is_total_row(text) or bool(_SUBTOTAL.search(text))
        if _IS_TOTAL.fullmatch(labels[0]) or (is_named and (at == len(rows) - 1 or _adds_up(numbers, at, found))):
            found.add(at)
    return found


def _adds_up(numbers: Sequence[Sequence[CellNumber | None]], at: int, totals: set[int]) -> bool:
    """Return whether a figure of a row is the sum of two or more rows right above it, totals left out."""
    for column in numbers:
        if not (own := column[at]) or not own.value:
            continue
        total, count = 0.0, 0
        for above in range(at - 1, -1, -1):
            number = column[above]
            if above in totals or number is None:
                continue
            total, count = total + number.value, count + 1
            if count > 1 and abs(total - own.value) <= _TOLERANCE * abs(own.value):
                return True
    return False
