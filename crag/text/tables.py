"""Rows of tables as statements: cells with the names of their columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from crag.text.language import is_table_row, split_sentences
from crag.types import Knowledge

_FIGURE_CELL = re.compile(r"[^\w]*\d[\d.,:%\s]*[^\w]*(?:[A-Za-z%]{1,4}|[가-힣\u4e00-\u9fff]{1,3})?")


def label_table_rows(units: Sequence[str], heading: str = "", whole: Sequence[str] = ()) -> list[str]:
    """Return sentences and rows, each cell of a row with its column: `Site: Odby | Staff: 58`.

    The header is a row above a rule or above figures, or the `heading`, as of a CSV file; it is left out, and so are
    rules. `whole` are the units of the passage from which `units` are taken, which may lack the header.
    """
    known = dict(_pair_with_labels(whole, heading))
    pairs = _pair_with_labels(units, heading)
    found = (known.get(unit, labelled) if is_table_row(unit) else labelled for unit, labelled in pairs)
    return [labelled for labelled in found if labelled]


def label_knowledge_rows(item: Knowledge) -> list[str]:
    """Return the sentences and table rows of a piece of knowledge, rows with the columns that its passage names."""
    passage = item.passage
    return label_table_rows(split_sentences(item.text), passage.heading, split_sentences(passage.text))


def find_column_names(units: Sequence[str]) -> list[str]:
    """Return the header rows among sentences and rows."""
    return [unit for unit, labelled in _pair_with_labels(units, "") if not labelled]


def _pair_with_labels(units: Sequence[str], heading: str) -> Iterator[tuple[str, str]]:
    """Yield each unit with itself as it reads with its columns: empty for headers and rules."""
    named = table_cells(heading) if is_table_row(heading) else []
    header = named
    for at, unit in enumerate(units):
        if not is_table_row(unit):
            header = named
            yield unit, unit
            continue
        cells = table_cells(unit)
        if not re.search(r"\w", unit) or (cells == header and header is named):
            yield unit, ""
            continue
        if not header:
            below = units[at + 1 : at + 3]
            if not any(map(_FIGURE_CELL.fullmatch, cells)) and any(_is_below(other, cells) for other in below):
                header = cells
                yield unit, ""
                continue
        yield unit, _label(cells, header) if len(cells) == len(header) else unit


def table_cells(row: str) -> list[str]:
    """Return the cells of a table row, without empty ones at either end."""
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def _is_below(unit: str, header: Sequence[str]) -> bool:
    """Return whether a unit shows that the row above is a header: a rule, or figures in as many cells."""
    cells = table_cells(unit)
    is_rule = not re.search(r"\w", unit)
    has_figures = len(cells) == len(header) and any(map(_FIGURE_CELL.fullmatch, cells))
    return is_table_row(unit) and (is_rule or has_figures)


def _label(cells: Sequence[str], header: Sequence[str]) -> str:
    return " | ".join(f"{name}: {cell}" if name and cell else cell for name, cell in zip(header, cells, strict=True))
