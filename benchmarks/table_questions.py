"""Questions about 100 generated sheets: how many the built-in engine answers exactly, wrongly or not at all.

The answers are computed from the generated rows in plain Python. Each question is asked over its sheet and another one.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from crag.cancellation import Cancellation
from crag.ingest.parse.document import Block, Document
from crag.ingest.parse.table_rows import table_blocks
from crag.ingest.reader import CHUNK_TOKENS, split_document
from crag.tables.data_table import DataTable, find_tables
from crag.tables.query import QueryRefused, QueryResult, run_query
from crag.tables.questions import write_query
from crag.types import Passage

SHEETS = 100
Cells = list[str]
Expected = list[tuple[Any, ...]]
"""The rows of the answer, each with the values that it must hold."""
Ask = tuple[str, Expected]


@dataclass(slots=True)
class Sheet:
    """A sheet as its author typed it, with a question and its answer."""

    title: str
    rows: list[Cells]
    question: str = ""
    expected: Expected = field(default_factory=list)


Maker = Callable[[random.Random], tuple[Sheet, list[Ask]]]


def best(rows: Iterable[tuple[Any, ...]], at: int, *, least: bool = False) -> Expected:
    """Return (name, value) of all rows with the largest or smallest value."""
    rows = [row for row in rows if row[at] is not None]
    limit = (min if least else max)(row[at] for row in rows)
    return [(row[0], row[at]) for row in rows if row[at] == limit]


def grouped(rows: Iterable[tuple[Any, ...]], by: int, at: int | None) -> Expected:
    """Return (group, sum) for the values of a column, or (group, count)."""
    sums: defaultdict[str, float] = defaultdict(float)
    for row in rows:
        sums[row[by]] += 1 if at is None else row[at]
    return list(sums.items())


def draw(rng: random.Random, names: str, count: int) -> list[str]:
    """Return some of the names, in any order."""
    return rng.sample(names.split(), count)


def boats(rng: random.Random) -> tuple[Sheet, list[Ask]]:
    names = draw(rng, "Tern Gull Lark Kite Heron Osprey Puffin Curlew Plover Avocet", 7)
    rows = [
        (name, rng.randint(2, 9), rng.choice(range(120, 980, 5)), rng.choice(("Odby", "Varn", "Salt"))) for name in names
    ]
    cells = [["Boat", "Berths", "Price per day (€)", "Harbour"], *([n, str(b), f"€{p}", h] for n, b, p, h in rows)]
    one, limit, place = rng.choice(rows), rng.choice((300, 450, 500)), rows[0][3]
    asks: list[Ask] = [
        (f"Which boats cost more than {limit} euros a day?", [(r[0],) for r in rows if r[2] > limit]),
        (f"What is the price of the {one[0]}?", [(one[2],)]),
        (f"How many boats are moored in {place}?", [(sum(r[3] == place for r in rows),)]),
        ("What's the cheapest boat?", best(rows, 2, least=True)),
        ("Which boat sleeps the most people?", best(rows, 1)),
        ("average price per day of our boats", [(sum(r[2] for r in rows) / len(rows),)]),
        (f"How many berths does the {one[0]} have?", [(one[1],)]),
        (f"Which boats in {place} have at least 4 berths?", [(r[0],) for r in rows if r[3] == place and r[1] >= 4]),
    ]
    return Sheet("Charter list", cells), asks


def robots(rng: random.Random) -> tuple[Sheet, list[Ask]]:
    names = draw(rng, "R2 Mopper Welder Picker Scout Painter Lifter Sorter", 6)
    rows = [(name, rng.randint(40, 4000), rng.randint(1000, 90000) / 10, rng.choice(("North", "South"))) for name in names]
    cells = [["Robot", "Units sold", "Revenue (EUR thousand)", "Region"]]
    cells += [[n, f"{u:,}", f"{r:,.1f}", g] for n, u, r, g in rows]
    total = (sum(r[1] for r in rows), sum(r[2] for r in rows))
    cells += [["Total", f"{total[0]:,}", f"{total[1]:,.1f}", ""]]
    one = rng.choice(rows)
    asks: list[Ask] = [
        ("Which robot sold most?", best(rows, 1)),
        ("What is the total revenue?", [(total[1],)]),
        ("How many units did we sell altogether?", [(total[0],)]),
        (f"What share of the units sold came from {one[0]}?", [(100 * one[1] / total[0],)]),
        ("Which robot brought in the least revenue?", best(rows, 2, least=True)),
        ("units sold by region", grouped(rows, 3, 1)),
        ("Top 3 robots by revenue", [(r[0], r[2]) for r in sorted(rows, key=lambda r: -r[2])[:3]]),
        ("How many robots did we sell in the north?", [(sum(r[1] for r in rows if r[3] == "North"),)]),
    ]
    return Sheet("Robot sales", cells), asks


def branches(rng: random.Random) -> tuple[Sheet, list[Ask]]:
    names = draw(rng, "Lisbon Oslo Graz Turin Leeds Ghent Malmo", 5)
    rows = [(name, *(rng.randint(100, 9000) for _ in range(3))) for name in names]
    cells = [["Branch", "2022", "2023", "2024"], *([r[0], *(f"{v:,}" for v in r[1:])] for r in rows)]
    cells += [["Total", *(f"{sum(r[at] for r in rows):,}" for at in (1, 2, 3))]]
    one = rng.choice(rows)
    asks: list[Ask] = [
        (f"How much did sales in {one[0]} change from 2023 to 2024?", [(one[3] - one[2],)]),
        ("What were total sales in 2023?", [(sum(r[2] for r in rows),)]),
        ("Which branch sold the most in 2024?", best(rows, 3)),
        (f"What did {one[0]} sell in 2022?", [(one[1],)]),
        (f"By what percentage did {one[0]} grow between 2022 and 2024?", [(100 * (one[3] - one[1]) / one[1],)]),
        ("Which branch was weakest in 2022?", best(rows, 1, least=True)),
        ("What was the average across branches in 2023?", [(sum(r[2] for r in rows) / len(rows),)]),
    ]
    return Sheet("Sales by branch", cells), asks


def segments(rng: random.Random) -> tuple[Sheet, list[Ask]]:
    names = draw(rng, "Hardware Services Licences Training Rental", 4)
    rows = [(name, *(rng.randint(-300, 2000) for _ in range(4))) for name in names]

    def written(value: int) -> str:
        return f"({-value:,})" if value < 0 else f"{value:,}"

    cells = [["Operating profit, in thousands of CHF"], ["Segment", "Q1", "Q2", "Q3", "Q4"]]
    cells += [[r[0], *map(written, r[1:])] for r in rows]
    one = rng.choice(rows)
    asks: list[Ask] = [
        ("Which segment had the highest profit in Q3?", best(rows, 3)),
        (f"What was the profit of {one[0]} in Q2?", [(one[2],)]),
        ("What is the total for Q4?", [(sum(r[4] for r in rows),)]),
        ("Which segments made a loss in Q1?", [(r[0],) for r in rows if r[1] < 0]),
        (f"How did {one[0]} develop from Q1 to Q4?", [(one[4] - one[1],)]),
        ("Lowest value in Q2 — which segment?", best(rows, 2, least=True)),
    ]
    return Sheet("Quarterly report", cells), asks


def staff(rng: random.Random) -> tuple[Sheet, list[Ask]]:
    firsts, lasts = "Ana Ben Cleo Dov Elke Finn Gita Hugo".split(), "Ash Birch Cedar Dogwood Elm Fir Gorse Hazel".split()
    people = rng.sample([f"{first} {last}" for first in firsts for last in lasts], 60)
    teams = ("Sales", "Support", "Engineering", "Legal")
    rows = [
        (p, rng.choice(teams), rng.randrange(31000, 99000, 10), f"{rng.randint(1, 28)} {m} {rng.randint(2012, 2024)}")
        for p in people
        for m in [rng.choice(("Jan", "Mar", "Jun", "Sep"))]
    ]
    cells = [["Name", "Department", "Salary (USD)", "Start date"], *([n, t, f"{s:,}", d] for n, t, s, d in rows)]
    one, team = rng.choice(rows), rng.choice(teams)
    inside = [r for r in rows if r[1] == team]
    asks: list[Ask] = [
        (f"How many people work in {team}?", [(len(inside),)]),
        (f"What's the average salary in {team}?", [(sum(r[2] for r in inside) / len(inside),)]),
        ("Who earns the most?", best(rows, 2)),
        (f"How much does {one[0]} earn?", [(one[2],)]),
        ("number of employees per department", grouped(rows, 1, None)),
        ("Who earns over 95,000?", [(r[0],) for r in rows if r[2] > 95000]),
        (f"Sum of all salaries in the {team} department", [(sum(r[2] for r in inside),)]),
        ("Who has the lowest salary?", best(rows, 2, least=True)),
    ]
    return Sheet("Staff list", cells), asks


def orders(rng: random.Random) -> tuple[Sheet, list[Ask]]:
    customers, products = ("Bakker Ltd", "Nordhaus", "Quill & Co", "Tamsin Foods"), ("Rope", "Anchor", "Sail", "Lamp")
    rows = [
        (
            f"A-{1000 + n}",
            f"2024-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}",
            rng.choice(customers),
            rng.choice(products),
            rng.randint(1, 40),
            rng.randint(500, 90000) / 100,
        )
        for n in range(rng.choice((150, 300)))
    ]
    cells = [["Order", "Date", "Customer", "Product", "Quantity", "Amount (£)"]]
    cells += [[o, d, c, p, str(q), f"{a:,.2f}"] for o, d, c, p, q, a in rows]
    who, what = rng.choice(customers), rng.choice(products)
    asks: list[Ask] = [
        (f"How many orders did {who} place?", [(sum(r[2] == who for r in rows),)]),
        (f"What is the total amount of the orders from {who}?", [(sum(r[5] for r in rows if r[2] == who),)]),
        ("amount by product", grouped(rows, 3, 5)),
        ("What was the largest order by amount?", best(rows, 5)),
        (f"Total quantity of {what} ordered", [(sum(r[4] for r in rows if r[3] == what),)]),
        (f"What is the mean order amount for {what}?", [
            (sum(r[5] for r in rows if r[3] == what) / sum(r[3] == what for r in rows),)
        ]),
        ("How many orders came in during March 2024?", [(sum(r[1].startswith("2024-03") for r in rows),)]),
        (f"What share of the amount comes from {who}?", [
            (100 * sum(r[5] for r in rows if r[2] == who) / sum(r[5] for r in rows),)
        ]),
    ]
    return Sheet("Orders 2024", cells), asks


def stock(rng: random.Random) -> tuple[Sheet, list[Ask]]:
    names = draw(rng, "Hinge Bracket Bolt Washer Clamp Hook Pulley Dowel Rivet Spring", 9)
    rows = [(n, rng.randint(0, 2500), rng.randint(50, 400), rng.randint(5, 4999) / 100) for n in names]
    cells = [["Item", "In stock", "Reorder level", "Unit price ($)"]]
    cells += [[n, f"{s:,}", str(r), f"{p:.2f}"] for n, s, r, p in rows]
    one, two = rng.sample(rows, 2)
    limit = rng.choice((500, 800, 1200))
    asks: list[Ask] = [
        (f"How many {one[0].lower()}s are in stock?", [(one[1],)]),
        (f"Which items have fewer than {limit} in stock?", [(r[0],) for r in rows if r[1] < limit]),
        ("Which item has the highest unit price?", best(rows, 3)),
        (f"What's the reorder level for {one[0]}?", [(one[2],)]),
        ("How many items are listed?", [(len(rows),)]),
        (f"List items priced under 20 dollars", [(r[0],) for r in rows if r[3] < 20]),
        (f"What is the difference in unit price between {one[0]} and {two[0]}?", [(abs(one[3] - two[3]),)]),
        ("median unit price", [(sorted(r[3] for r in rows)[4],)]),
    ]
    return Sheet("Stock", cells), asks


def invoices(rng: random.Random) -> tuple[Sheet, list[Ask]]:
    names = draw(rng, "Amsel Buche Dachs Eiche Falke Ginster Hecht", 6)
    rows = [(n, rng.randint(100000, 9999999) / 100, rng.randint(1, 60)) for n in names]

    def written(value: float) -> str:
        return f"{value:,.2f}".replace(",", "_").replace(".", ",").replace("_", ".")

    cells = [["Supplier", "Invoiced", "Days overdue"], *([n, f"{written(a)} €", str(d)] for n, a, d in rows)]
    one = rng.choice(rows)
    asks: list[Ask] = [
        ("How much was invoiced in total?", [(sum(r[1] for r in rows),)]),
        (f"How much did {one[0]} invoice?", [(one[1],)]),
        ("Which supplier is longest overdue?", best(rows, 2)),
        ("Which suppliers are more than 30 days overdue?", [(r[0],) for r in rows if r[2] > 30]),
        ("What's the average number of days overdue?", [(sum(r[2] for r in rows) / len(rows),)]),
    ]
    return Sheet("Open invoices", cells), asks


def two_tables(rng: random.Random) -> tuple[Sheet, list[Ask]]:
    courses = [(n, rng.randint(5, 60), rng.randint(40, 99)) for n in draw(rng, "Welding Pottery Yoga Dutch Chess", 4)]
    rooms = [(n, rng.randint(10, 120), rng.randint(20, 300)) for n in ("Blue hall", "Attic", "Studio", "Garden room")]
    cells = [["Course", "Participants", "Pass rate"], *([n, str(p), f"{r} %"] for n, p, r in courses), []]
    cells += [["Room", "Seats", "Area (m²)"], *([n, str(s), str(a)] for n, s, a in rooms)]
    one, room = rng.choice(courses), rng.choice(rooms)
    asks: list[Ask] = [
        (f"What is the pass rate in {one[0]}?", [(one[2],)]),
        ("Which course had the most participants?", best(courses, 1)),
        (f"How many seats does the {room[0].lower()} have?", [(room[1],)]),
        ("Which is the largest room?", best(rooms, 2)),
        ("How many participants were there overall?", [(sum(r[1] for r in courses),)]),
        ("Which rooms have 50 seats or more?", [(r[0],) for r in rooms if r[1] >= 50]),
    ]
    return Sheet("Adult education", cells), asks


def visitors(rng: random.Random) -> tuple[Sheet, list[Ask]]:
    months = "January February March April May June July August September October November December".split()
    rows = [(m, rng.randint(500, 9000), rng.randint(200, 5000)) for m in months]
    cells = [["Month", "Visitors", "Loans"], *([m, f"{v:,}", f"{n:,}"] for m, v, n in rows)]
    cells += [["Average", f"{sum(r[1] for r in rows) / 12:,.0f}", f"{sum(r[2] for r in rows) / 12:,.0f}"]]
    asks: list[Ask] = [
        ("When were loans lowest?", best(rows, 2, least=True)),
        ("In which month did we have the most visitors?", best(rows, 1)),
        ("How many visitors came in July?", [(rows[6][1],)]),
        ("How many loans were there over the whole year?", [(sum(r[2] for r in rows),)]),
        ("By how much did visitors change from May to June?", [(rows[5][1] - rows[4][1],)]),
        ("In how many months were there more than 5,000 visitors?", [(sum(r[1] > 5000 for r in rows),)]),
    ]
    return Sheet("Library figures", cells), asks


def projects(rng: random.Random) -> tuple[Sheet, list[Ask]]:
    names = draw(rng, "Aurora Basalt Cobalt Delta Ember Fjord Granite", 6)
    rows = [(n, rng.randint(5, 95) / 10, rng.choice(("open", "closed", "on hold"))) for n in names]
    cells = [["Project", "Budget", "Status", "Lead"], *([n, f"${b}M", s, "n/a"] for n, b, s in rows)]
    one = rng.choice(rows)
    asks: list[Ask] = [
        ("Which project has the biggest budget?", [(n, b * 1e6) for n, b in best(rows, 1)]),
        (f"What is the budget of project {one[0]}?", [(one[1] * 1e6,)]),
        ("How many projects are open?", [(sum(r[2] == "open" for r in rows),)]),
        ("What do all the budgets add up to?", [(sum(r[1] for r in rows) * 1e6,)]),
        ("Which projects are on hold?", [(r[0],) for r in rows if r[2] == "on hold"]),
        ("Which projects have a budget between 2 and 6 million?", [(r[0],) for r in rows if 2 <= r[1] <= 6]),
    ]
    return Sheet("Project portfolio", cells), asks


def korean_branches(rng: random.Random) -> tuple[Sheet, list[Ask]]:
    names = draw(rng, "강남점 종로점 해운대점 수원점 대전점 전주점", 5)
    rows = [(n, rng.randint(500, 9900), rng.randint(3, 40), rng.choice(("수도권", "지방"))) for n in names]
    cells = [["지점", "매출(만원)", "직원 수", "지역"], *([n, f"{s:,}", f"{e}명", g] for n, s, e, g in rows)]
    cells += [["합계", f"{sum(r[1] for r in rows):,}", f"{sum(r[2] for r in rows)}명", ""]]
    one = rng.choice(rows)
    asks: list[Ask] = [
        ("매출이 가장 높은 지점은 어디인가요?", best(rows, 1)),
        ("전체 매출 합계는 얼마인가요?", [(sum(r[1] for r in rows),)]),
        (f"{one[0]} 직원은 몇 명인가요?", [(one[2],)]),
        ("매출이 5,000만원 이상인 지점을 알려주세요", [(r[0],) for r in rows if r[1] >= 5000]),
        ("직원 수가 제일 적은 지점은?", best(rows, 2, least=True)),
        ("지역별 매출을 알려줘", grouped(rows, 3, 1)),
        ("지점별 평균 매출은 얼마야?", [(sum(r[1] for r in rows) / len(rows),)]),
        ("수도권 지점은 몇 개인가요?", [(sum(r[3] == "수도권" for r in rows),)]),
    ]
    return Sheet("지점 현황", cells), asks


def korean_months(rng: random.Random) -> tuple[Sheet, list[Ask]]:
    names = draw(rng, "사과 배 포도 감귤 딸기 수박", 5)
    rows = [(n, *(rng.randint(100, 3000) for _ in range(3))) for n in names]
    cells = [["품목", "1월", "2월", "3월"], *([r[0], *(f"{v:,}" for v in r[1:])] for r in rows)]
    one = rng.choice(rows)
    asks: list[Ask] = [
        (f"{one[0]}의 2월 판매량은 얼마인가요?", [(one[2],)]),
        ("3월에 가장 많이 팔린 품목은 무엇인가요?", best(rows, 3)),
        ("1월 총 판매량은?", [(sum(r[1] for r in rows),)]),
        (f"{one[0]}은 1월보다 3월에 얼마나 늘었나요?", [(one[3] - one[1],)]),
        ("2월 평균은 얼마인가요?", [(sum(r[2] for r in rows) / len(rows),)]),
        ("1월 판매량이 1000 미만인 품목은?", [(r[0],) for r in rows if r[1] < 1000]),
    ]
    return Sheet("과일 판매량", cells), asks


def chinese_products(rng: random.Random) -> tuple[Sheet, list[Ask]]:
    names = draw(rng, "台灯 书桌 椅子 沙发 地毯 窗帘 衣柜", 6)
    rows = [(n, rng.randint(20, 900), rng.randint(50, 3000), rng.choice(("华东", "华南", "华北"))) for n in names]
    cells = [["产品", "销量", "单价（元）", "地区"], *([n, str(s), f"{p:,}", g] for n, s, p, g in rows)]
    cells += [["合计", str(sum(r[1] for r in rows)), "", ""]]
    one, place = rng.choice(rows), rows[0][3]
    asks: list[Ask] = [
        ("哪个产品销量最高？", best(rows, 1)),
        (f"{one[0]}的单价是多少？", [(one[2],)]),
        ("总销量是多少？", [(sum(r[1] for r in rows),)]),
        ("单价超过1000元的产品有哪些？", [(r[0],) for r in rows if r[2] > 1000]),
        ("平均单价是多少", [(sum(r[2] for r in rows) / len(rows),)]),
        ("各地区的销量分别是多少？", grouped(rows, 3, 1)),
        (f"{one[0]}的销量占总销量的百分之几？", [(100 * one[1] / sum(r[1] for r in rows),)]),
        (f"{place}地区有几种产品？", [(sum(r[3] == place for r in rows),)]),
    ]
    return Sheet("家具销售", cells), asks


def chinese_years(rng: random.Random) -> tuple[Sheet, list[Ask]]:
    names = draw(rng, "研发部 市场部 行政部 生产部 客服部", 4)
    rows = [(n, *(rng.randint(50, 900) for _ in range(3))) for n in names]
    cells = [["部门", "2022年", "2023年", "2024年"], *([r[0], *map(str, r[1:])] for r in rows)]
    one = rng.choice(rows)
    asks: list[Ask] = [
        (f"{one[0]}2023年的预算是多少？", [(one[2],)]),
        ("2024年预算最多的部门是哪个？", best(rows, 3)),
        ("2022年各部门预算总共是多少？", [(sum(r[1] for r in rows),)]),
        (f"{one[0]}的预算从2022年到2024年增加了多少？", [(one[3] - one[1],)]),
        ("2023年预算低于400的部门有哪些？", [(r[0],) for r in rows if r[2] < 400]),
        ("2024年的平均预算？", [(sum(r[3] for r in rows) / len(rows),)]),
    ]
    return Sheet("部门预算（万元）", cells), asks


def traditional_shops(rng: random.Random) -> tuple[Sheet, list[Ask]]:
    names = draw(rng, "台北店 台中店 高雄店 新竹店 花蓮店", 5)
    rows = [(n, rng.randint(100, 2000), rng.randint(4, 40)) for n in names]
    cells = [["分店", "營業額（萬元）", "員工人數"], *([n, f"{s:,}", str(e)] for n, s, e in rows)]
    one = rng.choice(rows)
    asks: list[Ask] = [
        ("哪家分店的營業額最低？", best(rows, 1, least=True)),
        (f"{one[0]}有多少員工？", [(one[2],)]),
        ("所有分店的營業額合計是多少？", [(sum(r[1] for r in rows),)]),
        ("營業額前三名的分店", [(r[0], r[1]) for r in sorted(rows, key=lambda r: -r[1])[:3]]),
        ("員工人數不到15人的分店有哪些？", [(r[0],) for r in rows if r[2] < 15]),
    ]
    return Sheet("分店一覽", cells), asks


MAKERS: tuple[Maker, ...] = (
    *(boats, robots, branches, segments, staff, orders, stock, invoices, two_tables, visitors, projects),
    *(korean_branches, korean_months, chinese_products, chinese_years, traditional_shops),
)


def make_sheets(count: int = SHEETS) -> list[Sheet]:
    """Return sheets of all shapes in turn, each with another of its questions."""
    sheets = []
    for number in range(count):
        rng = random.Random(number)
        sheet, asks = MAKERS[number % len(MAKERS)](rng)
        sheet.question, sheet.expected = asks[number // len(MAKERS) % len(asks)]
        if len(sheet.expected) > 0:
            sheets.append(sheet)
    return sheets


def make_passages(sheet: Sheet, first_id: int = 1) -> list[Passage]:
    """Return the passages of a sheet, split as an added file would be."""
    blocks = (Block(sheet.title, "heading", level=1), *table_blocks(sheet.rows, least_names=2))
    document = Document(sheet.title, None, blocks)
    chunks = split_document(document, lambda text: len(text) // 3 + 1, CHUNK_TOKENS)
    return [
        Passage(first_id + at, sheet.title, sheet.title, "", chunk.text, chunk.text, heading=chunk.heading)
        for at, chunk in enumerate(chunks)
    ]


def is_exact(result: QueryResult, expected: Sequence[tuple[Any, ...]], question: str) -> bool:
    """Return whether the rows of a result are those expected, in any order, each with the expected values."""
    if result.total_rows != len(expected):
        return False
    rest = list(result.rows)
    for wanted in expected:
        at = next((n for n, row in enumerate(rest) if all(any(_equal(one, cell) for cell in row) for one in wanted)), -1)
        if at < 0:
            return False
        del rest[at]
    return True


def _equal(wanted: object, cell: object) -> bool:
    if isinstance(wanted, int | float) and isinstance(cell, int | float):
        return abs(wanted - cell) <= 1e-6 * max(1.0, abs(wanted))
    return wanted == cell


def ask(sheet: Sheet, tables: Sequence[DataTable]) -> tuple[str, str]:
    """Return the outcome for the question of a sheet, and the SQL."""
    query = write_query(sheet.question, tables)
    if query is None:
        return "none", ""
    try:
        result = run_query(query.sql, tables, Cancellation())
    except QueryRefused as refused:
        return "refused", f"{refused} {query.sql}"
    certainty = "certain" if query.is_certain else "uncertain"
    exact = is_exact(result, sheet.expected, sheet.question)
    return (f"exact, {certainty}" if exact else f"wrong, {certainty}"), f"{query.sql} → {result.rows[:4]}"


def main() -> None:
    """Print the outcomes, and each question that was not answered exactly."""
    sheets = make_sheets()
    outcomes: Counter[str] = Counter()
    for at, sheet in enumerate(sheets):
        other = sheets[(at * 7 + 3) % len(sheets)]
        tables = find_tables([*make_passages(sheet), *(make_passages(other, 10_000) if other is not sheet else [])])
        outcome, sql = ask(sheet, tables)
        outcomes[outcome] += 1
        if not outcome.startswith("exact"):
            print(f"{outcome}: {sheet.question}\n    {sql}\n    expected {sheet.expected[:4]}")
    print(f"\n{len(sheets)} questions")
    for outcome, count in sorted(outcomes.items()):
        print(f"{outcome:20}{count:>5}")
