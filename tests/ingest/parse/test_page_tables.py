"""Tables of PDF pages whose cells are separated by lines."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from reportlab.lib import colors
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Paragraph, SimpleDocTemplate, Table

from crag.cancellation import Cancellation
from crag.ingest.parse.child_process import parse_file
from crag.ingest.parse.document import Block, Document
from crag.ingest.reader import split_document
from crag.tables.data_table import DataTable, find_tables
from crag.tables.query import run_query
from crag.tables.questions import write_query
from crag.types import Passage

BODY = getSampleStyleSheet()["BodyText"]
GRID = ("GRID", (0, 0), (-1, -1), 0.5, colors.black)
SPANS = [("SPAN", (0, 0), (0, 1)), ("SPAN", (1, 0), (2, 0)), ("SPAN", (3, 0), (4, 0))]
REGIONS = [
    ["Region", "2023", "", "2024", ""],
    ["", "Visitors", "Revenue (kEUR)", "Visitors", "Revenue (kEUR)"],
    ["Coast", "12,400", "310.5", "13,900", "355.0"],
    ["Hills", "8,050", "201.0", "7,700", "188.4"],
    ["Total", "20,450", "511.5", "21,600", "543.4"],
]
INVOICES = [[f"Firm {at}", ("Spain", "Chile")[at % 2], f"€ {1000 + at:,}", f"{7 + at % 2 * 12} %"] for at in range(90)]
NAMES = ["Firm", "Country", "Amount", "VAT"]


def parse(data: bytes) -> Document:
    return parse_file("a.pdf", data, stop=Cancellation())


def typeset(rows: Sequence[Sequence[str]], *styles: Any, repeated: int = 0) -> Document:
    data = io.BytesIO()
    table = Table([list(row) for row in rows], repeatRows=repeated, style=[GRID, *styles])
    before, after = (Paragraph(f"A paragraph {place} the table of the report.", BODY) for place in ("above", "below"))
    SimpleDocTemplate(data).build([before, table, after])
    return parse(data.getvalue())


def drawn(draw: Callable[[Canvas], None]) -> Document:
    data = io.BytesIO()
    canvas = Canvas(data)
    draw(canvas)
    canvas.save()
    return parse(data.getvalue())


def tables(document: Document) -> list[DataTable]:
    chunks = split_document(document, lambda text: len(text) // 3 + 1, 250)
    return find_tables(
        [Passage(n, "a", "Report", "", one.text, one.text, heading=one.heading) for n, one in enumerate(chunks)]
    )


def texts(blocks: Sequence[Block], kind: str) -> list[str]:
    return [block.text for block in blocks if block.kind == kind]


@pytest.mark.parametrize("repeated", [0, 1], ids=["names on the first page", "names on every page"])
def test_a_table_of_several_pages_is_one(repeated):
    document = typeset([NAMES, *INVOICES], repeated=repeated)
    (table,) = tables(document)
    assert {block.page for block in document.blocks if block.kind == "row"} == {1, 2, 3}
    assert [(one.name, one.kind, one.unit) for one in table.columns[2:]] == [
        ("Amount", "number", "€"),
        ("VAT", "number", "%"),
    ]
    assert [row.values for row in table.rows][-1] == ("Firm 89", "Chile", 1089, 19)
    assert len(table.rows) == len(INVOICES)
    query = write_query("What is the total amount in Chile?", [table])
    assert query is not None
    assert query.is_certain
    assert run_query(query.sql, [table], Cancellation()).rows == ((sum(1000 + at for at in range(1, 90, 2)),),)


def test_merged_cells_name_all_columns_below_them():
    document = typeset(REGIONS, *SPANS)
    periods = [f"{year} · {name}" for year in ("2023", "2024") for name in REGIONS[1][1:3]]
    assert texts(document.blocks, "header") == [" | ".join(["Region", *periods])]
    assert texts(document.blocks, "row")[0] == "Coast | 12,400 | 310.5 | 13,900 | 355.0"
    assert [block.text[:17] for block in document.blocks if block.kind == "paragraph"] == [
        "A paragraph above",
        "A paragraph below",
    ]
    (table,) = tables(document)
    query = write_query("Which region had the most visitors in 2024?", [table])
    assert query is not None
    assert run_query(query.sql, [table], Cancellation()).rows == (("Coast", 13900),)


def test_a_cell_that_spans_rows_belongs_to_each():
    rows = [["Name", "Role", "Hours"], ["Ida", "Painter", "20"], ["", "Cleaner", "10"], ["Tom", "Mechanic", "38"]]
    document = typeset(rows, ("SPAN", (0, 1), (0, 2)))
    assert texts(document.blocks, "row") == ["Ida | Painter | 20", "Ida | Cleaner | 10", "Tom | Mechanic | 38"]


def test_lines_between_columns_only_make_a_row_of_each_line():
    def draw(canvas: Canvas) -> None:
        for at, row in enumerate([NAMES[:3], *(row[:3] for row in INVOICES[:4])]):
            for column, cell in enumerate(row):
                canvas.drawString(105 + 60 * column, 700 - 16 * at, cell)
        for x in (100, 160, 220, 280):
            canvas.rect(x, 630, 0.5, 84, stroke=0, fill=1)
        for y in (630, 694, 714):
            canvas.line(100, y, 280, y)

    rows = texts(drawn(draw).blocks, "row")
    assert rows == [" | ".join(row[:3]) for row in INVOICES[:4]]


def test_a_chart_and_a_framed_text_are_no_tables():
    def draw(canvas: Canvas) -> None:
        for at in range(6):
            canvas.line(100, 500 + 20 * at, 300, 500 + 20 * at)
            canvas.line(100 + 40 * at, 500, 100 + 40 * at, 600)
        canvas.drawString(130, 543, "Sales of kettles")
        canvas.rect(90, 700, 400, 40)
        canvas.drawString(100, 715, "Mind the hot water when you open the lid of the kettle.")

    assert not [block for block in drawn(draw).blocks if block.kind in ("row", "header")]
