"""From questions to SQL: what is answered, and what is better left open."""

import time

import pytest

from crag.cancellation import Cancellation
from crag.tables.data_table import DataTable, find_tables
from crag.tables.query import run_query
from crag.tables.question_kinds import is_lookup_question, is_table_question
from crag.tables.questions import write_queries, write_query
from crag.types import Passage
from tests.tables.test_data_table import sheet

SHEETS = {
    "Robot sales": """
        Robot | Units sold | Revenue (EUR thousand) | Price (€) | Region | Delivery date
        Welder | 1,200 | 38.5 | 1,050 | North | 2024-03-02
        Picker | 300 | 12.0 | 400 | South | 2024-03-09
        Scout | 300 | 9.5 | 350 | North | 2023-05-01
        Total | 1,800 | 60.0 | |""",
    "Visits by town": """
        Town | 2022 | 2023 | 2024
        Odby | 100 | 140 | 120
        Varn | 50 | 60 | 90
        Total | 150 | 200 | 210""",
    "Staff": """
        Name | Team | Salary (USD)
        Ana Ash | Sales | 40,000
        Ben Elm | Sales | 60,000
        Cleo Fir | Legal | 90,000
        O'Hara | Legal | 50,000""",
    "Income statement": """
        Item | Q1 | Q2
        Revenue | 40 | 50
        Costs | 30 | 20""",
    "Deliveries": """
        Delivery | Day sent | Depot | Goods | Weight (kg) | Limit (kg) | Currency | Value
        D-1 | 2023-11-30 | Odby | Rope | 100 | 90 | EUR | 10
        D-2 | 2024-02-05 | Varn | Sail | 300 | 400 | USD | 20
        D-3 | 2024-04-01 | Odby | Sail | 200 | 250 | EUR | 30
        D-4 | 2024-05-31 | Salt | Lamp | | 300 | EUR | 40""",
    "Clinic visits": """
        Date | Doctor | Site | Type | Minutes | Fee EUR | Status
        2025-01-07 | Dr Hale | North | Check-up | 20 | 80 | attended
        2025-02-03 | Dr Okoye | Harbour | X-ray | 15 | 50 | missed
        2025-03-12 | Dr Hale | Harbour | Check-up | 30 | 80 | attended
        2025-04-28 | Dr Okoye | North | Vaccination | 10 | 35 | attended
        2025-05-06 | Dr Hale | North | Vaccination | 10 | 35 | missed
        2025-06-19 | Dr Hale | North | X-ray | 15 | 60 | attended""",
    "시간표": """
        반 | 요일 | 교시 | 과목 | 교사 | 수업시간(분)
        1반 | 월요일 | 1 | 수학 | 김민서 | 50
        1반 | 화요일 | 2 | 영어 | 박지훈 | 45
        2반 | 월요일 | 2 | 영어 | 박지훈 | 50
        2반 | 화요일 | 1 | 영어 | 박지훈 | 90""",
    "仓库": """
        编号 | 品名 | 类别 | 仓库 | 库存数量 | 入库日期
        W1 | 锤子 | 工具 | 东仓 | 40 | 2025-01-10
        W1 | 锤子 | 工具 | 西仓 | 15 | 2025-07-02
        W2 | 电钻 | 工具 | 东仓 | 7 | 2025-08-20
        W3 | 手套 | 劳保 | 西仓 | 90 | 2025-03-11""",
    "借閱紀錄": """
        借出日期 | 書名 | 類別 | 分館 | 讀者類型 | 借閱天數 | 罰款（元）
        2024-01-05 | 三體 | 小說 | 總館 | 兒童 | 10 | 10
        2024-02-11 | 茶經 | 生活 | 東區分館 | 成人 | 21 | 0
        2024-04-02 | 三體 | 小說 | 東區分館 | 兒童 | 14 | 10
        2024-05-20 | 紅樓夢 | 小說 | 總館 | 成人 | 30 | 20
        2024-08-08 | 三體 | 小說 | 西區分館 | 兒童 | 3 | 0""",
    "Choir": """
        Name | Voice | District | Age
        Abel | bass | Elm Road | 40
        Bea | alto | Castle Hill | 61
        Carl | bass | Castle Hill | 52
        Dina | bass | Castle Hill | 33""",
    "예약": """
        날짜 | 좌석 | 인원 | 상태 | 예약경로
        2025-03-01 | 홀 | 4 | 취소 | 앱
        2025-03-09 | 룸 | 6 | 방문 | 앱
        2025-04-02 | 홀 | 2 | 취소 | 전화""",
    "Price list": """
        Product | Category | Price EUR | Price from 10 EUR
        LED bulb E27 | Lighting | 5.90 | 4.90
        Lamp Arc Mini | Lighting | 54.00 | 49.00
        Desk Lift | Desks | 549.00 | 515.00
        Desk Nora | Desks | 329.00 | 305.00""",
    "Trains": """
        Train | From | To | Price
        IC 1 | Bern | Basel | 40
        IC 2 | Basel | Bern | 42
        RE 7 | Bern | Thun | 12""",
    "Crew": """
        No. | Code | Name | Team | Days
        1 | C-1 | Ada | Deck | 40
        2 | C-2 | Bo | Deck | 10
        3 | C-3 | Cy | Galley | 25""",
    "Visits": """
        Visit | Date | Ward | Minutes
        1 | 2024-01-05 | North | 20
        2 | 2024-01-09 | South | 30
        3 | 2024-02-01 | North | 40""",
    "Sales lines": """
        Region | Month | Units
        North | January | 5
        North | February | 7
        North | March | 1
        South | January | 2
        South | February | 4
        South | March | 9""",
    "Training": """
        Week | Total distance (km) | Long run (km)
        Week 1 | 22 | 8
        Week 2 | 25 | 10
        Week 3 | 30 | 12
        Race day | 21.1 | 21.1
        After race | 0 | none""",
    "Courses": """
        Course | Day | Teacher | Group size | Notes
        Violin group | Monday | Greta Ode | 6 | waiting list
        Brass band | Thursday | Hal Reed | 30 | audition""",
    "지점 현황": """
        지점 | 매출(만원) | 직원 수 | 지역
        강남점 | 5,200 | 14명 | 수도권
        수원점 | 3,100 | 9명 | 수도권
        전주점 | 2,400 | 9명 | 지방
        합계 | 10,700 | 32명 |""",
    "Bikes": """
        Month | Branch | Group | Units | Country
        2025-04 | Odby | Bikes | 40 | US
        2025-05 | Odby | Bikes | 50 | US
        2025-05 | Varn | Bikes | 70 | UK
        2025-05 | Varn | Helmets | 9 | UK""",
    "매출": """
        지점 | 품목 | 수량 | 금액
        강남 | 우유 | 120 | 360,000
        강남 | 빵 | 80 | 240,000
        부산 | 우유 | 200 | 600,000""",
    "家具销售": """
        产品 | 销量 | 单价（元） | 地区
        台灯 | 300 | 120 | 华东
        书桌 | 80 | 1,500 | 华南
        沙发 | 20 | 3,000 | 华东
        合计 | 400 | |""",
    "分店預算（萬元）": """
        分店 | 2023年 | 2024年
        台北店 | 400 | 500
        高雄店 | 300 | 240""",
}


def make_table(title: str, number: int = 0) -> DataTable:
    rows = "\n".join(line.strip() for line in SHEETS[title].strip().splitlines())
    (table,) = find_tables([Passage(1, title, title, "", rows, "", heading=rows.splitlines()[0])])
    return table


def read(question: str, title: str) -> tuple[str, bool, list[tuple[object, ...]]] | None:
    query = write_query(question, [make_table(title)])
    if query is None:
        return None
    return query.kind, query.is_certain, list(run_query(query.sql, [query.table], Cancellation()).rows)


@pytest.mark.parametrize(
    ("title", "question", "kind", "rows"),
    [
        ("Robot sales", "Which robots cost more than 380 euros?", "filter", [("Welder", 1050), ("Picker", 400)]),
        ("Robot sales", "What is the price of the Scout?", "filter", [("Scout", 350)]),
        ("Robot sales", "How many robots cost between 300 and 400 euros?", "count", [(2,)]),
        ("Robot sales", "How many units of the Welder were sold?", "filter", [("Welder", 1200)]),
        ("Robot sales", "How many robots are there?", "count", [(3,)]),
        ("Robot sales", "What is the total revenue?", "sum", [(60,)]),
        ("Robot sales", "How many units were sold in the north?", "sum", [(1500,)]),
        ("Robot sales", "What's the average price?", "mean", [(600,)]),
        ("Robot sales", "Which robot sold most?", "max", [("Welder", 1200)]),
        ("Robot sales", "Which robot sold least?", "min", [("Picker", 300), ("Scout", 300)]),
        ("Robot sales", "What is the cheapest robot?", "min", [("Scout", 350)]),
        ("Robot sales", "Top 2 robots by revenue", "top", [("Welder", 38.5), ("Picker", 12)]),
        ("Sales lines", "What are the average units per month?", "mean", [(28 / 3,)]),
        ("Robot sales", "What share of the units sold came from Picker?", "share", [(100 / 6, 300, 1800)]),
        ("Robot sales", "revenue per region", "group", [("North", 48), ("South", 12)]),
        ("Robot sales", "Which region has the highest revenue?", "max", [("North", 48)]),
        ("Robot sales", "Which region is Scout in?", "filter", [("Scout", "North")]),
        ("Robot sales", "How many robots had their delivery in March 2024?", "count", [(2,)]),
        ("Visits by town", "How much did visits to Odby change from 2022 to 2024?", "change", [(20, 20, 100, 120)]),
        ("Visits by town", "How did total visits change between 2023 and 2024?", "change", [(10, 5, 200, 210)]),
        ("Visits by town", "Which town had the most visits in 2023?", "max", [("Odby", 140)]),
        ("Visits by town", "What was the total in 2022?", "sum", [(150,)]),
        ("Robot sales", "What was the second best selling robot?", "max", [("Picker", 300), ("Scout", 300)]),
        ("Robot sales", "Which robots are not from the north?", "filter", [("Picker",)]),
        (
            "Visits by town",
            "Which towns had more visits in 2024 than in 2022?",
            "filter",
            [("Odby", 100, 120), ("Varn", 50, 90)],
        ),
        ("Visits by town", "What is the average over all years for Varn?", "mean", [(200 / 3,)]),
        ("Deliveries", "How many deliveries were sent after 2023?", "count", [(3,)]),
        ("Deliveries", "Total weight sent in the second quarter of 2024", "sum", [(200,)]),
        ("Deliveries", "How many deliveries were sent between February and April 2024?", "count", [(2,)]),
        ("Deliveries", "Total weight except Odby", "sum", [(300,)]),
        ("Deliveries", "Total weight in Odby or Varn", "sum", [(600,)]),
        ("Deliveries", "What is the median weight?", "median", [(200,)]),
        ("Deliveries", "How many different goods were sent?", "distinct", [(3,)]),
        ("Deliveries", "For which delivery is the weight missing?", "filter", [("D-4", None)]),
        ("Deliveries", "Which deliveries have a weight above the limit?", "filter", [("D-1", 100, 90)]),
        ("Deliveries", "How many deliveries were sent per year?", "group", [("2023", 1), ("2024", 3)]),
        ("Deliveries", "total value in euros", "sum", [(80,)]),
        (
            "Deliveries",
            "weight by depot and goods",
            "group",
            [("Varn", "Sail", 300), ("Odby", "Sail", 200), ("Odby", "Rope", 100), ("Salt", "Lamp", None)],
        ),
        ("Trains", "average price to Bern", "mean", [(42,)]),
        ("Crew", "Who has the most days?", "max", [("Ada", 40)]),
        ("Crew", "How many more days does Ada have than Bo?", "change", [(30, 10, 40)]),
        ("Visits", "How many visits were in the North?", "count", [(2,)]),
        ("Visits", "Number of visits per month", "group", [("2024-01", 2), ("2024-02", 1)]),
        ("Sales lines", "units per region", "group", [("South", 15), ("North", 13)]),
        ("Sales lines", "Total units from January to February", "sum", [(18,)]),
        ("Sales lines", "How many fewer units did February have than March?", "change", [(-1, 11, 10)]),
        ("Sales lines", "How many regions are there?", "distinct", [(2,)]),
        ("Sales lines", "Which month had the most units?", "max", [("February", 11)]),
        ("Sales lines", "Which region had more units, North or South?", "top", [("South", 15), ("North", 13)]),
        ("Sales lines", "Which region had fewer units: North or South?", "top", [("North", 13), ("South", 15)]),
        ("Robot sales", "Welder or Scout: which has the higher price?", "top", [("Welder", 1050), ("Scout", 350)]),
        ("Robot sales", "What is the revenue of the cheapest robot?", "min", [("Scout", 350, 9.5)]),
        ("지점 현황", "수도권과 지방 중 어디 매출이 더 많나요?", "top", [("수도권", 8300), ("지방", 2400)]),
        ("家具销售", "书桌和沙发哪个单价更高？", "top", [("沙发", 3000), ("书桌", 1500)]),
        ("家具销售", "台灯和沙发谁的单价高？", "top", [("沙发", 3000), ("台灯", 120)]),
        (
            "Sales lines",
            "units by month of the sales lines",
            "group",
            [("February", 11), ("March", 10), ("January", 7)],
        ),
        ("Training", "Which week has the shortest long run?", "min", [("Week 1", 8)]),
        ("Training", "Which week has the longest long run?", "max", [("Race day", 21.1)]),
        ("Staff", "Who is the second best paid?", "max", [("Ben Elm", 60000)]),
        ("Staff", "How many people work in Sales?", "count", [(2,)]),
        ("Staff", "Who earns the most?", "max", [("Cleo Fir", 90000)]),
        ("Staff", "What is O'Hara's salary?", "filter", [("O'Hara", 50000)]),
        ("Staff", "average salary by team", "group", [("Legal", 70000), ("Sales", 50000)]),
        ("Staff", "How many employees per team?", "group", [("Legal", 2), ("Sales", 2)]),
        ("Income statement", "What was revenue in Q2?", "filter", [("Revenue", 50)]),
        ("지점 현황", "매출이 가장 높은 지점은 어디인가요?", "max", [("강남점", 5200)]),
        ("지점 현황", "매출 합계는 얼마인가요?", "sum", [(10700,)]),
        ("지점 현황", "강남점 직원은 몇 명인가요?", "filter", [("강남점", 14)]),
        ("지점 현황", "매출이 3,000만원 이상인 지점을 알려주세요", "filter", [("강남점", 5200), ("수원점", 3100)]),
        ("지점 현황", "수도권 지점은 몇 개인가요?", "count", [(2,)]),
        ("지점 현황", "지역별 매출을 알려줘", "group", [("수도권", 8300), ("지방", 2400)]),
        ("지점 현황", "수도권을 제외한 매출 합계는?", "sum", [(2400,)]),
        ("Robot sales", "What were the total sales?", "sum", [(60,)]),
        ("Bikes", "How many bikes were sold in Odby in May 2025?", "sum", [(50,)]),
        ("Bikes", "How many bikes were sold in April 2025?", "sum", [(40,)]),
        ("Bikes", "What were the total units in May?", "sum", [(129,)]),
        ("Bikes", "Which month had the most units?", "max", [("2025-05-01", 129)]),
        ("Bikes", "How many units were sold in the US?", "sum", [(90,)]),
        ("Bikes", "Which branch had the most units in May 2025?", "max", [("Varn", 79)]),
        ("Clinic visits", "How many check-ups did Dr Hale do in the first quarter?", "count", [(2,)]),
        ("Clinic visits", "fees from x-rays at North in Q2", "sum", [(60,)]),
        ("Clinic visits", "How many missed appointments were there in May?", "count", [(1,)]),
        ("Clinic visits", "total check up fees for the half-year", "sum", [(160,)]),
        ("Clinic visits", "average length of vaccinations", "mean", [(10,)]),
        ("Bikes", "bike units sold in Odby in the second quarter", "sum", [(90,)]),
        ("시간표", "박지훈 선생님은 화요일에 수업이 몇 번 있나요?", "count", [(2,)]),
        ("시간표", "월요일 2교시 2반 과목은?", "filter", [(2, "영어")]),
        ("시간표", "영어 수업이 가장 많은 반은 어디야?", "max", [(2, 2)]),
        ("시간표", "2반 영어 수업시간 합계는?", "sum", [(140,)]),
        ("仓库", "东仓的工具类一共有多少库存?", "sum", [(47,)]),
        ("仓库", "第三季度入库的有多少条?", "count", [(2,)]),
        ("仓库", "东仓有几种工具?", "distinct", [(2,)]),
        ("借閱紀錄", "2024年上半年總館的罰款總額是多少?", "sum", [(30,)]),
        ("借閱紀錄", "兒童讀者的平均借閱天數是多少?", "mean", [(9,)]),
        ("借閱紀錄", "第二季借出幾次三體?", "count", [(1,)]),
        ("借閱紀錄", "哪個分館借出的小說最多?", "max", [("總館", 2)]),
        ("Choir", "How many members are older than 50?", "count", [(2,)]),
        ("Choir", "Which district has the most basses?", "max", [("Castle Hill", 2)]),
        ("예약", "취소가 가장 많은 좌석은?", "max", [("홀", 2)]),
        ("예약", "3월에 앱으로 들어온 예약 인원은 총 몇 명인가요?", "sum", [(10,)]),
        ("Clinic visits", "Which doctor had the most attended appointments?", "max", [("Dr Hale", 3)]),
        ("Price list", "price of the LED bulb", "filter", [("LED bulb E27", 5.9)]),
        ("Price list", "Which desk is the cheapest?", "min", [("Desk Nora", 329)]),
        ("매출", "강남 지점의 매출 합계는 얼마인가요?", "sum", [(600_000,)]),
        ("매출", "강남 지점의 총매출은 얼마인가요?", "sum", [(600_000,)]),
        ("매출", "매출이 가장 많은 지점은?", "max", [("강남", 600_000), ("부산", 600_000)]),
        ("지점 현황", "강남점이 수원점보다 매출이 얼마나 더 많아?", "change", [(2100, 3100, 5200)]),
        ("家具销售", "除了华东，总销量是多少？", "sum", [(80,)]),
        ("家具销售", "沙发的单价比销量高多少？", "change", [(2980, 3000, 20)]),
        ("家具销售", "单价的中位数是多少？", "median", [(1500,)]),
        ("家具销售", "哪个产品销量最高？", "max", [("台灯", 300)]),
        ("家具销售", "书桌的单价是多少？", "filter", [("书桌", 1500)]),
        ("家具销售", "单价超过1000元的产品有哪些？", "filter", [("书桌", 1500), ("沙发", 3000)]),
        ("家具销售", "总销量是多少？", "sum", [(400,)]),
        ("家具销售", "台灯的销量占总销量的百分之几？", "share", [(75, 300, 400)]),
        ("分店預算（萬元）", "高雄店的預算從2023年到2024年減少了多少？", "change", [(-60, -20, 300, 240)]),
        ("分店預算（萬元）", "2024年預算超過300萬元的分店", "filter", [("台北店", 500)]),
    ],
)
def test_a_question_gets_its_figures(title: str, question: str, kind: str, rows: list[tuple[object, ...]]) -> None:
    found = read(question, title)
    assert found is not None
    assert found[:2] == (kind, True)
    assert [[pytest.approx(one) if isinstance(one, float) else one for one in row] for row in rows] == [
        list(row) for row in found[2]
    ]


@pytest.mark.parametrize(
    ("title", "question"),
    [
        ("Robot sales", "What is the price of the Mopper?"),
        ("Robot sales", "What was the revenue in 2021?"),
        ("Robot sales", "How many robots were returned?"),
        ("Sales lines", "How many units did North sell in May?"),
        ("Sales lines", "How many units were sold in the US?"),
        ("Robot sales", "Which robots sold more than the Picker?"),
        ("Deliveries", "What is the total value?"),
        ("Deliveries", "Total weight in the second quarter"),
        ("Deliveries", "Which was the last delivery?"),
        ("Deliveries", "Total weight not in Odby but in Kelm"),
        ("Deliveries", "average monthly weight"),
        ("Sales lines", "average units by month"),
        ("Sales lines", "Which regions had more than 8 units?"),
        ("Visits by town", "visits between 2022 and 2024 for Varn"),
        ("Trains", "What is the average price for Bern?"),
        ("Deliveries", "Which delivery is most over the limit?"),
        ("Sales lines", "Which region had more units than the South?"),
        ("Sales lines", "How many units did North have in January and South in March?"),
        ("Robot sales", "Which robot sold more?"),
        ("Robot sales", "Which supplier has the highest price?"),
        ("Deliveries", "What is the maximum weight for D-2?"),
        ("Robot sales", "Which region gave the lowest price?"),
        ("Robot sales", "Which robots were sold in both the north and the south?"),
        ("Deliveries", "How many deliveries were received?"),
        ("Deliveries", "How much weight is still needed?"),
        ("Staff", "In which team does the employee with the highest salary work?"),
        ("Staff", "What is the monthly salary of Ben Elm?"),
        ("지점 현황", "수도권에서 매출이 가장 많은 지점과 지방에서 매출이 가장 많은 지점은?"),
        ("Robot sales", "Why did revenue fall?"),
        ("Robot sales", "What is the sum of all prices?"),
        ("Robot sales", "Who invented the robot?"),
        ("Visits by town", "Which town grew the most from 2022 to 2023?"),
        ("Visits by town", "Which town had the most visits?"),
        ("Visits by town", "Did Odby have more visits in 2023 than in 2022?"),
        ("Courses", "How many people are on the waiting list for the violin group?"),
        ("Staff", "Who is the best employee?"),
        ("Staff", "How many people work in Marketing?"),
        ("Income statement", "What is the total for Q1?"),
        ("지점 현황", "제주점 매출은 얼마인가요?"),
        ("지점 현황", "영업이익이 가장 높은 지점은?"),
        ("家具销售", "冰箱的单价是多少？"),
        ("家具销售", "哪个产品利润最高？"),
        ("家具销售", "2023年的总销量是多少？"),
        ("分店預算（萬元）", "去年的預算合計是多少？"),
        ("Clinic visits", "How many vaccinations did Dr Becker do?"),
        ("Clinic visits", "What was the most expensive check-up and when?"),
        ("Bikes", "How many gloves did we sell in May?"),
        ("Bikes", "Which city sold the most bikes?"),
        ("시간표", "미술 수업은 몇 개예요?"),
        ("借閱紀錄", "南區分館借出幾本小說?"),
        ("Clinic visits", "average fee of new patients at North"),
        ("시간표", "2반 온라인 영어 수업시간 합계는?"),
        ("仓库", "东仓的红色工具一共有多少库存?"),
        ("Choir", "How many baritones are there?"),
        ("仓库", "南仓的锤子有多少?"),
    ],
)
def test_what_a_table_does_not_say_is_never_certain(title: str, question: str) -> None:
    found = read(question, title)
    assert found is None or not found[1]


@pytest.mark.parametrize("question", ["Which gadget has the highest price?", "Which gadget is the most expensive?"])
def test_a_noun_that_the_table_does_not_use_may_name_its_rows(question):
    assert read(question, "Robot sales") == ("max", False, [("Welder", 1050.0)])


def test_the_table_is_the_one_whose_words_are_asked() -> None:
    tables = [make_table(title) for title in ("Robot sales", "Staff", "家具销售")]
    for question, title in (("Who has the lowest salary?", "Staff"), ("Which robot sold most?", "Robot sales")):
        query = write_query(question, tables)
        assert query is not None
        assert query.table.title == title


def test_two_tables_that_fit_equally_are_no_answer() -> None:
    assert write_query("Which robot sold most?", [make_table("Robot sales"), make_table("Robot sales")]) is None


def test_a_table_that_calls_its_rows_by_another_name_may_be_meant() -> None:
    waste = Passage(1, "s1", "쓰레기", "", "품목 | 가격\n소파 | 12000\n책상 | 5000\n침대 | 9000", "")
    goods = Passage(2, "s2", "단가표", "", "품명 | 단가\n볼펜 | 700\n계산기 | 18500\n공책 | 1200", "")
    for question in ("제일 비싼 품목이 뭐야?", "품목이 모두 몇 개야?"):
        alone = write_query(question, find_tables([waste]))
        assert alone is not None
        assert alone.is_certain
        beside = write_query(question, find_tables([waste, goods]))
        assert beside is not None
        assert not beside.is_certain


SEGMENTS = """3.1 Branches

January–June 2024
In millions of CHF | Sales (a) | Profit | of which closing costs
Branch North | 120 | 27 | -8
Branch South | 90 | 11 | -2
Mail order | 31 | 6 | -1
Unallocated items (b) | 0 | -9 | 0
Total | 241 | 35 | -11
January–June 2023
In millions of CHF | Sales (a) | Profit | of which closing costs
Branch North | 110 | 21 | -3
Branch South | 95 | 14 | -4
Mail order | 35 | 5 | -2
Unallocated items (b) | — | -8 | 0
Total | 240 | 32 | -9

(a) Without sales between branches.
(b) Mainly the head office."""
PRODUCTS = """3.2 Products

January–June 2024
In millions of CHF | Sales | Profit
Rope | 140 | 30
Sails | 101 | 14
Unallocated items (a) | 0 | -9
Total | 241 | 35
January–June 2023
In millions of CHF | Sales | Profit
Rope | 141 | 29
Sails | 99 | 11
Unallocated items (a) | — | -8
Total | 240 | 32

(a) Mainly the head office."""


def read_half_years(question: str) -> list[tuple[bool, list[tuple[object, ...]]]]:
    tables = find_tables([*sheet(SEGMENTS, "Branches 30 06 2024"), *sheet(PRODUCTS, "Products 30 06 2024")])
    queries = write_queries(question, tables)
    return [(one.is_certain, list(run_query(one.sql, tables, Cancellation()).rows)) for one in queries]


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("Compare the sales of Mail order in 2023 and 2024.", [(-4, -400 / 35, 35, 31)]),
        ("How much did sales of Rope change from 2023 to 2024?", [(-1, -100 / 141, 141, 140)]),
        ("Which branch had the highest sales in 2024?", [("Branch North", 120)]),
        ("Which product category had the lowest sales in 2024?", [("Sails", 101)]),
        ("What is the sum of sales of Branch North and Mail order in 2024?", [(151,)]),
        ("What is the average profit of the branches in 2023?", [(17.5,)]),
        ("What was the total profit of Rope and Sails in the first half of 2024?", [(44,)]),
        ("Compare the sales and the profit of Mail order in 2023 and 2024.", [("Mail order", 31, 6, 35, 5)]),
        ("What was the profit of Branch South in H1 2023?", [("Branch South", 14)]),
    ],
)
def test_tables_of_two_half_years_are_computed_with(question: str, rows: list[tuple[object, ...]]) -> None:
    (found,) = read_half_years(question)
    assert found[0]
    assert [tuple(pytest.approx(cell) if isinstance(cell, float) else cell for cell in row) for row in found[1]] == rows


def test_tables_with_the_same_result_answer_together() -> None:
    assert read_half_years("What were the total sales in 2023?") == [(True, [(240,)])] * 2


@pytest.mark.parametrize(
    "question",
    [
        "Compare the sales of Mail order in 2022 and 2024.",
        "What is the sum of sales of Branch North and Mail order in the full year 2024?",
        "What were the annual sales of Mail order in 2024?",
        "What were the sales of Mail order in June 2024?",
        "What were the sales of Mail order in the second half of 2024?",
        "What were the total sales of Mail order?",
        "Which branch had the highest closing costs in 2024?",  # written as negative figures
        "What is the average profit of the product categories in 2024?",  # with or without what is not allocated?
        "What is the total over the whole year?",
    ],
)
def test_what_half_years_do_not_say_is_never_certain(question: str) -> None:
    assert not any(is_certain for is_certain, _ in read_half_years(question))


def test_a_name_that_two_columns_share_is_never_certain() -> None:
    text = "Area | Trading profit | Underlying trading profit\nEast | 4 | 5\nWest | 6 | 7"
    (table,) = find_tables([Passage(1, "s", "Areas", "", text, "")])
    for question, is_certain in (("What is the profit of East?", False), ("What is the trading profit of East?", True)):
        query = write_query(question, [table])
        assert query is not None
        assert query.is_certain is is_certain


@pytest.mark.parametrize("question", ["How did the cost of Rope change in 2024?", "What was the total cost in 2024?"])
def test_two_figures_of_one_period_are_no_change_and_no_sum(question: str) -> None:
    rows = "In CHF | Cost | Profit\nRope | 4 | 2\nOil | 3 | 1"
    (table,) = find_tables(sheet(f"Budget 2024\n{rows}\nActual 2024\n{rows}"))
    query = write_query(question, [table])
    assert query is None or not query.is_certain


def test_a_word_before_a_noun_does_not_choose_rows() -> None:
    text = "Town | Visits\nNew Odby | 4\nNew Varn | 5\nSalt | 6"
    (table,) = find_tables([Passage(1, "s", "Towns", "", text, "")])
    query = write_query("How many new visits are there in total?", [table])
    assert query is None or not query.is_certain


def test_names_and_values_cannot_break_out_of_the_statement() -> None:
    text = "Item'); DROP TABLE x; -- | Cost\" OR 1=1\nA' OR '1'='1 | 4\nB | 5"
    (table,) = find_tables([Passage(1, "s", "T", "", text, "")])
    query = write_query("What is the cost of A' OR '1'='1?", [table])
    assert query is None or run_query(query.sql, [table], Cancellation()).total_rows == 1


@pytest.mark.parametrize(
    "question",
    [
        "How much more does Rope\" UNION SELECT 1 -- cost than O'Neil; x?",
        'What is the total cost except Rope" UNION SELECT 1 --?',
        "What is the cost of Rope\" UNION SELECT 1 -- or O'Neil; x?",
        "share of the cost of O'Neil; x",
    ],
)
def test_hostile_cells_stay_values(question: str) -> None:
    text = "Item | Cost\nRope\" UNION SELECT 1 -- | 4\nO'Neil; x | 5\nSail | 6"
    (table,) = find_tables([Passage(1, "s", "T", "", text, "")])
    query = write_query(question, [table])
    assert query is not None
    assert all(isinstance(cell, float) for cell in run_query(query.sql, [table], Cancellation()).rows[0][-1:])


@pytest.mark.parametrize(
    ("question", "is_one"),
    [
        ("How many boats are there?", True),
        ("total sales", True),
        ("What is the average price?", True),
        ("Which boat is the cheapest?", True),
        ("Top 5 towns by visits", True),
        ("What share of sales came from Gull?", True),
        ("How much did revenue change from 2023 to 2024?", True),
        ("Which boats cost more than 500?", True),
        ("매출 합계는?", True),
        ("가장 비싼 호실은?", True),
        ("지역별 매출", True),
        ("How much did we spend on travel per department?", True),
        ("Add up the hours in the timesheet.", True),
        ("状态为逾期的有多少行?", True),
        ("一共多少钱？", True),
        ("哪个产品销量最高？", True),
        ("Who sold more, Ines or Ravi?", True),
        ("서울과 부산 중 어디가 더 많나요?", True),
        ("张伟和李娜谁的月薪高？", True),
        ("sales per quarter", True),
        ("Rank the products by margin.", True),
        ("每個員工的病假天數", True),
        ("按利润率给产品排序", True),
        ("Who wrote the report?", False),
        ("Is the whole building covered?", False),
        ("What is the most important reason for the delay?", False),
        ("건물 전체가 보장 대상인가요", False),
        ("총회는 어디서 열리나요?", False),
        ("总部在哪个城市", False),
        ("How was the total score computed?", False),
        ("What is the phone number of the landlord?", False),
        ("What is the sum insured?", False),
        ("수습 기간은 몇 개월인가요?", False),
        ("What is the notice period?", False),
        ("담당자는 누구인가요?", False),
        ("合同什么时候到期？", False),
    ],
)
def test_the_wording_says_whether_rows_are_computed_with(question: str, is_one: bool) -> None:
    assert is_table_question(question) is is_one


@pytest.mark.parametrize(
    ("question", "is_one"),
    [
        ("What were the sales of the depot in 2023?", True),
        ("depot sales 2023", True),
        ("2023년 강남점 매출은?", True),
        ("2023年的销售额是多少", True),
        ("What were the sales of the depot?", False),
        ("Who ran the depot in 2023?", False),
    ],
)
def test_the_wording_says_whether_a_figure_of_a_period_is_sought(question: str, is_one: bool) -> None:
    assert is_lookup_question(question) is is_one


@pytest.mark.parametrize("figures", ["1" * 900, "1," * 450, "1 " * 450, "1.1" * 300])
def test_a_question_of_many_figures_is_read_at_once(figures):
    """Matching keeps the interpreter to itself: all other users wait."""
    began = time.thread_time()
    is_table_question(f"Which are between {figures}")
    assert time.thread_time() - began < 1
