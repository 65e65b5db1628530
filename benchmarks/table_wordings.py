"""Questions about 16 sheets of differing shapes, worded as people do, in three languages, with their answers.

The answers are computed from the rows in plain Python. None: the sheet does not say.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import date, timedelta
from statistics import mean, median
from typing import Any

Row = tuple[Any, ...]
Expected = list[Row]
Ask = tuple[str, Expected | None]
Wording = tuple[str, list[list[str]], list[Ask]]
"""A title, the rows of a sheet as typed, and questions with the rows that answer them."""


def total_by(rows: Iterable[Row], by: Callable[[Row], Any], at: int) -> dict[Any, float]:
    """Return the sum of a column for each group."""
    sums: defaultdict[Any, float] = defaultdict(float)
    for row in rows:
        sums[by(row)] += row[at]
    return dict(sums)


def names(rows: Iterable[Row]) -> Expected:
    """Return the first cell of each row."""
    return [(row[0],) for row in rows]


def written(rows: Sequence[Row]) -> list[list[str]]:
    """Return rows as they are typed."""
    return [
        ["" if cell is None else f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in rows
    ]


def _sales(rng: random.Random) -> Wording:
    months = ("January", "February", "March", "April", "May", "June")
    rows = [
        (region, month, product, rng.randint(900, 9999), rng.randint(10, 400))
        for month in months
        for region in ("North", "South", "East")
        for product in ("Coffee", "Tea")
    ]
    cells = [["Region", "Month", "Product", "Revenue (EUR)", "Units"], *written(rows)]
    by_region, by_month = total_by(rows, lambda r: r[0], 3), total_by(rows, lambda r: r[1], 3)
    everything = sum(r[3] for r in rows)
    return (
        "Sales first half",
        cells,
        [
            ("revenue by region", list(by_region.items())),
            ("Show me the revenue per month please", list(by_month.items())),
            ("Which month was our best in terms of revenue?", [(max(by_month, key=by_month.__getitem__),)]),
            ("How much did we make outside the North?", [(everything - by_region["North"],)]),
            ("revenue in March or April", [(by_month["March"] + by_month["April"],)]),
            (
                "What did tea bring in between February and April?",
                [(sum(r[3] for r in rows if r[2] == "Tea" and r[1] in months[1:4]),)],
            ),
            ("what % of revenue is from the South", [(100 * by_region["South"] / everything,)]),
            (
                "Units sold of Coffee in the East in May?",
                [(next(r[4] for r in rows if r[:3] == ("East", "May", "Coffee")),)],
            ),
            ("How many different products do we sell?", [(2,)]),
            ("How much more revenue did June have than January?", [(by_month["June"] - by_month["January"],)]),
            ("How much revenue came from chocolate?", None),
        ],
    )


def _employees(rng: random.Random) -> Wording:
    people = [
        "Ines",
        "Jonas",
        "Karla",
        "Leo",
        "Mara",
        "Nils",
        "Olga",
        "Pavel",
        "Rosa",
        "Sven",
        "Tilda",
        "Ugo",
        "Vera",
        "Wim",
    ]
    salaries = rng.sample(range(32000, 98000, 100), len(people))
    rows = [
        (
            name,
            rng.choice(("Analyst", "Engineer", "Manager")),
            rng.choice(("Finance", "IT", "Logistics")),
            salary,
            date(rng.randint(2016, 2024), rng.randint(1, 12), rng.randint(1, 28)),
            rng.choice(("Berlin", "Porto")),
        )
        for name, salary in zip(people, salaries, strict=True)
    ]
    cells = [["Employee", "Position", "Department", "Salary", "Hired", "Office"], *written(rows)]
    ranked = sorted(rows, key=lambda r: -r[3])
    years = total_by([(r[4].year, 1) for r in rows], lambda r: r[0], 1)
    return (
        "Personnel",
        cells,
        [
            ("Who earns the most?", names(ranked[:1])),
            ("who's the second best paid person", names(ranked[1:2])),
            ("Who has been with us the longest?", names([min(rows, key=lambda r: r[4])])),
            ("Who was hired after 2020?", names(r for r in rows if r[4].year > 2020)),
            ("What's the median salary?", [(median(r[3] for r in rows),)]),
            (
                "How many engineers are there in Berlin?",
                [(sum(r[1] == "Engineer" and r[5] == "Berlin" for r in rows),)],
            ),
            ("Average salary of everyone except managers", [(mean(r[3] for r in rows if r[1] != "Manager"),)]),
            ("How many people joined each year?", [(str(year), count) for year, count in years.items()]),
            (
                "Highest salary in IT or Finance?",
                [(max(r[3] for r in rows if r[2] in ("IT", "Finance")),)],
            ),
            ("How much more does Ines earn than Leo?", [(next(r[3] for r in rows if r[0] == "Ines") - rows[3][3],)]),
            ("How old is Rosa?", None),
        ],
    )


def _inventory(rng: random.Random) -> Wording:
    items = ["Flour", "Sugar", "Olive-oil", "Salt", "Yeast", "Milk", "Butter", "Honey", "Rice", "Oats"]
    rows = [
        (
            item,
            rng.choice(("kg", "litre")),
            rng.randint(0, 900),
            rng.randint(50, 300),
            rng.randint(20, 1900) / 100,
            rng.choice(("Hall A", "Hall B", "Cold store")),
        )
        for item in items
    ]
    rows[4] = (*rows[4][:2], None, *rows[4][3:])  # nobody counted the yeast
    cells = [["Article", "Unit", "On hand", "Minimum", "Cost per unit ($)", "Location"], *written(rows)]
    counted = [r for r in rows if r[2] is not None]
    return (
        "Stock take",
        cells,
        [
            ("Which articles are not stored in Hall A?", names(r for r in rows if r[5] != "Hall A")),
            ("Which articles are below the minimum?", names(r for r in counted if r[2] < r[3])),
            ("What is the cheapest article in the cold store?", [_least([r for r in rows if r[5] == "Cold store"], 4)]),
            ("how much honey do we have", [(rows[7][2],)]),
            ("List the articles costing between 5 and 12 dollars", names(r for r in rows if 5 <= r[4] <= 12)),
            ("What are the three most expensive articles?", names(sorted(rows, key=lambda r: -r[4])[:3])),
            (
                "What's the count of articles per location?",
                list(total_by([(r[5], 1) for r in rows], lambda r: r[0], 1).items()),
            ),
            ("For which articles is the number on hand missing?", [("Yeast",)]),
            ("Which supplier delivers the rice?", None),
        ],
    )


def _least(rows: Sequence[Row], at: int) -> Row:
    return (min(rows, key=lambda r: r[at])[0],)


def _invoices(rng: random.Random) -> Wording:
    rows = [
        (
            f"R-{310 + n}",
            date(2023, 1, 5) + timedelta(days=11 * n + rng.randint(0, 9)),
            rng.choice(("Halm GmbH", "Ostara", "Piet & Zoon")),
            rng.choice(("EUR", "EUR", "USD")),
            rng.randint(10000, 999900) / 100,
            rng.choice(("paid", "open")),
        )
        for n in range(40)
    ]
    cells = [["Invoice", "Issued", "Client", "Currency", "Amount", "Status"]]
    cells += [[r[0], f"{r[1]:%d %b %Y}", r[2], r[3], f"{r[4]:,.2f}", r[5]] for r in rows]
    quarter = total_by([((r[1].month - 1) // 3 + 1, 1) for r in rows if r[1].year == 2023], lambda r: r[0], 1)
    return (
        "Outgoing invoices",
        cells,
        [
            (
                "How many invoices were issued between March and May 2023?",
                [(sum(date(2023, 3, 1) <= r[1] < date(2023, 6, 1) for r in rows),)],
            ),
            (
                "Sum of the EUR amounts in Q2 2023",
                [(sum(r[4] for r in rows if r[3] == "EUR" and (r[1].year, (r[1].month - 1) // 3) == (2023, 1)),)],
            ),
            ("How many invoices per quarter in 2023?", [(count,) for count in quarter.values()]),
            (
                "Which invoices are still open for Ostara?",
                names(r for r in rows if r[2] == "Ostara" and r[5] == "open"),
            ),
            ("What's the most recent invoice?", names([max(rows, key=lambda r: r[1])])),
            (
                "How many invoices were issued in the first half of 2023?",
                [(sum(r[1] < date(2023, 7, 1) for r in rows),)],
            ),
            ("Number of unpaid USD invoices", [(sum(r[3] == "USD" and r[5] == "open" for r in rows),)]),
            (
                "open amount by client, in euros",
                list(total_by([r for r in rows if r[5] == "open" and r[3] == "EUR"], lambda r: r[2], 4).items()),
            ),
            ("Which invoices were paid late?", None),
        ],
    )


def _survey(rng: random.Random) -> Wording:
    rows = []
    for statement in ("Pay is fair", "My team helps me", "I would stay", "Tools work well", "Managers listen"):
        agree, neutral = rng.randint(20, 70), rng.randint(5, 25)
        rows.append((statement, agree, neutral, 100 - agree - neutral))
    cells = [["Statement", "Agree", "Neutral", "Disagree"], *([r[0], *(f"{v}%" for v in r[1:])] for r in rows)]
    return (
        "Staff survey 2024",
        cells,
        [
            (
                "Which statement do most people agree with?",
                names(r for r in rows if r[1] == max(one[1] for one in rows)),
            ),
            ("How many percent disagree that pay is fair?", [(rows[0][3],)]),
            ("Which statements does less than half agree with?", names(r for r in rows if r[1] < 50)),
            ("Where is neutral the highest?", names(r for r in rows if r[2] == max(one[2] for one in rows))),
            ("How many people took part in the survey?", None),
        ],
    )


def _two_captions(rng: random.Random) -> Wording:
    def table() -> list[Row]:
        return [(site, rng.randint(20, 400), rng.randint(2, 30)) for site in ("Bern", "Genf", "Chur", "Basel")]

    old, new = table(), table()
    head = ["Site", "Headcount", "Vacancies"]
    cells = [["Staffing 2022"], head, *written(old), [], ["Staffing 2023"], head, *written(new)]
    return (
        "Sites",
        cells,
        [
            ("What was the headcount in Chur in 2022?", [(old[2][1],)]),
            ("How many vacancies did Bern have in 2023?", [(new[0][2],)]),
            ("Total headcount 2023?", [(sum(r[1] for r in new),)]),
            ("Which site had the most vacancies in 2022?", names([max(old, key=lambda r: r[2])])),
        ],
    )


def _periods(rng: random.Random) -> Wording:
    rows = [(unit, *(rng.randint(100, 4000) for _ in range(4))) for unit in ("Paper", "Glass", "Steel", "Wood")]
    cells = [["", "2021", "", "2022", ""], ["Division", "Revenue", "Profit", "Revenue", "Profit"], *written(rows)]
    return (
        "Divisions",
        cells,
        [
            ("What was the revenue of Glass in 2021?", [(rows[1][1],)]),
            ("profit of Steel 2022", [(rows[2][4],)]),
            ("Which division had the highest profit in 2021?", names([max(rows, key=lambda r: r[2])])),
            ("Total revenue in 2022?", [(sum(r[3] for r in rows),)]),
            ("By how much did the profit of Wood rise from 2021 to 2022?", [(rows[3][4] - rows[3][2],)]),
        ],
    )


def _years(rng: random.Random) -> Wording:
    rows = [
        (land, *(rng.randint(100, 9000) / 10 for _ in range(5)))
        for land in ("Chile", "Kenya", "Nepal", "Norway", "Laos")
    ]
    cells = [["Country", "2019", "2020", "2021", "2022", "2023"], *([r[0], *map(str, r[1:])] for r in rows)]
    return (
        "CO2 emissions, million tonnes",
        cells,
        [
            ("Which country emitted the least in 2021?", names([min(rows, key=lambda r: r[3])])),
            ("How did Kenya's emissions change between 2019 and 2023?", [(rows[1][5] - rows[1][1],)]),
            ("Which countries emitted more in 2023 than in 2019?", names(r for r in rows if r[5] > r[1])),
            ("What was the average over all years for Nepal?", [(mean(rows[2][1:]),)]),
            ("emissions of Laos in 2018", None),
        ],
    )


def _walks(rng: random.Random) -> Wording:
    start = date(2024, 1, 6)
    rows = [(start + timedelta(days=9 * n), rng.randint(3, 28), rng.choice(("Hills", "Coast"))) for n in range(36)]
    cells = [["Date", "Distance (km)", "Route"], *([f"{r[0]:%d/%m/%Y}", str(r[1]), r[2]] for r in rows)]
    by_month = total_by([(r[0].strftime("%Y-%m"), r[1]) for r in rows], lambda r: r[0], 1)
    return (
        "Walking diary",
        cells,
        [
            ("How far did I walk per month?", [(km,) for km in by_month.values()]),
            ("When was my longest walk?", [(r[0].isoformat(),) for r in rows if r[1] == max(one[1] for one in rows)]),
            (
                "How many kilometres along the coast since June?",
                [(sum(r[1] for r in rows if r[2] == "Coast" and r[0] >= date(2024, 6, 1)),)],
            ),
            ("How many walks were longer than 20 km?", [(sum(r[1] > 20 for r in rows),)]),
        ],
    )


def _budget(rng: random.Random) -> Wording:
    parts = {
        "Staff": ("Wages", "Training"),
        "Premises": ("Rent", "Power", "Repairs"),
        "Events": ("Hall hire", "Catering"),
    }
    cells = [["Heading", "Planned", "Actual"]]
    rows: list[Row] = []
    for group, entries in parts.items():
        own = [(entry, rng.randint(200, 9000), rng.randint(200, 9000)) for entry in entries]
        rows += own
        cells += written(own)
        cells += written([(f"Subtotal {group}", sum(r[1] for r in own), sum(r[2] for r in own))])
    cells += written([("Grand total", sum(r[1] for r in rows), sum(r[2] for r in rows))])
    return (
        "Club budget",
        cells,
        [
            ("What did we plan to spend overall?", [(sum(r[1] for r in rows),)]),
            ("Where did we go over plan?", names(r for r in rows if r[2] > r[1])),
            ("What was the biggest actual cost?", names([max(rows, key=lambda r: r[2])])),
            ("How much did catering cost?", [(rows[6][2],)]),
        ],
    )


def _korean_sales(rng: random.Random) -> Wording:
    rows = [
        (date(2024, month, rng.randint(1, 28)), branch, item, rng.randint(10, 500), rng.randint(100, 9000))
        for month in range(1, 13)
        for branch in ("서울점", "부산점", "광주점")
        for item in [rng.choice(("커피", "녹차", "주스"))]
    ]
    cells = [["날짜", "지점", "품목", "수량", "매출(천원)"], *written(rows)]
    by_branch = total_by(rows, lambda r: r[1], 4)
    by_item = total_by(rows, lambda r: r[2], 3)
    by_month = total_by(rows, lambda r: r[0].month, 4)
    return (
        "2024년 판매 내역",
        cells,
        [
            ("지점별 매출 알려줘", list(by_branch.items())),
            ("매출이 제일 많았던 지점이 어디야?", [(max(by_branch, key=by_branch.__getitem__),)]),
            ("월별 매출은 어떻게 되나요?", [(value,) for value in by_month.values()]),
            ("3월부터 5월까지 매출 합계는?", [(sum(r[4] for r in rows if 3 <= r[0].month <= 5),)]),
            ("서울점을 제외한 매출 합계는 얼마예요?", [(sum(r[4] for r in rows if r[1] != "서울점"),)]),
            ("상반기 부산점 매출은 얼마였죠?", [(sum(r[4] for r in rows if r[1] == "부산점" and r[0].month <= 6),)]),
            ("커피나 녹차는 몇 개 팔렸나요?", [(by_item.get("커피", 0) + by_item.get("녹차", 0),)]),
            ("광주점 매출 비중은 몇 퍼센트인가요?", [(100 * by_branch["광주점"] / sum(by_branch.values()),)]),
            ("판매 품목은 몇 종류인가요?", [(len(by_item),)]),
            ("대구점 매출은 얼마인가요?", None),
        ],
    )


def _korean_staff(rng: random.Random) -> Wording:
    people = ["김민수", "이서연", "박지훈", "최유진", "정하늘", "강도윤", "조은비", "윤태호"]
    pay = rng.sample(range(2800, 7600, 10), len(people))
    rows = [
        (
            name,
            rng.choice(("개발팀", "영업팀", "인사팀")),
            rng.choice(("사원", "대리", "과장")),
            salary,
            f"{year}년 {rng.randint(1, 12)}월 {rng.randint(1, 28)}일",
            year,
        )
        for name, salary in zip(people, pay, strict=True)
        for year in [rng.randint(2015, 2024)]
    ]
    cells = [["이름", "부서", "직급", "연봉(만원)", "입사일"], *([*r[:3], f"{r[3]:,}", r[4]] for r in rows)]
    ranked = sorted(rows, key=lambda r: -r[3])
    return (
        "인사 명부",
        cells,
        [
            ("누가 연봉이 가장 높아요?", names(ranked[:1])),
            ("두 번째로 연봉이 높은 사람은 누구인가요?", names(ranked[1:2])),
            ("2020년 이후에 입사한 직원은 누구인가요?", names(r for r in rows if r[5] >= 2020)),
            ("연봉 중앙값이 얼마야?", [(median(r[3] for r in rows),)]),
            ("부서별 인원수", list(total_by([(r[1], 1) for r in rows], lambda r: r[0], 1).items())),
            ("개발팀이 아닌 직원들의 평균 연봉은?", [(mean(r[3] for r in rows if r[1] != "개발팀"),)]),
            ("김민수와 이서연의 연봉 차이는?", [(abs(rows[0][3] - rows[1][3]),)]),
        ],
    )


def _korean_wide(rng: random.Random) -> Wording:
    rows = [(city, *(rng.randint(1000, 99999) for _ in range(4))) for city in ("춘천", "여수", "안동", "제주")]
    cells = [["도시", "2023년", "", "2024년", ""], ["", "상반기", "하반기", "상반기", "하반기"], *written(rows)]
    return (
        "도시별 관광객 수",
        cells,
        [
            ("여수의 2023년 하반기 관광객은 몇 명인가요?", [(rows[1][2],)]),
            ("2024년 상반기에 관광객이 가장 많은 도시는?", names([max(rows, key=lambda r: r[3])])),
            ("2024년 하반기 전체 관광객 수는?", [(sum(r[4] for r in rows),)]),
        ],
    )


def _chinese_orders(rng: random.Random) -> Wording:
    rows = [
        (
            f"D{500 + n}",
            date(2023, 1 + n // 2, rng.randint(1, 28)),
            rng.choice(("北京", "上海", "成都")),
            rng.choice(("手机", "电脑", "耳机")),
            rng.randint(1, 60),
            rng.randint(500, 90000),
        )
        for n in range(24)
    ]
    cells = [["订单号", "日期", "城市", "商品", "数量", "金额（元）"], *written(rows)]
    by_city = total_by(rows, lambda r: r[2], 5)
    by_quarter = total_by(rows, lambda r: (r[1].month - 1) // 3, 5)
    return (
        "2023年订单",
        cells,
        [
            ("按城市统计金额", list(by_city.items())),
            ("哪个城市的销售金额最高？", [(max(by_city, key=by_city.__getitem__),)]),
            ("每个季度的金额是多少？", [(value,) for value in by_quarter.values()]),
            ("3月到6月一共有多少订单？", [(sum(3 <= r[1].month <= 6 for r in rows),)]),
            ("除了北京以外的总金额是多少？", [(sum(r[5] for r in rows if r[2] != "北京"),)]),
            ("手机和电脑总共卖了多少台？", [(sum(r[4] for r in rows if r[3] in ("手机", "电脑")),)]),
            ("金额第二高的订单是哪个？", names(sorted(rows, key=lambda r: -r[5])[1:2])),
            ("上海的金额占比是多少？", [(100 * by_city["上海"] / sum(by_city.values()),)]),
            ("有几种不同的商品？", [(len({r[3] for r in rows}),)]),
            ("广州的订单有几个？", None),
        ],
    )


def _chinese_staff(rng: random.Random) -> Wording:
    people = ["王芳", "李强", "张敏", "刘洋", "陈静", "杨帆", "赵磊"]
    pay = rng.sample(range(6000, 29000, 50), len(people))
    rows = [
        (name, rng.choice(("技术部", "销售部")), salary, f"{year}-0{rng.randint(1, 9)}-1{rng.randint(0, 9)}", year)
        for name, salary in zip(people, pay, strict=True)
        for year in [rng.randint(2014, 2023)]
    ]
    cells = [["姓名", "部门", "月薪", "入职日期"], *([*r[:2], str(r[2]), r[3]] for r in rows)]
    return (
        "员工表",
        cells,
        [
            ("谁的工资最高？", names([max(rows, key=lambda r: r[2])])),
            ("月薪的中位数是多少？", [(median(r[2] for r in rows),)]),
            ("2019年以前入职的有谁？", names(r for r in rows if r[4] < 2019)),
            ("不在技术部的员工有几个人？", [(sum(r[1] != "技术部" for r in rows),)]),
            ("王芳比李强多挣多少？", [(rows[0][2] - rows[1][2],)]),
            ("各部门平均月薪", [(d, mean(r[2] for r in rows if r[1] == d)) for d in dict.fromkeys(r[1] for r in rows)]),
        ],
    )


def _chinese_wide(rng: random.Random) -> Wording:
    rows = [(school, *(rng.randint(50, 999) for _ in range(4))) for school in ("一中", "二中", "外国语学校")]
    cells = [["学校", "2022年", "2022年", "2023年", "2023年"], ["学校", "男生", "女生", "男生", "女生"], *written(rows)]
    return (
        "学生人数",
        cells,
        [
            ("二中2022年有多少女生？", [(rows[1][2],)]),
            ("2023年男生最多的学校是哪所？", names([max(rows, key=lambda r: r[3])])),
            ("2022年男生一共有多少人？", [(sum(r[1] for r in rows),)]),
            ("一中的女生从2022年到2023年增加了多少？", [(rows[0][4] - rows[0][2],)]),
        ],
    )


WORDINGS: tuple[Callable[[random.Random], Wording], ...] = (
    *(_sales, _employees, _inventory, _invoices, _survey, _two_captions, _periods, _years, _walks, _budget),
    *(_korean_sales, _korean_staff, _korean_wide, _chinese_orders, _chinese_staff, _chinese_wide),
)
