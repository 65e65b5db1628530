"""Parser for Excel files: the values last calculated, row by row."""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Iterator
from typing import Any

from crag.library.parse.document import Block, Document
from crag.library.parse.limits import too_large
from crag.library.parse.request import Request


def read_xlsx(request: Request) -> Document:
    """Parse each sheet: its name as heading, then its non-empty rows. Raises `SourceRefused` (`too_large`)."""
    from openpyxl import load_workbook

    workbook = load_workbook(io.BytesIO(request.data), read_only=True, data_only=True, keep_links=False)
    blocks: list[Block] = []
    left = request.limits.characters
    for number, sheet in enumerate(workbook.worksheets, 1):
        request.progress("Reading sheet", number, len(workbook.worksheets))
        rows = []
        for row in _rows(sheet):
            left -= len(row)
            if left < 0:
                raise too_large(f"holds more than {request.limits.characters:,} characters of text")
            rows.append(Block(row, "row"))
        blocks += [Block(sheet.title, "heading", level=1), *rows] if rows else []
    return Document(workbook.properties.title or "", "xlsx", None, tuple(blocks))


def _rows(sheet: Any) -> Iterator[str]:
    sheet.reset_dimensions()  # the declared dimensions are not trusted
    for row in sheet.iter_rows():
        if text := " | ".join(_shown(cell) for cell in row).rstrip(" |"):
            yield text


def _shown(cell: Any) -> str:
    """Format a cell: ISO 8601 dates without midnight, numbers without floating-point noise."""
    value = cell.value
    if value is None or cell.data_type == "e":
        return ""
    if isinstance(value, dt.datetime):
        return value.date().isoformat() if value.time() == dt.time.min else value.isoformat(" ", "minutes")
    if isinstance(value, dt.time):
        return value.isoformat("minutes")
    if isinstance(value, float):
        return f"{100 * value:.6g}%" if "%" in cell.number_format else f"{value:.15g}"
    return " ".join(str(value).split())
