"""Typed tables, reconstructed from the rows that the passages of documents hold."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Literal

from crag.concurrency.caches import LRUCache
from crag.tables.cell_numbers import CellNumber, read_numbers
from crag.text.dates import parse_date
from crag.text.language import split_sentences
from crag.text.patterns import lazy_regex
from crag.text.table_headers import CAPTION_SEPARATOR, find_figures, find_header, is_short, names_period, names_unit
from crag.text.tables import TableUnit, find_heading_columns, is_total_row, read_table_units, table_cells, write_row
from crag.types import HEADING_SEPARATOR, Passage, Statement

MAX_CELLS = 200_000
_MAX_CACHED = 4  # sets of passages
_KIND_SHARE = 0.8  # of the filled cells of a column, which decide what it holds
MONTH_UNIT = "month"
"""Unit of a column of dates whose cells are months: 2025-05."""
_YEAR_AND_MONTH = lazy_regex(r"((?:19|20)\d\d)[-/](0?[1-9]|1[0-2])")
_SAMPLE = 20  # cells of which one is a date if the column holds dates
_MAX_NAME = 40  # characters
_SLASHED = lazy_regex(r"(\d{1,2})/(\d{1,2})/(\d{4})")
_MONTHS = 12
_EMPTY_CELL = lazy_regex(r"[-–—―./?]*|n\.?\s?/?\s?a\.?|none|null|nil|없음|해당 ?없음|[无無]|暂无|暫無", re.IGNORECASE)
_IN_BRACKETS = lazy_regex(r"(?<!\s)\s*[(（\[]([^()（）\[\]]*)[)）\]]")
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
_CORNER_UNIT = lazy_regex(r"\(?(?:in\s|단위|[单單]位)", re.IGNORECASE)
_COUNTERPART = lazy_regex(  # of what a column holds, as in “Profit (loss)” and “income/(expenses)”, and no unit
    r"loss(?:es)?|expenses?|costs?|charges?|decreases?|deficits?|outflows?|net|gross|손실|비용|감소|[亏虧][损損]|[减減]少",
    re.IGNORECASE,
)
_FOOTNOTE = lazy_regex(r"\(([a-z]|\d{1,2})\)\s+\S|([*†‡]+|[¹²³⁴-⁹]+)\s?\w")  # a line below a table
_MARK = lazy_regex(r"(?<=\S)\s*(?:\(([a-z]|\d{1,2})\)|([*†‡]+|[¹²³⁴-⁹]+))$")
_SURE_MARKS = frozenset(("a", "*", "**", "†", "‡", "¹", *map(str, range(1, 10))))  # in the name of a column
_MAX_ABOVE = 4  # lines above a table
_SHARED_LABELS = 0.5  # of the rows of two tables about two periods
_TOLERANCE = 0.006  # by which a total may differ from the sum of its rounded parts, as a share


class TablesTooLarge(Exception):
    """The tables hold more cells than are computed with. The message says so."""


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column with its name in the document, which may be empty, and a name for SQL that is unique in its table.

    `unread` counts the filled cells that do not hold what the kind says; their values are None. `part` is the index of
    its part of the table, if the document writes a table for each period.
    """

    name: str
    sql_name: str
    kind: Literal["text", "number", "date"]
    unit: str = ""
    unread: int = 0
    part: int = 0

    @property
    def quoted(self) -> str:
        """The name in SQL, in quotes."""
        return f'"{self.sql_name}"'


@dataclass(frozen=True, slots=True)
class TableRow:
    """The values of a row by column: numbers, text, dates as YYYY-MM-DD, or None; and the row as written.

    `parts` are the rows from which it was joined, if the document writes a table for each period.
    """

    values: tuple[str | float | None, ...]
    text: str
    passage_id: int
    parts: tuple[Statement | None, ...] = ()

    def statements(self, parts: Collection[int]) -> list[Statement]:
        """Return the rows of these parts as written."""
        held = [self.parts[at] for at in sorted(parts) if at < len(self.parts)]
        return [one for one in held if one] or [Statement(self.passage_id, self.text)]


@dataclass(frozen=True, slots=True)
class DataTable:
    """A table of a document. `totals` are its rows of totals and averages, which `rows` leaves out.

    `above` are the lines above it, which may say what its rows are. Tables with the same columns and rows for several
    periods are one, which has the columns of each period: “2022 · Sales”, “2023 · Sales”.
    """

    sql_name: str
    title: str
    source_id: str
    columns: tuple[TableColumn, ...]
    rows: tuple[TableRow, ...]
    totals: tuple[TableRow, ...] = ()
    above: str = ""

    def cells(self, column: TableColumn) -> list[str | float | None]:
        """Return the values of a column."""
        at = self.columns.index(column)
        return [row.values[at] for row in self.rows]


@dataclass(frozen=True, slots=True)
class _RawRow:
    """The cells of a row, the row as written, and the id of its passage."""

    cells: tuple[str, ...]
    text: str
    passage_id: int
    parts: tuple[Statement | None, ...] = ()


@dataclass(slots=True)
class _RawTable:
    """A header and the rows below it, as written; `width` is the number of columns of each part but the first."""

    title: str
    source_id: str
    header: tuple[str, ...]
    above: str = ""
    rows: list[_RawRow] = field(default_factory=list)
    width: int = 0


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
    marks = _find_marks(passages)
    raw = [table for table in _read_raw_tables(passages) if len(table.header) > 1 and table.rows]
    raw = _join_periods([_drop_marks(table, marks.get(table.source_id, frozenset())) for table in raw])
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
    above: list[str] = []
    for passage in passages:
        if passage.source_id != source_id:
            source_id, follows_row = passage.source_id, False
            above = []
        previous = table.header if table and follows_row else ()
        for unit in _read_units(passage, previous):
            is_new = table is None or unit.header != table.header or table.source_id != passage.source_id
            if unit.kind == "text":
                above = [*([] if follows_row else above), unit.text][-_MAX_ABOVE:]
                follows_row = False
            elif unit.header and (is_new or (unit.kind == "header" and not follows_row)):
                if table:
                    yield table
                lines = " · ".join(line for line in above if is_short(line) and not follows_row)
                table = _RawTable(_table_title(passage, unit.header), passage.source_id, unit.header, lines)
            if unit.kind != "text":
                follows_row = True
            if unit.kind == "row" and unit.header and table and (cells := _fit(unit.cells, len(unit.header))):
                table.rows.append(_RawRow(cells, unit.text, passage.id))
    if table:
        yield table


def _read_units(passage: Passage, previous: tuple[str, ...]) -> Iterator[TableUnit]:
    """Yield the units of a passage; one that begins with a row without column names continues the `previous` one."""
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


def _find_marks(passages: Sequence[Passage]) -> dict[str, set[str]]:
    """Return the marks of the footnotes of each document: `a` for a line such as “(a) Before taxes.”."""
    found: dict[str, set[str]] = {}
    for passage in passages:
        notes = (_FOOTNOTE.match(line) for line in passage.text.splitlines() if "|" not in line)
        found.setdefault(passage.source_id, set()).update(note[1] or note[2] for note in notes if note)
    return found


def _drop_marks(table: _RawTable, marks: Collection[str]) -> _RawTable:
    """Return a table without the marks of footnotes in its names and cells, as in “Sales (a)”."""
    header = _drop_from_all(table.header, _SURE_MARKS.union(marks))
    if marks and table.rows:
        columns = zip(*(row.cells for row in table.rows), strict=True)
        rows = zip(*(_drop_from_all(column, marks) for column in columns), strict=True)
        table.rows = [replace(row, cells=cells) for row, cells in zip(table.rows, rows, strict=True)]
    return replace(table, header=header)


def _drop_from_all(texts: Sequence[str], marks: Collection[str]) -> tuple[str, ...]:
    """Return texts without marks, unless only marks distinguish some of them."""
    bare = tuple(_drop_mark(text, marks) for text in texts)
    return bare if len({*bare}) == len({*texts}) else tuple(texts)


def _drop_mark(text: str, marks: Collection[str]) -> str:
    found = _MARK.search(text)
    return text[: found.start()] if found and (found[1] or found[2]) in marks else text


def _join_periods(tables: Sequence[_RawTable]) -> list[_RawTable]:
    """Return tables, those with the same columns and rows for several periods as one with the columns of all."""
    found: list[list[_RawTable]] = []
    for table in tables:
        group = next((group for group in found if _is_same_but_period(group, table)), None)
        if group:
            group.append(table)
        else:
            found.append([table])
    return [_join(group) if len(group) > 1 else group[0] for group in found]


def _is_same_but_period(group: Sequence[_RawTable], table: _RawTable) -> bool:
    first, period = group[0], _caption_period(table)
    if not period or not _caption_period(first) or period in map(_caption_period, group):
        return False
    is_alike = (
        first.source_id == table.source_id
        and first.header[1:] == table.header[1:]
        and _without_period(first.title) == _without_period(table.title)
    )
    labels = [[row.cells[0] for row in one.rows] for one in (first, table)]
    are_unique = all(len({*one}) == len(one) for one in labels)
    shared = len({*labels[0]} & {*labels[1]})
    return is_alike and are_unique and shared > _SHARED_LABELS * max(map(len, labels))


def _caption_period(table: _RawTable) -> str:
    """Return the only period in the caption of a table."""
    parts = table.header[0].split(CAPTION_SEPARATOR)[:-1]
    periods = [part for part in parts if names_period(part)]
    return periods[0] if len(periods) == 1 else ""


def _without_period(title: str) -> str:
    """Return a title without the periods of the caption at its end."""
    rest, separator, caption = title.rpartition(HEADING_SEPARATOR)
    parts = [part for part in caption.split(CAPTION_SEPARATOR) if not names_period(part)]
    return f"{rest}{separator if parts else ''}{CAPTION_SEPARATOR.join(parts)}"


def _join(tables: Sequence[_RawTable]) -> _RawTable:
    """Return one table with the columns of each period, and a row for each label."""
    first, width = tables[0], len(tables[0].header) - 1
    corner = CAPTION_SEPARATOR.join(
        part for part in first.header[0].split(CAPTION_SEPARATOR) if part != _caption_period(first)
    )
    names = [
        f"{_caption_period(table)}{CAPTION_SEPARATOR}{name}" if name else ""
        for table in tables
        for name in table.header[1:]
    ]
    held = [{row.cells[0]: row for row in table.rows} for table in tables]
    joined = _RawTable(_without_period(first.title), first.source_id, (corner, *names), first.above, width=width)
    for label in dict.fromkeys(label for rows in held for label in rows):
        rows = [one.get(label) for one in held]
        cells = [cell for row in rows for cell in (row.cells[1:] if row else [""] * width)]
        parts = tuple(Statement(row.passage_id, row.text) if row else None for row in rows)
        known = next(row for row in rows if row)
        joined.rows.append(_RawRow((label, *cells), known.text, known.passage_id, parts))
    return joined


def _build_table(raw: _RawTable, number: int) -> DataTable:
    caption, _, first = raw.header[0].rpartition(CAPTION_SEPARATOR)
    if names_unit(first) and _CORNER_UNIT.match(first):
        caption, first = CAPTION_SEPARATOR.join(filter(None, (caption, first))), ""
    names = (first, *raw.header[1:])
    columns = [[_clean(row.cells[at]) for row in raw.rows] for at in range(len(names))]
    read = [read_numbers(cells) for cells in columns]
    rows = [at for at, row in enumerate(raw.rows) if any(map(_clean, row.cells))]
    totals = _find_totals([raw.rows[at] for at in rows], [[numbers[at] for at in rows] for numbers in read])
    kept = [at for n, at in enumerate(rows) if n not in totals]
    built: list[TableColumn] = []
    values: list[list[str | float | None]] = []
    for at, name in enumerate(names):
        if not name and not any(columns[at]):
            continue
        kind, unit, typed = _type_column(columns[at], read[at], kept)
        known = {column.sql_name for column in built}
        if kind == "number":
            unit = (
                _bracket_unit(name) or unit or ("" if "%" in name else _caption_unit(caption)) or _title_unit(raw.title)
            )
        unread = sum(1 for row in kept if columns[at][row] and typed[row] is None)
        part = (at - 1) // raw.width if raw.width and at else 0
        built.append(
            TableColumn(
                name,
                _sql_name(name, at, known),
                kind,
                "" if kind == "text" else unit,
                unread,
                part,
            )
        )
        values.append(typed)
    made = {
        at: TableRow(
            tuple(typed[at] for typed in values), raw.rows[at].text, raw.rows[at].passage_id, raw.rows[at].parts
        )
        for at in rows
    }
    return DataTable(
        f"table_{number}",
        raw.title,
        raw.source_id,
        tuple(built),
        tuple(made[at] for at in kept),
        tuple(made[rows[n]] for n in sorted(totals)),
        raw.above,
    )


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
    months = [_read_month(cell) for cell in cells]
    if filled and sum(months[at] is not None for at in filled) >= least:
        return "date", MONTH_UNIT, list(months)
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


def _read_month(cell: str) -> str | None:
    """Return the first day of a month such as 2025-05 or May 2025."""
    if len(cell) > _MAX_NAME or not re.search(r"\d", cell):
        return None
    if match := _YEAR_AND_MONTH.fullmatch(cell):
        return f"{match[1]}-{int(match[2]):02}-01"
    found = parse_date(cell)
    is_month = found is not None and found.year and found.month and not found.day
    return f"{found.year}-{found.month:02}-01" if found and is_month else None


def _bracket_unit(name: str) -> str:
    """Return the unit in the last brackets of a column's name."""
    inside = [str(text).strip() for text in _IN_BRACKETS.findall(name)]
    return inside[-1] if inside and not _COUNTERPART.fullmatch(inside[-1]) else ""


def _caption_unit(caption: str) -> str:
    """Return the unit in the caption of a table, as in “In millions of CHF”."""
    parts = [part for part in caption.split(CAPTION_SEPARATOR) if names_unit(part)]
    return re.sub(r"^in ", "", parts[-1], flags=re.IGNORECASE) if parts else ""


def _title_unit(title: str) -> str:
    """Return the unit in the last brackets of a title, as in “Budget (万元)”."""
    inside = [text for text in _IN_BRACKETS.findall(title) if _TITLE_UNIT.fullmatch(text.strip())]
    return str(inside[-1]).strip() if inside else ""


def _sql_name(name: str, at: int, known: set[str]) -> str:
    bare = re.sub(r"\W+", "_", _IN_BRACKETS.sub("", name)).strip("_").lower()[:_MAX_NAME]
    bare = bare if bare and bare != "rowid" else f"column_{at + 1}"
    return bare if bare not in known else f"{bare}_{at + 1}"


def _find_totals(rows: Sequence[_RawRow], numbers: Sequence[Sequence[CellNumber | None]]) -> set[int]:
    """Return the indices of rows that hold totals or averages.

    A row with a word for a total among others, as in “Total War”, is one only at the end, or if its figures add up.
    """
    found: set[int] = set()
    labelled = Counter(cell for row in rows for cell in {*map(_clean, row.cells)})
    for at, row in enumerate(rows):
        labels = [cell for n, cell in enumerate(map(_clean, row.cells)) if cell and numbers[n][at] is None]
        has_figure = any(column[at] for column in numbers)
        if not has_figure or not labels:
            continue
        is_named = is_total_row(row.text) or bool(_SUBTOTAL.search(row.text))
        is_named = is_named and not all(count > 1 for count in (labelled[cell] for cell in labels))
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
