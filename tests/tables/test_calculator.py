"""Follow-ups to calculations: what they change in the question before."""

import pytest

from crag.tables.calculator import continue_calculation
from crag.tables.data_table import find_tables
from tests.doubles.engine import passage

SALES = passage(
    1,
    "Date | Region | Product | Revenue\n2023-01-05 | North | Lamp | 200\n2024-01-19 | South | Lamp | 100\n"
    "2024-02-11 | North | Chair | 300\n2024-02-20 | South | Chair | 600",
    title="Sales",
)
STAFF = passage(2, "이름 | 지역 | 급여\n김민수 | 남부 | 300\n이영희 | 북부 | 500\n박철수 | 북부 | 100", title="직원")


@pytest.mark.parametrize(
    ("previous", "fragment", "continued"),
    [
        ("What was the total revenue in the South?", "in the North", "What was the total revenue in the North?"),
        ("What was the total revenue in the South?", "the average", "What was the average revenue in the South?"),
        ("What was the total revenue in the South?", "for lamps", ""),
        ("What was the total revenue?", "the North", "What was the total revenue in North?"),
        ("What was the total revenue?", "by region", "What was the total revenue by region?"),
        ("What was the total revenue by region?", "by product", "What was the total revenue by product?"),
        ("What was the total revenue in the South?", "the South", ""),
        ("What was the total revenue in the South?", "the moon", ""),
        ("Who wrote the report?", "in the North", ""),
    ],
)
def test_the_part_that_a_follow_up_names_is_replaced(previous, fragment, continued):
    assert continue_calculation(previous, fragment, find_tables([SALES])) == continued


def test_it_goes_on_in_korean():
    tables = find_tables([STAFF])
    assert continue_calculation("남부의 급여 합계는?", "북부", tables) == "북부의 급여 합계는?"
    assert continue_calculation("북부의 급여 합계", "평균", tables) == "북부의 급여 평균?"


def test_a_computation_of_a_column_that_it_names_is_a_question_of_its_own():
    assert continue_calculation("북부의 급여 합계는?", "급여 평균", find_tables([STAFF])) == ""
    assert (
        continue_calculation("What was the total revenue in the South?", "the average revenue", find_tables([SALES]))
        == ""
    )
