"""Typed tables reconstructed from passages."""

import pytest

from crag.ingest.parse.document import Block, Document
from crag.ingest.parse.table_rows import table_blocks
from crag.ingest.reader import split_document
from crag.tables import data_table
from crag.tables.data_table import DataTable, TablesTooLarge, find_tables
from crag.types import Passage


def passages(*blocks: Block, title: str = "Report", size: int = 250) -> list[Passage]:
    chunks = split_document(Document(title, None, blocks), lambda text: len(text) // 3 + 1, size)
    return [
        Passage(at, title, title, "", chunk.text, chunk.text, heading=chunk.heading)
        for at, chunk in enumerate(chunks, 1)
    ]


def sheet(text: str, title: str = "Report", size: int = 250) -> list[Passage]:
    rows = [[cell.strip() for cell in row.split("|")] if row else [] for row in text.splitlines()]
    return passages(*table_blocks(rows, least_names=2), title=title, size=size)


def values(table: DataTable) -> list[tuple[object, ...]]:
    return [row.values for row in table.rows]


def test_columns_have_names_kinds_and_units() -> None:
    text = "Boat | Price (€) | Since | Share\nTern | 38,500 | 2 Mar 2020 | 12 %\nGull | n/a | 3 Apr 2021 | 8 %"
    (table,) = find_tables(sheet(text))
    found = [(one.name, one.sql_name, one.kind, one.unit) for one in table.columns]
    assert found == [
        ("Boat", "boat", "text", ""),
        ("Price (€)", "price", "number", "€"),
        ("Since", "since", "date", ""),
        ("Share", "share", "number", "%"),
    ]
    assert values(table) == [("Tern", 38500, "2020-03-02", 12), ("Gull", None, "2021-04-03", 8)]
    assert (table.sql_name, table.title, table.source_id) == ("table_1", "Report", "Report")
    assert table.rows[0].text == "Tern | 38,500 | 2 Mar 2020 | 12 %"


def test_a_table_of_many_passages_is_one() -> None:
    made = sheet("Boat | Price\n" + "\n".join(f"Boat {at} | {at}" for at in range(1, 1501)))
    (table,) = find_tables(made)
    assert len(made) > 20
    assert [row.values[1] for row in table.rows] == list(range(1, 1501))
    assert table.rows[-1].passage_id == len(made)


def test_columns_that_are_too_long_for_headings_are_known_in_later_passages() -> None:
    header = " | ".join(["Boat", *(f"Price in the harbour with the number {at} on the chart" for at in range(12))])
    rows = [f"Boat {at} | " + " | ".join(["1"] * 12) for at in range(60)]
    made = passages(*(Block(row, "row") for row in [header, *rows]))
    (table,) = find_tables(made)
    assert (len(table.rows), len(table.columns)) == (60, 13)


def test_tables_with_text_between_them_are_several() -> None:
    table = [Block(row, "row") for row in ("Boat | Price", "Tern | 4", "Gull | 5")]
    found = find_tables(passages(*table, Block("These were the prices of last year."), *table))
    assert [len(one.rows) for one in found] == [2, 2]
    assert [one.sql_name for one in found] == ["table_1", "table_2"]


def test_another_document_has_another_table() -> None:
    text = "Boat | Price\nTern | 4"
    assert [one.source_id for one in find_tables([*sheet(text, "A"), *sheet(text, "B")])] == ["A", "B"]


def test_repeated_headers_and_rules_are_no_rows() -> None:
    rows = ("| Boat | Price |", "|---|---|", "| Tern | 4 |", "| Boat | Price |", "| Gull | 5 |")
    (table,) = find_tables([Passage(1, "s", "T", "", "\n".join(rows), "", heading="Boat | Price")])
    assert values(table) == [("Tern", 4), ("Gull", 5)]


@pytest.mark.parametrize(
    ("rows", "kept", "totals"),
    [
        ("Rope | 4\nSail | 6\nTotal | 10", ["Rope", "Sail"], ["Total"]),
        ("Rope | 4\nSail | 6\nSubtotal | 10\nLamp | 3\nOil | 4\nTotal | 17", ["Rope", "Sail", "Lamp", "Oil"], None),
        ("밧줄 | 4\n돛 | 6\n합계 | 10", ["밧줄", "돛"], ["합계"]),
        ("绳子 | 4\n帆 | 6\n合计 | 10", ["绳子", "帆"], ["合计"]),
        ("Average | 5\nRope | 4\nSail | 6", ["Rope", "Sail"], ["Average"]),
        ("Total War | 4\nSail | 6\nChess | 7", ["Total War", "Sail", "Chess"], []),
        ("Rope | 4\nSail | 6\nTotal of gear | 10\nLamp | 3", ["Rope", "Sail", "Lamp"], ["Total of gear"]),
    ],
)
def test_totals_are_kept_apart(rows: str, kept: list[str], totals: list[str] | None) -> None:
    (table,) = find_tables(sheet(f"Item | Cost\n{rows}"))
    assert [row.values[0] for row in table.rows] == kept
    assert totals is None or [row.values[0] for row in table.totals] == totals


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "2", "3", "4", "many"], "number"),
        (["1", "2", "3", "many", "few"], "text"),
        (["5 kg", "300 g", "2 kg"], "text"),
        (["2021", "2022"], "number"),
        (["1,5", "2.5"], "text"),
    ],
)
def test_most_cells_decide_the_kind(cells: list[str], kind: str) -> None:
    (table,) = find_tables(sheet("Item | Figure\n" + "\n".join(f"Item {at} | {cell}" for at, cell in enumerate(cells))))
    assert table.columns[1].kind == kind


def test_cells_without_a_readable_number_are_counted() -> None:
    (table,) = find_tables(sheet("Item | Cost\nA | 1\nB | 2\nC | 3\nD | -\nE | about 9\nF | 4"))
    assert table.columns[1].unread == 1
    assert values(table)[3:5] == [("D", None), ("E", None)]


def test_a_caption_gives_unit_and_title() -> None:
    (table,) = find_tables(sheet("Sales, in thousands of CHF\nArea | 2023 | 2024\nEast | 4 | 5\nWest | 6 | 7"))
    assert "thousands of CHF" in table.columns[1].unit
    assert "Sales" in table.title
    (table,) = find_tables(sheet("部门 | 2023年 | 2024年\n研发部 | 4 | 5\n市场部 | 6 | 7", title="预算（万元）"))
    assert [one.unit for one in table.columns] == ["", "万元", "万元"]


HALF_YEARS = """Branches 30 06 2024

3.1 Branches

January–June 2024
In millions of CHF | Sales (a) | Profit | | Other income/(expenses) (b) | Margin (%)
Branch North | 120 | 27 | | -8 | 22
Mail order (c) | 31 | 6 | | 0 | 19
Total | 151 | 33 | | -8 | 22
January–June 2023
In millions of CHF | Sales (a) | Profit | | Other income/(expenses) (b) | Margin (%)
Branch North | 110 | 21 | | -3 | 20
Mail order (c) | 35 | — | | -1 | 17
Kiosk | 2 | 1 | | 0 | 50
Total | 147 | 22 | | -4 | 20

(a) Without sales between branches.
(b) Included in profit.
(c) Sent from the branch in the north."""


def test_tables_of_several_periods_are_one_with_the_columns_of_each() -> None:
    (table,) = find_tables(sheet(HALF_YEARS))
    assert [one.name for one in table.columns[1:]] == [
        f"January–June {year} · {name}"
        for year in (2024, 2023)
        for name in ("Sales", "Profit", "Other income/(expenses)", "Margin (%)")
    ]
    assert [one.unit for one in table.columns] == ["", *["millions of CHF"] * 3, "%", *["millions of CHF"] * 3, "%"]
    assert values(table) == [
        ("Branch North", 120, 27, -8, 22, 110, 21, -3, 20),
        ("Mail order", 31, 6, 0, 19, 35, None, -1, 17),
        ("Kiosk", None, None, None, None, 2, 1, 0, 50),
    ]
    assert [row.values[1] for row in table.totals] == [151]
    assert [one.sentence[:18] for one in table.rows[0].statements({1})] == ["Branch North | 110"]
    assert [one.sentence[:18] for one in table.rows[0].statements({0, 1})] == [
        "Branch North | 120",
        "Branch North | 110",
    ]
    assert "3.1 Branches" in table.above


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            "Sales | Stock\nNorth | 1 | 3\nSouth | 2 | 4",
            "Profit | Stock\nNorth | 1 | 3\nSouth | 2 | 4",
        ),  # other columns
        ("Sales | Stock\nNorth | 1 | 3\nSouth | 2 | 4", "Sales | Stock\nMay | 1 | 3\nJune | 2 | 4"),  # other rows
        (
            "Sales | Stock\nNorth | 1 | 3\nNorth | 2 | 4",
            "Sales | Stock\nNorth | 1 | 3\nNorth | 2 | 4",
        ),  # rows that cannot be told apart
    ],
)
def test_other_tables_of_two_periods_stay_apart(first: str, second: str) -> None:
    assert len(find_tables(sheet(f"2023\nIn CHF | {first}\n2024\nIn CHF | {second}"))) == 2


@pytest.mark.parametrize(
    ("name", "note", "kept", "unit"),
    [
        ("Sales (a)", "", "Sales", ""),
        ("Sales (1)", "", "Sales", ""),
        ("Length (m)", "", "Length (m)", "m"),
        ("Length (d)", "", "Length (d)", "d"),
        ("Sales (d)", "(d) Without tax.", "Sales", ""),
        ("Sales*", "", "Sales", ""),
        ("Profit (loss)", "", "Profit (loss)", ""),
    ],
)
def test_marks_of_footnotes_are_no_units(name: str, note: str, kept: str, unit: str) -> None:
    text = f"Shop | {name}\nNorth | 1\nSouth | 2\n\n{note}"
    (table,) = find_tables([Passage(1, "s", "T", "", text, "")])
    assert (table.columns[1].name, table.columns[1].unit) == (kept, unit)


def test_marks_that_tell_names_apart_are_kept() -> None:
    text = "Fund | Rate (1) | Rate (2)\nBond (a) | 1 | 2\nBond (b) | 3 | 4\n\n(a) Old.\n(b) New."
    (table,) = find_tables(sheet(text))
    assert [one.name for one in table.columns] == ["Fund", "Rate (1)", "Rate (2)"]
    assert [row.values[0] for row in table.rows] == ["Bond (a)", "Bond (b)"]


def test_sql_names_are_unique() -> None:
    (table,) = find_tables(sheet("Area | Cost (€) | Cost ($) | 매출 | rowid\nEast | 4 | 5 | 6 | 7"))
    assert [one.sql_name for one in table.columns] == ["area", "cost", "cost_3", "매출", "column_5"]


def test_more_cells_than_the_limit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_table, "MAX_CELLS", 3)
    with pytest.raises(TablesTooLarge, match="4 cells"):
        find_tables(sheet("Boat | Price\nTern | 4\nGull | 5"))


def test_text_holds_no_table() -> None:
    assert find_tables(passages(Block("The tern costs 4 and the gull 5. Nobody buys them."))) == []
