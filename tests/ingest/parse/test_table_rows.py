"""Tables and sheets as blocks."""

import pytest

from crag.ingest.parse.table_rows import table_blocks


def written(rows: list[list[str]], **options: str) -> list[str]:
    """The blocks: `#` marks headers, `>` text that belongs to no table."""
    marks = {"header": "# ", "row": "", "paragraph": "> "}
    return [marks[block.kind] + block.text for block in table_blocks(rows, **options)]


def test_each_table_of_a_sheet_has_its_own_caption():
    table = [["Zone", "Sales", "Profit"], ["Asia", "3", "1"], ["Total", "3", "1"]]
    rows = [["2023", "", ""], *table, [], ["2022"], *table, ["2021"], *table, [], *table]
    assert written(rows) == [
        line for title in ("2023 · ", "2022 · ", "2021 · ", "")
        for line in (f"# {title}Zone | Sales | Profit", "Asia | 3 | 1", "Total | 3 | 1")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("below", "headers"),
    [
        ([["Zone", "Cars"], ["Asia", "4"], ["Peru", "5"]], ["# Zone | Cars"]),
        ([["Vehicles"], ["Zone", "Cars"], ["Asia", "4"], ["Peru", "5"]], ["# Vehicles · Zone | Cars"]),
        ([[], ["Zone", "Head"], ["Asia", "Ann"], ["Peru", "Bo"]], ["# Zone | Head"]),
        ([[], ["Contacts"], ["Office", "Head"], ["Asia", "Ann"], ["Peru", "Bo"]], ["# Contacts · Office | Head"]),
        ([[], ["Rome", "7"], ["Peru", "5"]], []),
    ],
)
def test_another_table_below_does_not_keep_the_caption(below, headers):
    rows = [["Staff 2022"], ["Zone", "Staff"], ["Asia", "3"], ["Peru", "4"], *below]
    assert [line for line in written(rows) if line.startswith("#")] == ["# Staff 2022 · Zone | Staff", *headers]


def test_a_title_before_a_blank_row_is_a_caption_only_if_it_names_a_period_or_unit():
    table = [["Zone", "Sales"], ["Asia", "3"]]
    assert written([["Sales of Odby"], [], *table]) == ["Sales of Odby", "# Zone | Sales", "Asia | 3"]
    assert written([["Sales of 2023"], [], *table]) == ["# Sales of 2023 · Zone | Sales", "Asia | 3"]
    assert written([["Odby"], *table]) == ["# Odby · Zone | Sales", "Asia | 3"]


def test_a_period_in_the_middle_of_a_table_stands_above_the_rows_below():
    rows = [["Item", "Plan"], ["2023"], ["Rent", "12"], ["2022"], ["Rent", "10"], ["Power"], ["Gas", "5"]]
    assert written(rows) == [
        "# 2023 · Item | Plan",
        "Rent | 12",
        "# 2022 · Item | Plan",
        "Rent | 10",
        "Power",
        "Gas | 5",
    ]


def test_a_table_goes_on_below_a_blank_row_and_ends_where_other_cells_are_filled():
    header, total = ["Zone", "Sales", "Costs", "Profit"], ["Total", "9", "5", "4"]
    rows = [header, [], ["Asia", "9", "5", "4"], [], total, [], ["Rate", "1"], ["Tax", "2"]]
    assert written(rows) == [
        "# Zone | Sales | Costs | Profit",
        "Asia | 9 | 5 | 4",
        "Total | 9 | 5 | 4",
        "> Rate | 1",
        "Tax | 2 |  |",
    ]


def test_an_empty_first_cell_is_kept():
    assert written([["", "Sales", "Profit"], ["Asia", "3", "1"], ["", "4", "2"]]) == [
        "# |  | Sales | Profit |",
        "Asia | 3 | 1",
        "|  | 4 | 2 |",
    ]


@pytest.mark.parametrize(
    ("title", "header"),
    [("Odby", "Odby · 2023 · Zone | Sales"), ("FY2023", "2023 · Zone | Sales")],
)
def test_the_title_of_a_sheet_stands_above_its_tables(title, header):
    assert written([["2023", ""], ["Zone", "Sales"], ["Asia", "3"]], title=title)[0] == f"# {header}"


def test_a_single_line_may_end_a_sheet_below_a_blank_row():
    rows = [["Zone", "Sales"], ["Asia", "3"], ["Africa", "4"], [], ["(a) Without tax."]]
    assert written(rows)[-1] == "> (a) Without tax."
