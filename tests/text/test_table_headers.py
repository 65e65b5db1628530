"""Headers of tables with captions, units and merged cells above the names of columns."""

import pytest

from crag.text.table_headers import find_header, is_figure

FIGURES = ["Asia", "3", "-1", "2", "(4)", "—"]


def header(*rows: list[str]) -> tuple[str, ...]:
    """The names that are found above figures."""
    found = find_header([*rows, FIGURES[: len(rows[-1])]])
    return found.cells if found else ()


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        ([["Zone", "Sales", "Profit"]], ("Zone", "Sales", "Profit")),
        ([["Year ended June 30, 2023", "", ""], ["Zone", "Sales", "Profit"]],
         ("Year ended June 30, 2023 · Zone", "Sales", "Profit")),
        ([["", "", "2023"], ["Zone", "Sales", "Profit"]], ("2023 · Zone", "Sales", "Profit")),
        ([["in thousands", "", "2023"], ["", "Sales", "Profit"]], ("2023 · in thousands", "Sales", "Profit")),
        ([["Odby", "", ""], ["(in millions)", "", ""], ["Zone", "Sales", "Profit"]],
         ("Odby · (in millions) · Zone", "Sales", "Profit")),
        ([["In CHF", "2023"]], ("In CHF", "2023")),
        ([["지점", "2023년", "2022년"]], ("지점", "2023년", "2022년")),
        ([["单位：万元", "2023年", "2023年"], ["门店", "收", "利"]], ("2023年 · 单位：万元 · 门店", "收", "利")),
    ],
)  # fmt: skip
def test_a_caption_stands_above_the_whole_table(rows, names):
    assert header(*rows) == names


@pytest.mark.parametrize(
    "above",
    [
        ["", "2023", "2023", "2022", "2022"],
        ["Zone", "2023", "", "2022", ""],
        ["", "", "2023", "", "2022"],
    ],
)
def test_a_caption_stands_above_the_columns_that_it_spans(above):
    names = ("Zone", "2023 · Sales", "2023 · Profit", "2022 · Sales", "2022 · Profit")
    assert header(above, ["Zone", "Sales", "Profit", "Sales", "Profit"]) == names


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        ([["", "", "2023", "", "2022"], ["Zone", "Land", "In", "Out", "In", "Out"]],
         ("Zone", "Land", "2023 · In", "2023 · Out", "2022 · In", "2022 · Out")),
        ([["", "", "2023", "", "", "2022"], ["Zone", "In", "Out", "In", "Out", "Net"]],
         ("Zone", "2023 · In", "2023 · Out", "2022 · In", "2022 · Out", "2022 · Net")),
        ([["Sales", "2023", "", "2022", ""], ["Zone", "In", "Out", "In", "Out"]],
         ("Sales · Zone", "2023 · In", "2023 · Out", "2022 · In", "2022 · Out")),
        ([["", "2023", "2022"], ["Zone", "Sales", "Sales"]], ("Zone", "2023 · Sales", "2022 · Sales")),
    ],
)  # fmt: skip
def test_names_that_repeat_show_what_periods_stand_above(rows, names):
    assert header(*rows) == names


def test_columns_without_names_part_the_captions():
    found = find_header([["", "", "2023", "", "2022"], ["Zone", "Sales", "Profit", "", "Sales"], FIGURES[:5]])
    assert found is not None
    assert found.cells == ("Zone", "2023 · Sales", "2023 · Profit", "", "2022 · Sales")


def test_captions_that_may_stand_above_other_columns_are_given_to_none():
    names = header(["", "", "2023", "", "2022"], ["Zone", "Sales", "Costs", "Profit", "Tax", "Net"])
    assert names == ("2023 · 2022 · Zone", "Sales", "Costs", "Profit", "Tax", "Net")


@pytest.mark.parametrize(
    "rows",
    [
        [["Work", "Planned", "Now"], ["Roof", "May 2024", "July 2024"], ["Floor", "June 2024", "May 2025 (late)"]],
        [["구분", "1회", "한 달"], ["어른", "6,000원", "70,000원"], ["어린이", "3,000원", "40,000원"]],
        [["Light", "Cause", "Remedy"], ["F1", "No paper", "Fill the tray"], ["F2", "Too hot", "Wait"]],
        [["요일", "본관(2층)", "별관"], ["평일", "09:00~18:00", "10:00~17:00"]],
    ],
)
def test_names_of_columns_stand_above_dates_prices_and_codes(rows):
    found = find_header(rows)
    assert found is not None
    assert found.cells == tuple(rows[0])


@pytest.mark.parametrize(
    "rows",
    [
        [["Rope", "4 m", "red"], ["Clamp", "7 m", "type 2"], ["Hook", "1 m", "type 3"]],
        [["Rope", "4", "5"], ["Clamp", "7", "8"]],
        [["Founded", "2015"], ["Staff", "20"]],
        [["Town", "Odby"], ["Head", "Moor"]],
        [["Zone", "Sales"], ["a sentence that holds 5 words"]],
    ],
)
def test_rows_of_figures_and_texts_have_no_header(rows):
    assert find_header(rows) is None


def test_a_row_of_texts_below_the_names_is_no_header():
    found = find_header([["Item", "Price", "Note"], ["Rope", "on request", ""], ["Clamp", "4", ""]])
    assert found is not None
    assert (found.cells, found.height) == (("Item", "Price", "Note"), 1)


@pytest.mark.parametrize(
    ("cell", "holds_one"),
    [("€ 1,200.50", True), ("(4) %", True), ("5% per year", True), ("1" + "." * 200_000 + "가가가가", False)],
)
def test_a_figure_has_a_number_and_a_short_unit(cell, holds_one):
    assert is_figure(cell) == holds_one
