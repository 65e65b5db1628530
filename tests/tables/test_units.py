"""Questions for a figure by its unit: “how many kilometres in week 7” looks a figure up and counts no rows."""

import pytest

from crag.cancellation import Cancellation
from crag.tables.calculator import TableCalculator
from crag.tables.data_table import TableCache, find_tables
from crag.tables.query import run_query
from crag.tables.questions import write_query
from tests.tables.test_data_table import sheet

SHEETS = {
    "Marathon plan": """week | phase | km | long run (km) | rest days
        1 | Base | 32 | 12 | 2
        2 | Base | 35 | 14 | 2
        3 | Build | 41.5 | 18 | 3
        4 | Build | 45 | 20 | 1""",
    "Running log": """Week | Distance (km) | Time (min) | Shoes
        Week 3 | 41.5 | 250 | blue
        Week 4 | 45 | 270 | red""",
    "Distance plan": """Week | Target | Shoes
        3 | 41.5 | blue
        4 | 45 | red
        6 | 12 | red""",
    "훈련 계획": """주차 | 거리(km) | 휴식일 | 구간
        1 | 32 | 2 | 기초
        2 | 35 | 2 | 기초
        3 | 41.5 | 1 | 강화""",
    "训练计划": """周次 | 公里 | 休息天数 | 阶段
        1 | 32 | 2 | 基础
        2 | 35 | 2 | 基础
        3 | 41.5 | 1 | 强化""",
}


@pytest.mark.parametrize(
    ("title", "question", "rows"),
    [
        ("Marathon plan", "how many kilometres in week 3", ((3, 41.5),)),
        ("Marathon plan", "How many kilometers are planned for week 3?", ((3, 41.5),)),
        ("Marathon plan", "How many km are there in week 3 of the marathon plan?", ((3, 41.5),)),
        ("Marathon plan", "How many rest days are there in week 4?", ((4, 1),)),
        ("Marathon plan", "How many kilometres in the Build phase?", ((86.5,),)),
        ("Marathon plan", "How many weeks are in the Build phase?", ((2,),)),
        ("Running log", "How many kilometres do I run in week 3?", (("Week 3", 41.5),)),
        ("Running log", "How many minutes in week 4?", (("Week 4", 270),)),
        ("훈련 계획", "3주차에 몇 km?", ((3, 41.5),)),
        ("훈련 계획", "3주차에는 몇 킬로미터를 뛰나요?", ((3, 41.5),)),
        ("훈련 계획", "3주차 거리는 몇 킬로미터인가요?", ((3, 41.5),)),
        ("训练计划", "第3周多少公里？", ((3, 41.5),)),
        ("训练计划", "训练计划第3周要跑几公里？", ((3, 41.5),)),
    ],
)
def test_the_figure_of_a_unit_is_looked_up(title: str, question: str, rows: tuple[tuple[object, ...], ...]) -> None:
    tables = find_tables(sheet(SHEETS[title], title))
    query = write_query(question, tables)
    assert query is not None
    assert query.is_certain
    assert run_query(query.sql, tables, Cancellation()).rows == rows


@pytest.mark.parametrize(
    ("title", "question"),
    [
        ("Distance plan", "How many kilometres in week 3 of the distance plan?"),  # perhaps not the unit of the target
        ("Marathon plan", "How many hours in week 3?"),
    ],
)
def test_no_rows_are_counted_for_a_unit_that_no_column_has(title: str, question: str) -> None:
    query = write_query(question, find_tables(sheet(SHEETS[title], title)))
    assert query is None or query.kind != "count"


@pytest.mark.parametrize(
    ("title", "question", "text"),
    [
        ("Marathon plan", "How many kilometres in week 3?", "week 3 — km: 41.5."),
        ("훈련 계획", "3주차에 몇 km를 뛰나요?", "주차 3: 41.5 km."),
        ("训练计划", "第3周跑多少公里？", "周次 3 — 公里：41.5。"),
    ],
)
def test_the_answer_names_the_row_and_the_figure(title: str, question: str, text: str) -> None:
    calculator = TableCalculator(TableCache())
    language = "ko" if "주" in question else "zh" if "周" in question else "en"
    assert calculator.is_calculation(question)
    found = calculator.calculate(question, sheet(SHEETS[title], title), language, Cancellation())
    assert found is not None
    assert found.text == text
