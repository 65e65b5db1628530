"""Tables and results in words."""

import pytest

from crag.cancellation import Cancellation
from crag.tables.data_table import find_tables
from crag.tables.descriptions import describe_content, describe_result, describe_tables, name_computed
from crag.tables.query import run_query
from crag.tables.questions import write_query
from crag.text.language import detect_written_language
from tests.tables.test_data_table import sheet
from tests.tables.test_questions import make_table


@pytest.mark.parametrize(
    ("title", "question", "said"),
    [
        ("Robot sales", "What is the price of the Welder?", "Welder: €1,050."),
        ("Robot sales", "Which robot sold least?", "Picker — Units sold: 300; Scout — Units sold: 300."),
        (
            "Robot sales",
            "What is the total revenue?",
            "The total of Revenue (EUR thousand) is 60 EUR thousand (3 rows).",
        ),
        ("Robot sales", "What share of the units sold came from Picker?", "16.67 % (300 of 1,800)."),
        ("Robot sales", "How many robots are there?", "3 rows match."),
        ("Robot sales", "What is the median price?", "The median of Price (€) is €400 (3 rows)."),
        ("Robot sales", "How many regions are there?", "Region: 2 different values."),
        ("Deliveries", "How many deliveries were sent per year?", "2023: 1; 2024: 3."),
        ("Robot sales", "Which robots cost more than 9,000 euros?", "No row of the table matches."),
        ("Robot sales", "revenue per region", "North: 48 EUR thousand; South: 12 EUR thousand."),
        (
            "Visits by town",
            "How much did visits to Odby change from 2022 to 2024?",
            "The change is 20 (20 %): from 100 to 120.",
        ),
        ("지점 현황", "매출 합계는 얼마인가요?", "매출(만원) 합계: 10,700만원 (3개 행)."),
        ("지점 현황", "강남점 직원은 몇 명인가요?", "강남점: 14명."),
        ("家具销售", "平均单价是多少？", "单价（元）平均为 1,540元（共 3 行）。"),
        ("分店預算（萬元）", "2024年預算超過300萬元的分店", "台北店：500萬元。"),
    ],
)
def test_a_result_is_said_with_its_figures(title: str, question: str, said: str) -> None:
    query = write_query(question, [make_table(title)])
    assert query is not None
    result = run_query(query.sql, [query.table], Cancellation())
    assert describe_result(detect_written_language(question), query, result) == said


def test_a_change_names_its_columns() -> None:
    head = "In thousands of CHF | Cost | Profit"
    text = f"2024\n{head}\nRope | 5 | 1\nOil | 2 | 3\n2023\n{head}\nRope | 4 | 2\nOil | 2 | 3"
    (table,) = find_tables(sheet(text))
    query = write_query("Compare the cost of Rope in 2023 and 2024", [table])
    assert query is not None
    said = describe_result("en", query, run_query(query.sql, [table], Cancellation()))
    before, after = "4 thousand CHF (2023 · Cost)", "5 thousand CHF (2024 · Cost)"
    assert said == f"The change is 1 thousand CHF (25 %): from {before} to {after}."


def test_the_result_of_another_statement_is_listed() -> None:
    table = make_table("Staff")
    result = run_query("SELECT name, salary FROM table_1 ORDER BY salary DESC LIMIT 1", [table], Cancellation())
    assert describe_result("en", None, result) == "Cleo Fir: 90,000."


def test_a_long_list_is_cut() -> None:
    result = run_query("SELECT range FROM range(50)", [make_table("Staff")], Cancellation())
    assert describe_result("en", None, result).endswith("9; and 40 more.")


def test_a_prompt_names_columns_units_and_first_rows() -> None:
    text = describe_tables([make_table("Staff"), make_table("家具销售")])
    assert '"salary" number ("Salary (USD)", in USD)' in text
    assert 'Table "table_1" (Staff), 4 rows' in text
    assert "Ana Ash | Sales | 40,000" in text
    assert "O'Hara" not in text


@pytest.mark.parametrize(
    ("language", "first"), [("en", "Item, 2023"), ("ko", "항목, 2023"), ("zh", "项目、2023"), ("zh-Hant", "項目、2023")]
)
def test_a_first_column_without_a_name_is_called_in_the_language_of_the_reader(language, first):
    (table,) = find_tables(sheet(" | 2023 | 2024\nOdby | 140 | 120\nVarn | 60 | 90"))
    assert first in describe_content(table, language)


@pytest.mark.parametrize(
    ("language", "name", "shown"),
    [
        ("en", "sum", "sum"),
        ("ko", "sum", "합계"),
        ("zh", "mean", "平均"),
        ("zh-Hant", "count", "數量"),
        ("ko", "x", "x"),
    ],
)
def test_a_computed_column_is_named_in_the_language_of_the_question(language, name, shown) -> None:
    assert name_computed(name, language) == shown
