"""Numbers in the cells of a column."""

import pytest

from crag.tables.cell_numbers import CellNumber, read_number, read_numbers


@pytest.mark.parametrize(
    ("cell", "value", "unit"),
    [
        ("38,500", 38500, ""),
        ("1.8", 1.8, ""),
        ("1 234", 1234, ""),
        ("1'234.5", 1234.5, ""),
        ("12 %", 12, "%"),
        ("(500)", -500, ""),
        ("-3.5", -3.5, ""),
        ("−7", -7, ""),
        ("3.2M", 3_200_000, ""),
        ("$3.2M", 3_200_000, "$"),
        ("£3.2m", 3_200_000, "£"),
        ("3 m", 3, "m"),
        ("12k", 12_000, ""),
        ("2.5 million", 2_500_000, ""),
        ("€ 1,234.50", 1234.5, "€"),
        ("1,234 EUR", 1234, "EUR"),
        ("3만", 30_000, ""),
        ("5,000원", 5000, "원"),
        ("2.5亿", 250_000_000, ""),
        ("3억 2,000만원", 320_000_000, "원"),
        ("5천만원", 50_000_000, "원"),
        ("1만5천원", 15_000, "원"),
        ("1亿2000万元", 120_000_000, "元"),
        ("14명", 14, "명"),
        ("2024", 2024, ""),
    ],
)
def test_a_number_is_read_as_people_write_it(cell: str, value: float, unit: str) -> None:
    assert read_numbers([cell]) == [CellNumber(value, unit)]


@pytest.mark.parametrize(
    "cell", ["", "many", "3-5", "12,34,5", "1.2.3", "A-1000", "2024-01-02", "5 or 6", "12:30", "1억5천", "5만 3억"]
)
def test_other_cells_hold_no_number(cell: str) -> None:
    assert read_number(cell) is None


@pytest.mark.parametrize("cell", [f"{'1' * 60}-A", f"{'1 ' * 60}-", f"{'1만 ' * 60}-", f"{'1.1 ' * 60}!"])
def test_a_long_code_is_not_divided_into_parts_in_every_way_there_is(cell: str) -> None:
    assert read_number(cell) is None


def test_the_notation_is_that_of_the_column() -> None:
    assert [one and one.value for one in read_numbers(["1.234,5", "2.500", "€ 1 234,50"])] == [1234.5, 2500, 1234.5]
    assert [one and one.value for one in read_numbers(["1,234.5", "2,500"])] == [1234.5, 2500]
    assert read_numbers(["1,5", "2.5"]) == [None, None]  # nobody can tell which is meant
