"""Rows of tables as statements: cells with the names of their columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Literal, NamedTuple

from crag.text.language import extract_terms, is_table_row, split_sentences
from crag.text.patterns import lazy_regex
from crag.text.questions import FRAME_TERMS
from crag.text.table_headers import CAPTION_SEPARATOR, find_header
from crag.text.word_forms import find_other_forms
from crag.types import HEADING_SEPARATOR, Knowledge, Passage

# 총 and 总 also begin words that are no totals, such as 총무팀 (general affairs) and 总经理 (general manager).
_KOREAN_TOTAL = r"총(?!무|장(?!비)|리|회|괄|재(?![고산])|칙|론|각|알|기(?!간)|선|영사|학|지배|감독|경(?!비)|평)"
_CHINESE_TOTAL = r"[总總](?![部经經裁监監书書理统統局馆館店公校台站行])"
_TOTAL_CELL = lazy_regex(
    rf"(?<!sub)(?<!sub[- ])\btotals?\b|\bsum\b|(?<!소)합계|총계|총합|^{_KOREAN_TOTAL}|^계$|누계"
    rf"|[总總][计計额額数數]|合[计計]|^{_CHINESE_TOTAL}|共[计計]",
    re.IGNORECASE,
)


_YEAR = lazy_regex(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_NAME_ENDING = lazy_regex(  # no words of a column's name: units, marks of footnotes
    r"\([^()]{1,20}\)"
    r"|[ _](?:m2|m²|[mck]?m|k?g|mg|m?l|k?wh|h|min|sec|usd|eur|gbp|chf|jpy|krw|cny|pct|percent|%|°?[cf])$",
    re.IGNORECASE,
)
_NO = lazy_regex(r"no|none|[-–—✗✘×]|아니[오요]|없음|불가|否|无|無|不可", re.IGNORECASE)
_YES = lazy_regex(r"yes|[✓✔]|예|네|있음|가능|是|有|可", re.IGNORECASE)
_IS_NEGATIVE = lazy_regex(r"\b(?:not|no|without|never|cannot)\b|n[’']t\b|않|없|아닌|[不没沒無无]", re.IGNORECASE)
_MIN_WIDE_CELLS = 6
_ASKS_PRICE = lazy_regex(
    r"\bhow much (?:is|are|does|do|for)\b|얼마(?:예요|에요|이에요|인가요|입니까|죠|야|나 [하해]|$|[?？])|多少[钱錢]"
    r"|(?<=[가-힣A-Za-z\d] )(?:가격|값)(?:[은이]? ?(?:알려|뭐|무엇|어떻).*)?\W*$",
    re.IGNORECASE,
)
_PRICE_TERMS = frozenset(
    extract_terms("price cost fee charge 가격 요금 금액 값 비용 단가 价格 價格 费用 費用 单价 單價")
)
_CJK_PRICE = lazy_regex(
    r"(?:가격|요금|금액|비용|단가|[价價]格?|[费費]用?)(?=\W*(?:\([^()]*\))?$)"
)  # the end of a column's name
_CODE = lazy_regex(r"(?<![A-Za-z\d-])[A-Za-z]{1,4}-?\d{1,5}[A-Za-z]?(?![A-Za-z\d-])")
_ROW_CODE = lazy_regex(r"[A-Za-z]{0,4}[-/.]?\d{1,8}[A-Za-z]?")  # tells nobody what the row is about
_MIN_REMARK_WORDS = 4
_MIN_DROPPED_CELLS = 3  # a row is not shortened for less
_MAX_HEADER_HEIGHT = 4  # rows


def label_table_rows(units: Sequence[str], heading: str = "", whole: Sequence[str] = ()) -> list[str]:
    """Return sentences and rows, each cell of a row with its column: `Site: Odby | Staff: 58`.

    The header is a row above a rule or above figures, or the last `heading`, as of a sheet; it is left out, and so are
    rules. `whole` are the units of the passage from which `units` are taken, which may lack the header.
    """
    return [labelled for _, labelled in _pair_rows(units, heading, whole)]


def _pair_rows(units: Sequence[str], heading: str, whole: Sequence[str]) -> list[tuple[str, str]]:
    known = dict(_pair_with_labels(whole, heading))
    pairs = _pair_with_labels(units, heading)
    found = ((unit, known.get(unit, labelled) if is_table_row(unit) else labelled) for unit, labelled in pairs)
    return [(unit, labelled) for unit, labelled in found if labelled]


def label_units(passage: Passage) -> dict[str, str]:
    """Return each sentence and row of a passage with what it says as `label_table_rows` does: nothing for a header."""
    return dict(_pair_with_labels(split_sentences(passage.text), passage.heading))


def label_row(row: str, passage: Passage) -> str:
    """Return a table row of a passage with the names of its columns, “week: 7 — km: 48”; empty for other text."""
    labelled = label_units(passage).get(row, "") if is_table_row(row) else ""
    return "" if labelled == row else " — ".join(filter(None, table_cells(labelled)))


def label_knowledge_rows(item: Knowledge) -> list[str]:
    """Return the sentences and table rows of a piece of knowledge, rows with the columns that its passage names."""
    return [labelled for _, labelled in pair_knowledge_rows(item)]


def pair_knowledge_rows(item: Knowledge) -> list[tuple[str, str]]:
    """Return each sentence and table row of a piece of knowledge as written, and as `label_knowledge_rows` does."""
    passage = item.passage
    return _pair_rows(split_sentences(item.text), passage.heading, split_sentences(passage.text))


def find_column_names(units: Sequence[str]) -> list[str]:
    """Return the header rows among sentences and rows."""
    return [unit for unit, labelled in _pair_with_labels(units, "") if not labelled]


def _pair_with_labels(units: Sequence[str], heading: str) -> Iterator[tuple[str, str]]:
    """Yield each unit with itself as it reads with its columns: empty for headers and rules."""
    for unit in read_table_units(units, heading):
        if unit.kind == "row" and len(unit.cells) == len(unit.header):
            yield unit.text, _label(unit.cells, unit.header)
        else:
            yield unit.text, unit.text if unit.kind in ("text", "row") else ""


class TableUnit(NamedTuple):
    """A sentence or table row of a passage, with its cells and the header that it stands below, if any."""

    text: str
    kind: Literal["text", "header", "rule", "row"]
    cells: tuple[str, ...] = ()
    header: tuple[str, ...] = ()


def read_table_units(units: Sequence[str], heading: str = "") -> Iterator[TableUnit]:
    """Yield sentences and rows in order; a header may be a row above figures or a rule, or the last `heading`."""
    named = find_heading_columns(heading)
    header = named
    header_end = 0
    for at, unit in enumerate(units):
        if not is_table_row(unit):
            header = named
            yield TableUnit(unit, "text")
            continue
        cells = tuple(table_cells(unit))
        if not re.search(r"\w", unit):
            yield TableUnit(unit, "rule", cells, header)
            continue
        if at < header_end or (cells == header and header is named):
            yield TableUnit(unit, "header", cells, header)
            continue
        is_first = at > 0 and not is_table_row(units[at - 1])  # the table of another sheet may begin
        if (not header or is_first) and (found := find_header(_take_rows(units[at : at + _MAX_HEADER_HEIGHT + 2]))):
            header, header_end = found.cells, at + found.height
            yield TableUnit(unit, "header", cells, header)
            continue
        yield TableUnit(unit, "row", cells, header)


def find_columns(passage: Passage, text: str) -> str:
    """Return the header row above the first row of a part of a passage; empty if the part has it, or no rows."""
    units = read_table_units(split_sentences(passage.text), passage.heading)
    part = {line.strip() for line in text.split("\n")}
    first = next((unit for unit in units if unit.kind in ("row", "header") and unit.text.strip() in part), None)
    return write_row(first.header) if first and first.kind == "row" and first.header else ""


def find_heading_columns(heading: str) -> tuple[str, ...]:
    """Return the names of the columns with which the heading of a passage ends, if it continues a table."""
    columns = heading.rpartition(HEADING_SEPARATOR)[2]
    return tuple(table_cells(columns)) if is_table_row(columns) else ()


def _take_rows(units: Sequence[str]) -> list[list[str]]:
    return [table_cells(unit) for unit in takewhile(is_table_row, units)]


ROW_SEPARATOR = " | "


def write_row(cells: Sequence[str]) -> str:
    """Return a table row, the inverse of `table_cells`; bars at both ends keep an empty first cell."""
    row = ROW_SEPARATOR.join(cells).rstrip(" ")
    return row if cells[0] or len(cells) == 1 else f"| {ROW_SEPARATOR.join(cells)} |"


def table_cells(row: str) -> list[str]:
    """Return the cells of a table row, without the bars at both ends."""
    bare = row.strip()
    return [cell.strip() for cell in (bare.strip("|") if bare.startswith("|") else bare).split("|")]


def is_total_row(row: str) -> bool:
    """Return whether a row, with or without the names of its columns, holds the totals of a table."""
    return any(_TOTAL_CELL.search(value) for _, value in _read_cells(row)) and bool(re.search(r"\d", row))


def is_wide_row(row: str) -> bool:
    """Return whether a row has so many cells that one of them is hard to find."""
    return sum(map(bool, table_cells(row))) >= _MIN_WIDE_CELLS


def trim_row(row: str, question: str) -> tuple[str, ...]:
    """Return the cells of a row that a question asks for, the label first; nothing if its columns do not tell.

    `row` is one of `label_table_rows`. Every word of a column's name, or a synonym, must occur in the question; if no
    column is named, the cells that say more about its words are, and remarks. Cells that only choose the row are kept,
    and its name where it begins with a code.
    """
    cells, asked, years = _read_cells(row), _read_asked(question), frozenset(_YEAR.findall(question))
    values = [frozenset(extract_terms(value)) for _, value in cells]
    choosing = {at for at, terms in enumerate(values) if at and terms and terms <= asked}
    columns = {at: _match_column(name, asked, years) for at, (name, _) in enumerate(cells) if at and at not in choosing}
    named = {at: terms for at, terms in columns.items() if terms}
    telling = {at for at in named if not any(named[at] < other for other in named.values())}
    told = {at for at in columns if values[at] & (asked - FRAME_TERMS)}
    remarks = {at for at in columns if is_remark(cells[at][1])}
    if told - remarks and _ROW_CODE.fullmatch(cells[0][1]):
        name = max(sorted(told - remarks), key=lambda at: len(values[at] & asked))
        choosing = {name, *(at for at in choosing if not values[at] <= values[name])}
    telling |= told & remarks if telling or not told else told | remarks
    kept = sorted(telling | choosing)
    written = table_cells(row)
    is_shorter = len(kept) + _MIN_DROPPED_CELLS < len(cells)
    return (written[0], *(written[at] for at in kept)) if telling and is_shorter else ()


def is_remark(cell: str) -> bool:
    """Return whether a cell, with or without the name of its column, holds free text rather than a value."""
    return len(cell.rpartition(": ")[2].split()) >= _MIN_REMARK_WORDS


def explains_code(question: str, text: str) -> bool:
    """Return whether a row or line says what a code of the question means: "E06 | Door open", "E06 – door open"."""
    codes = "|".join(map(re.escape, _CODE.findall(question)))
    explained = rf"(?:^|[.;:!?)]\s)\W*(?:{codes})\s*(?:[|:–—]|-\s)"
    return bool(codes) and bool(re.search(explained, text, re.IGNORECASE | re.MULTILINE))


def names_cell(question: str, row: str) -> bool:
    """Return whether a question names a row by all the words of its label, and one of its columns.

    `row` is one of `label_table_rows`.
    """
    asked = _read_asked(question)
    (_, label), *others = _read_cells(row) or [("", "")]
    terms = frozenset(extract_terms(label))
    return bool(terms) and terms <= asked and any(_match_column(name, asked, frozenset()) for name, _ in others)


def _read_asked(question: str) -> frozenset[str]:
    """Return the terms of a question, their other forms and synonyms."""
    terms = [*extract_terms(question), *(_PRICE_TERMS if _ASKS_PRICE.search(question) else ())]
    return frozenset(terms).union(*map(find_other_forms, terms))


def _match_column(name: str, asked: frozenset[str], years: frozenset[str]) -> frozenset[str]:
    """Return the words of a column's name if the question has them all; of a period its year is enough."""
    if asked >= _PRICE_TERMS and (price := _CJK_PRICE.search(name)):
        return frozenset(price.group())
    found = frozenset[str]()
    for part in name.split(CAPTION_SEPARATOR):
        terms = frozenset(extract_terms(_NAME_ENDING.sub(" ", part)))
        own = frozenset(_YEAR.findall(part))
        if own and years:
            terms &= own if own & years else frozenset((part,))
        if not terms <= asked and not (own and not years and found):
            return frozenset()
        found |= terms
    return found


def find_rows_of_others(question: str, asked: frozenset[str], units: Sequence[str]) -> set[str]:
    """Return the table rows that a question is not about.

    Where rows are about what it names, these are those about none of it, and where some are not, those that deny it:
    "Contains eggs: no". `asked` are the terms of the question.
    """
    labels = {unit: frozenset(extract_terms(_read_cells(unit)[0][1])) for unit in units if is_table_row(unit)}
    named = frozenset[str]().union(*(label for label in labels.values() if label <= asked))
    opposite = _YES if _IS_NEGATIVE.search(question) else _NO
    denied = {
        row
        for row in labels
        for column, value in _read_cells(row)
        if opposite.fullmatch(value.strip()) and (terms := frozenset(extract_terms(column))) and terms <= asked
    }
    others = {row for row in labels if named and named.isdisjoint(extract_terms(row))}
    return others | denied if denied != labels.keys() else others


def _read_cells(row: str) -> list[tuple[str, str]]:
    """Return the cells of a row with the names of their columns, which may be empty."""
    parts = (cell.rpartition(": ") for cell in table_cells(row)) if "|" in row else ()
    return [(name, value) for name, _, value in parts]


def _label(cells: Sequence[str], header: Sequence[str]) -> str:
    pairs = zip(header, cells, strict=True)
    return " | ".join(f"{name}: {cell}" if name else cell for name, cell in pairs if cell)
