"""Rows of tables as statements."""

import pytest

from crag.text.tables import find_column_names, label_table_rows


@pytest.mark.parametrize(
    ("units", "labelled"),
    [
        (["Site | Staff | Of which part-time", "Odby | 58 | 6"], ["Site: Odby | Staff: 58 | Of which part-time: 6"]),
        (["| Year | Price |", "|---|---|", "| 2021 | €12 |"], ["Year: 2021 | Price: €12"]),
        (["| Knot | Use |", "|---|---|", "| Bowline | rescue |"], ["Knot: Bowline | Use: rescue"]),
        (["Knot | Use", "Bowline | rescue"], ["Knot | Use", "Bowline | rescue"]),
        (["구분 | 기간", "이사 | 3일"], ["구분: 이사 | 기간: 3일"]),
        (["项目 | 期限", "搬家 | 3个月"], ["项目: 搬家 | 期限: 3个月"]),
        (["A | 1", "B | 2"], ["A | 1", "B | 2"]),
        (
            ["Prices rose.", "Item | Cost", "Rope | 4", "They fell."],
            ["Prices rose.", "Item: Rope | Cost: 4", "They fell."],
        ),
    ],
)
def test_cells_get_the_names_of_their_columns(units: list[str], labelled: list[str]) -> None:
    assert label_table_rows(units) == labelled


def test_the_column_names_may_be_the_heading() -> None:
    heading = "Item | Price"
    assert label_table_rows([heading, "Rope | 4"], heading) == ["Item: Rope | Price: 4"]
    assert label_table_rows(["Rope | red", "Some text."], heading) == ["Item: Rope | Price: red", "Some text."]


def test_the_column_names_may_be_in_another_part_of_the_passage() -> None:
    whole = ["Item | Price", "Rope | 4", "Clamp | 12"]
    assert label_table_rows(["Clamp | 12"], "", whole) == ["Item: Clamp | Price: 12"]
    assert find_column_names(whole) == ["Item | Price"]
