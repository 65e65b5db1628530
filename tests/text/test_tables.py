"""Rows of tables as statements."""

import pytest

from crag.text.tables import (
    explains_code,
    find_column_names,
    find_columns,
    is_total_row,
    label_row,
    label_table_rows,
    trim_row,
)
from tests.doubles.engine import passage


@pytest.mark.parametrize(
    ("units", "labelled"),
    [
        (["Site | Staff | Of which part-time", "Odby | 58 | 6"], ["Site: Odby | Staff: 58 | Of which part-time: 6"]),
        (["| Year | Price |", "|---|---|", "| 2021 | €12 |"], ["Year: 2021 | Price: €12"]),
        (["| Knot | Use |", "|---|---|", "| Bowline | rescue |"], ["Knot: Bowline | Use: rescue"]),
        (["Knot | Use", "Bowline | rescue"], ["Knot | Use", "Bowline | rescue"]),
        (["Item | Limit", "Hotel | 45 euros"], ["Item: Hotel | Limit: 45 euros"]),
        (["구분 | 기간", "이사 | 3일"], ["구분: 이사 | 기간: 3일"]),
        (["项目 | 期限", "搬家 | 3个月"], ["项目: 搬家 | 期限: 3个月"]),
        (["A | 1", "B | 2"], ["A | 1", "B | 2"]),
        (["Area | 2024 | 2025", "Stage | 4 | 5"], ["Area: Stage | 2024: 4 | 2025: 5"]),
        (["구역 | 1월 | 2월", "동관 | 4 | 5"], ["구역: 동관 | 1월: 4 | 2월: 5"]),
        (["Area | Cost | Note", "Stage | 4 |"], ["Area: Stage | Cost: 4"]),
        (
            ["Prices rose.", "Item | Cost", "Rope | 4", "They fell."],
            ["Prices rose.", "Item: Rope | Cost: 4", "They fell."],
        ),
    ],
)
def test_cells_get_the_names_of_their_columns(units, labelled):
    assert label_table_rows(units) == labelled


def test_the_column_names_may_be_the_heading():
    heading = "Item | Price"
    assert label_table_rows([heading, "Rope | 4"], heading) == ["Item: Rope | Price: 4"]
    assert label_table_rows(["Rope | 4"], f"Ropes › {heading}") == ["Item: Rope | Price: 4"]
    assert label_table_rows(["Rope | red", "Some text."], heading) == ["Item: Rope | Price: red", "Some text."]


def test_another_table_after_a_title_has_columns_of_its_own():
    units = ["Rope | 4", "Staff", "Town | Number", "Odby | 58"]
    assert label_table_rows(units, "Item | Price") == ["Item: Rope | Price: 4", "Staff", "Town: Odby | Number: 58"]


def test_the_column_names_may_be_in_another_part_of_the_passage():
    whole = ["Item | Price", "Rope | 4", "Clamp | 12"]
    assert label_table_rows(["Clamp | 12"], "", whole) == ["Item: Clamp | Price: 12"]
    assert find_column_names(whole) == ["Item | Price"]


PLAN = "Training plan.\nweek | km | day\n11 | 40 | Mon\n12 | 41.5 | Tue"


@pytest.mark.parametrize(
    ("row", "heading", "text", "labelled"),
    [
        ("12 | 41.5 | Tue", "", PLAN, "week: 12 — km: 41.5 — day: Tue"),
        ("12 | 41.5 | Tue", "Plan › week | km | day", "12 | 41.5 | Tue", "week: 12 — km: 41.5 — day: Tue"),
        ("12 | 41.5 | Tue", "", "12 | 41.5 | Tue", ""),
        ("Training plan.", "", PLAN, ""),
    ],
)
def test_a_quoted_row_is_read_with_the_names_of_its_columns(row, heading, text, labelled):
    assert label_row(row, passage(1, text, heading=heading)) == labelled


@pytest.mark.parametrize(
    ("part", "columns"),
    [
        ("12 | 41.5 | Tue", "week | km | day"),
        (PLAN, ""),
        ("Training plan.", ""),
        ("week | km | day\n11 | 40 | Mon", ""),
    ],
)
def test_a_part_of_a_table_is_shown_below_its_columns(part, columns):
    assert find_columns(passage(1, PLAN), part) == columns
    assert find_columns(passage(1, part, heading="Plan › week | km | day"), "12 | 41.5 | Tue") == (
        "week | km | day" if "12" in part else ""
    )


@pytest.mark.parametrize(
    "row", ["Item: Total | Cost: 4", "합계 | 4", "总计 | 4", "Grand total | 4", "품목: 총액 | 원: 4"]
)
def test_a_row_of_totals(row):
    assert is_total_row(row)


@pytest.mark.parametrize("total", ["총매출", "총 장비", "총장비", "총인원", "총기간", "총재고", "총경비", "总收入"])
def test_a_word_for_a_total_names_its_row(total):
    assert is_total_row(f"{total} | 201")


@pytest.mark.parametrize("office", ["총무팀", "총장실", "총회", "총괄팀", "총학생회", "总经理", "总部"])
def test_a_word_that_only_begins_like_a_total_is_none(office):
    assert not is_total_row(f"{office} | 201")


ROW = "In CHF: Odby | Sales (a): 31 | Profit before tax: 6 | Profit: 5 | 2023 · Visits: 8 | 2024 · Visits: 9"


@pytest.mark.parametrize(
    ("question", "cells"),
    [
        ("What are the sales of Odby?", ["Sales (a): 31"]),
        ("What was the profit before tax of Odby?", ["Profit before tax: 6"]),
        ("What was the profit of Odby?", ["Profit: 5"]),
        ("How many visits did Odby have in 2024?", ["2024 · Visits: 9"]),
        ("What were sales and profit of Odby?", ["Sales (a): 31", "Profit: 5"]),
        ("How many people live in Odby?", []),
        ("How many visits did Odby have in 2022?", []),
    ],
)
def test_a_row_is_trimmed_to_the_columns_asked_for(question, cells):
    assert list(trim_row(ROW, question)) == (["In CHF: Odby", *cells] if cells else [])


def test_a_column_is_asked_for_by_a_synonym_and_without_its_unit():
    row = "Model: Wren | Weight (kg): 13.9 | Range (km): 55 | Price (EUR): 1490 | Warranty (years): 2"
    assert trim_row(row, "How heavy is the Wren?") == ("Model: Wren", "Weight (kg): 13.9")
    assert trim_row(row, "What does the Wren cost?") == ("Model: Wren", "Price (EUR): 1490")
    assert trim_row(row, "How much is the Wren?") == ("Model: Wren", "Price (EUR): 1490")
    plot = "plot: B6 | holder: Demir | size_m2: 75 | since: 2013 | rent_gbp: 55.00 | water: tap"
    assert trim_row(plot, "What is the size of Demir's plot?") == ("plot: B6", "holder: Demir", "size_m2: 75")


def test_the_price_of_a_korean_row_is_in_the_column_of_a_price():
    row = "품목: 와이셔츠 | 세탁방법: 물세탁 | 기본가격: 2,500원 | 기간: 2일 | 추가: 500원 | 비고: 5장 이상 장당 2천 원"
    assert trim_row(row, "와이셔츠 한 장 얼마에요?") == (
        "품목: 와이셔츠",
        "기본가격: 2,500원",
        "비고: 5장 이상 장당 2천 원",
    )


@pytest.mark.parametrize(
    ("question", "cells"),
    [
        ("도화지 A3는 얼마예요?", ["품명: 도화지 A3 (100장)", "단가(원): 8400"]),
        ("도화지 가격", ["품명: 도화지 A3 (100장)", "단가(원): 8400"]),
        ("도화지 재고는 몇 개예요?", ["품명: 도화지 A3 (100장)", "재고(개): 35"]),
    ],
)
def test_a_row_that_begins_with_a_code_keeps_its_name(question, cells):
    row = "품번: P-12 | 품명: 도화지 A3 (100장) | 분류: 종이 | 단가(원): 8400 | 재고(개): 35 | 최소주문수량: 2"
    assert list(trim_row(row, question)) == ["품번: P-12", *cells]


LOG = "Date: 2024-08-25 | Hive: Hazel | Frames: 6 | Supers: 0 | Temper: calm | Notes: Wasps robbing; entrance narrowed"


@pytest.mark.parametrize(
    ("question", "cells"),
    [
        ("How many frames did Hazel have?", ["Hive: Hazel", "Frames: 6"]),
        ("What was done when wasps robbed the Hazel hive?", ["Hive: Hazel", LOG.rpartition(" | ")[2]]),
        ("Who visited the Hazel hive?", []),
    ],
)
def test_a_cell_that_chooses_the_row_does_not_answer(question, cells):
    assert list(trim_row(LOG, question)) == (["Date: 2024-08-25", *cells] if cells else [])


def test_a_row_begins_with_the_code_asked_for():
    assert explains_code("屏幕上显示 E06 说明什么问题？", "代码 | 含义\nE06 | Y 轴找不到原点")
    assert explains_code("The display shows E07. Why?", "E02 – speed sensor: check it. E07 – motor too hot")
    assert not explains_code("What does E0 mean?", "Code | Meaning\nE06 | Door open")
    assert not explains_code("What does E06 mean?", "See E06 | Page 3")


def test_a_short_row_is_not_trimmed():
    assert trim_row("Town: Odby | Sales: 31 | Profit: 6", "What are the sales of Odby?") == ()
