"""CSV files of what an answer lists or calculates."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from crag.runs.trace import Trace
from crag.text.sanitization import CsvCell, escape_formula


def export_matches(trace: Trace) -> bytes:
    """Return every match with its document, page and text, below a header row."""
    matches = trace.listed.matches if trace.listed else ()
    rows = [(match.title, match.page, match.sheet, match.text) for match in matches]
    return _write_csv(("document", "page", "sheet", "text"), rows)


def export_table(trace: Trace) -> bytes:
    """Return the result of the query below a header row."""
    return _write_csv(trace.table.columns, trace.table.rows) if trace.table else b""


def _write_csv(header: Sequence[str], rows: Iterable[Sequence[CsvCell]]) -> bytes:
    """Return a file that spreadsheets open as UTF-8, in which no cell is a formula."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerows([escape_formula(cell) for cell in row] for row in (header, *rows))
    return written.getvalue().encode("utf-8-sig")
