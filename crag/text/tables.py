"""Rows of tables as statements: figures with the names of their columns."""

from __future__ import annotations

import re
from collections.abc import Sequence

from crag.text.language import is_table_row

_FIGURE_CELL = re.compile(r"[^\w]*\d[\d.,:%\s]*[^\w]*(?:[A-Za-z%]{1,4})?")


def label_table_rows(units: Sequence[str]) -> list[str]:
    """Return sentences and rows, each figure in a row with its column: `Total | Q1: 6,955 | Q2: 7,315`.

    The header is a row above a rule or above figures; it is left out, and so are rules.
    """
    labelled: list[str] = []
    header: list[str] = []
    for at, unit in enumerate(units):
        if not is_table_row(unit):
            header = []
            labelled.append(unit)
            continue
        cells = table_cells(unit)
        if not re.search(r"\w", unit):
            continue
        if not header:
            header = [] if any(map(_FIGURE_CELL.fullmatch, cells)) else cells
            if header and any(_is_below(other, header) for other in units[at + 1 : at + 3]):
                continue
        has_figures = len(cells) == len(header) and any(map(_FIGURE_CELL.fullmatch, cells))
        labelled.append(_label(cells, header) if has_figures else unit)
    return labelled


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
    named = (
        f"{name}: {cell}" if name and _FIGURE_CELL.fullmatch(cell) else cell
        for name, cell in zip(header, cells, strict=True)
    )
    return " | ".join(named)
