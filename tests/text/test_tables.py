"""Rows of tables as statements."""

import pytest

from crag.text.tables import label_table_rows


@pytest.mark.parametrize(
    ("units", "labelled"),
    [
        (["Site | Staff | Of which part-time", "Odby | 58 | 6"], ["Odby | Staff: 58 | Of which part-time: 6"]),
        (["| Year | Price |", "|---|---|", "| 2021 | €12 |"], ["Year: 2021 | Price: €12"]),
        (["| Knot | Use |", "|---|---|", "| Bowline | rescue |"], ["| Bowline | rescue |"]),
        (["Knot | Use", "Bowline | rescue"], ["Knot | Use", "Bowline | rescue"]),
        (["A | 1", "B | 2"], ["A | 1", "B | 2"]),
        (["Prices rose.", "Item | Cost", "Rope | 4", "They fell."], ["Prices rose.", "Rope | Cost: 4", "They fell."]),
    ],
)
def test_figures_get_the_names_of_their_columns(units: list[str], labelled: list[str]) -> None:
    assert label_table_rows(units) == labelled
