"""Answers of the built-in engine at default settings, from three articles on neighbouring subjects.

The articles have the shape of the three posts that published CRAG systems index: long, on related subjects, with
lists, tables and repeated words in all of them. Two of the five questions are about something else.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from openpyxl import Workbook

from crag.app.application import Application
from crag.app.reports import answer_json, sources_text
from crag.inspection.run_labels import answer_facts
from crag.inspection.steps import describe_assessment
from crag.options import RunOptions
from crag.runs.revisions import Revision
from crag.text.citation_marks import strip_bold
from tests.app.library_articles import ARTICLES
from tests.applications import ask, opened_with, wait


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    with opened_with(tmp_path_factory.mktemp("articles"), ARTICLES) as opened:
        yield opened


HANDBOOK = """# Members' handbook of the Ellerby Rowing Club

## Membership
The annual fee is 140 pounds for adults and 65 pounds for members under 18. Fees are due on 1 March. New members serve
a trial period of three months. The boat captain is Morag Tennant.

## The boathouse
The boathouse is open from 6:30 to 21:00 every day except Monday. Boats must be booked at least two days in advance.
The rope clamps are the work of Robert Smyth, who also repaired the jetty in 1998 after the flood.

To report an accident:
1. Bring everyone ashore.
2. Call the harbour office.
3. Fill in the red form in the hall.

## Builders
The company that built the jetty was founded in 1987 by two brothers from the village. Its main competitor is Dunmore
Brothers. It employs 640 people, builds bridges and piers in five counties, and has never missed a date that it gave.
"""


@pytest.fixture(scope="module")
def club(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    with opened_with(tmp_path_factory.mktemp("club"), {"handbook.md": HANDBOOK}) as opened:
        yield opened


@pytest.mark.parametrize(
    ("question", "article", "said"),
    [
        (
            "How does the Tandem harvester use self-inspection?",
            "Harvesters that Work Alone",
            ("Tandem", "joins cutting and sensing"),
        ),
        (
            "What are the types of errors that can arise with short-sample weighing?",
            "Weighing by Example",
            ("Majority error", "Last-bag error", "Round-number error"),
        ),
        (
            "What are five types of seed sabotage?",
            "Sabotage of Seed Sorters",
            ("Seed swapping", "Slope following", "Chute tricks", "Human probing", "Machine probing"),
        ),
    ],
)
def test_a_question_about_an_article_is_answered_from_it(
    application: Application, question: str, article: str, said: tuple[str, ...]
) -> None:
    trace = ask(application, question)
    assert {cited.title for cited in trace.citations} == {article}
    assert trace.outcome == "quoted"
    assert [part for part in said if part not in trace.text] == []


@pytest.mark.parametrize(
    "question", ["Who did the Norwick Rovers sign first in the 2031 winter draft?", "Who won the 2031 Harbour Cup?"]
)
def test_a_question_about_something_else_is_declined(application: Application, question: str) -> None:
    trace = ask(application, question)
    assert (trace.action, trace.outcome, trace.wants_web) == ("incorrect", "not_answered", True)


def test_a_declined_question_is_told_the_nearest_place_and_what_to_do(club: Application) -> None:
    trace = ask(club, "At what hour does the clubhouse shut?")
    assert trace.outcome == "not_answered"
    nearest = trace.nearest_passages[0]
    assert f"in “{nearest.title} · " in trace.text
    assert trace.text.endswith("If it does not help, ask in other words or add a document.")
    assert "answers this" not in " ".join([trace.action_reason, *answer_facts(trace)])


@pytest.mark.parametrize(
    "question",
    [
        "When did Okafor found a harvester company?",
        "What does a Tandem harvester cost?",
        "What errors did Ueda find in long-sample weighing of cattle in 2019?",
        "Who invented the Row tree?",
        "How many people were hurt by seed sabotage?",
    ],
)
def test_no_nearby_sentence_is_given_out_as_the_answer(application: Application, question: str) -> None:
    trace = ask(application, question)
    assert trace.action != "correct"
    assert trace.outcome in ("possible", "not_answered")


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("How much is the annual fee for adults?", "140 pounds"),
        ("How long is the trial period?", "three months"),
        ("When was the company founded?", "1987"),
        ("Who is the main competitor?", "Dunmore"),
        ("How far in advance must boats be booked?", "two days"),
        ("How do I report an accident?", "red form"),
    ],
)
def test_a_sentence_that_states_everything_is_quoted_as_a_whole(club: Application, question: str, said: str) -> None:
    trace = ask(club, question)
    assert (trace.outcome, said in trace.text) == ("quoted", True)


def test_a_misspelled_question_is_answered_and_the_trace_says_how_it_was_read(club: Application) -> None:
    trace = ask(club, "How mcuh is the anual fee?")
    assert (trace.outcome, "140 pounds" in trace.text) == ("quoted", True)
    assert trace.condensed == "How much is the annual fee?"
    assert trace.condensed_reason == "Read “mcuh” as “much”. Read “anual” as “annual”."


def test_a_correction_that_may_be_another_word_earns_no_green_badge(club: Application) -> None:
    trace = ask(club, "How much is the annual fees for aduits?")
    assert (trace.outcome, "140 pounds" in trace.text) == ("possible", True)


@pytest.mark.parametrize("question", ["What did Smith repair?", "Who is Morag Tennent?", "What did smith repair?"])
def test_a_name_that_the_documents_do_not_contain_is_not_read_as_another(club: Application, question: str) -> None:
    trace = ask(club, question)
    assert trace.condensed == ""
    assert trace.outcome != "quoted"


def test_an_answer_to_half_of_a_question_says_what_it_leaves_open(club: Application) -> None:
    trace = ask(club, "How much is the annual fee for adults and who collects it?")
    assert trace.outcome == "documents_partly"
    assert "140 pounds" in trace.text
    assert trace.text.endswith("\n\nI found no answer to “Who collects it?” in the passages.")
    assert [said for said in trace.sentences if "do not answer" in said.sentence] == []


def test_two_questions_in_one_are_both_answered(club: Application) -> None:
    trace = ask(club, "How much is the annual fee for adults and who is the boat captain?")
    assert trace.outcome == "quoted"
    assert "140 pounds" in trace.text
    assert "Morag Tennant" in trace.text


def test_a_row_of_a_long_table_is_quoted_with_its_columns(tmp_path: Path) -> None:
    rows = [f"{12500 + number},{number}.5,roll,Dunmore" for number in range(60)]
    with opened_with(tmp_path, {"prices.csv": "\n".join(["Item,Price,Unit,Supplier", *rows])}) as opened:
        trace = ask(opened, "What is the price of item 12550?")
    assert strip_bold(trace.text) == "Item: 12550 — Price: 50.5 — Unit: roll — Supplier: Dunmore [1]"
    assert [one.strength for one in trace.sentences] == ["supported"]


def test_a_row_below_an_empty_corner_is_quoted_with_its_columns(tmp_path: Path) -> None:
    text = """# Dustral manual

| | V40 | V60 |
|---|---|---|
| Weight | 2.4 kg | 2.9 kg |
| Noise | 72 dB | 69 dB |
| Charging time | 3.5 hours | 5 hours |
"""
    with opened_with(tmp_path, {"manual.md": text}) as application:
        trace = ask(application, "How heavy is the V60?")
        assert strip_bold(trace.text) == "Weight — V40: 2.4 kg — V60: 2.9 kg [1]"
        verdicts = ask(application, "Can the V60 be repaired?").verdicts.values()
        assert [verdict.reason for verdict in verdicts] == ["Mentions “V60”, but not “repaired”."]


def write_sheet(title: str, rows: list[list[object]]) -> bytes:
    workbook = Workbook()
    workbook.active.title = title
    for row in rows:
        workbook.active.append(row)
    out = io.BytesIO()
    workbook.save(out)
    return out.getvalue()


@pytest.fixture(scope="module")
def sheets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    towns, goods = ("Odby", "Moor", "Varn"), ("ropes", "clamps", "sails", "oars")
    orders = [[f"B-{1000 + n}", towns[n % 3], goods[n % 4], n % 40, 10 + n] for n in range(300)]
    budget = [["Stage", 12000, 13500, 1500], ["Kitchen", 8200, 7900, -300], ["Print", 950]]
    files = {
        "orders.xlsx": write_sheet(
            "Orders", [["Order", "Town", "Goods", "Pieces", "Value (EUR)"], *orders, ["Total", "", "", 5730, 47850]]
        ),
        "budget.xlsx": write_sheet(
            "Fair budget",
            [["Fair budget, second draft"], [], ["Area", "2024", "2025", "Change"], *budget, ["Total", 21150, 22350]],
        ),
        "results.xlsx": write_sheet(
            "Results",
            [
                ["Corvin plc"],
                [],
                ["Year ended June 30, 2023"],
                ["Segment", "Revenue", "Income"],
                ["Asia", 30, -3],
                ["Europe", 60, -6],
                ["Year ended June 30, 2022"],
                ["Segment", "Revenue", "Income"],
                ["Asia", 20, -2],
                ["Europe", 40, -4],
            ],
        ),
        "fleet.xlsx": write_sheet(
            "Fleet",
            [
                ["Fleet 2020"],
                ["Kind", "Costs", "Number"],
                ["boats", 4100, 12],
                ["oars", 230, 50],
                [],
                ["Fleet 2021"],
                ["Kind", "Costs", "Number"],
                ["boats", 3900, 11],
                ["oars", 250, 51],
                ["sails", 90, 8],
            ],
        ),
        "보고.xlsx": write_sheet(
            "보고",
            [["", "2023년", "", "2022년"], ["지점", "매출", "지출", "매출", "지출"], ["남관", 810, 520, 770, 505]],
        ),
        "손님.xlsx": write_sheet(
            "손님", [["구역", "1월", "2월"], ["동관", 310, 280], ["서관", 150, 170], ["합계", 460, 450]]
        ),
        "销售.xlsx": write_sheet(
            "销售", [["门店", "一季度", "全年合计"], ["城北店", 310, 590], ["城南店", 150, 320], ["总计", 460, 910]]
        ),
    }
    with opened_with(tmp_path_factory.mktemp("sheets"), files) as opened:
        yield opened


@pytest.mark.parametrize(
    ("question", "row"),
    [
        (
            "What was the value of order B-1254?",
            "Order: B-1254 — Value (EUR): 264 [1]",
        ),
        (
            "What was the revenue of Europe in 2022?",
            "Year ended June 30, 2022 · Segment: Europe — Revenue: 40 — Income: -4 [1]",
        ),
        (
            "What was the revenue of Europe in 2023?",
            "Year ended June 30, 2023 · Segment: Europe — Revenue: 60 — Income: -6 [1]",
        ),
    ],
)
def test_a_question_about_a_sheet_is_answered_by_the_row_that_holds_it(
    sheets: Application, question: str, row: str
) -> None:
    trace = ask(sheets, question)
    assert (strip_bold(trace.text), trace.outcome) == (row, "quoted")


@pytest.mark.parametrize(
    ("question", "figure"),
    [
        ("2022년 남관 매출은 얼마인가요?", "남관 — 2022년 · 매출: 770. [1]"),
        ("How much is the budget of the kitchen in 2024?", "Kitchen — 2024: 8,200. [1]"),
    ],
)
def test_a_figure_under_a_period_is_read_from_its_column(sheets: Application, question: str, figure: str) -> None:
    trace = ask(sheets, question)
    assert (trace.text, trace.outcome) == (figure, "calculated")


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What is the total value of all orders?", "47,850"),
        ("1월 손님 합계는 얼마인가요?", "460"),
        ("一季度总计是多少？", "460"),
        ("城北店全年合计是多少？", "590"),
    ],
)
def test_a_total_is_calculated_and_agrees_with_the_one_stated(sheets: Application, question: str, text: str) -> None:
    trace = ask(sheets, question)
    assert text in trace.text
    assert (trace.route, trace.outcome) == ("table", "calculated")


def test_a_stated_total_that_differs_from_the_rows_is_said(sheets: Application) -> None:
    trace = ask(sheets, "How many pieces were ordered in total?")
    assert trace.text.startswith("The total of Pieces is 5,650 (300 rows). The table itself states 5,730 as the total.")
    assert trace.outcome == "possible"


def test_one_row_is_no_total(sheets: Application) -> None:
    assert ask(sheets, "What is the total value of the orders from Odby?").outcome != "quoted"


def test_a_figure_of_several_years_is_shown_with_each_of_them(sheets: Application) -> None:
    trace = ask(sheets, "What was the revenue of Europe?")
    assert trace.outcome == "possible"
    assert "2022 · Segment: Europe — Revenue: 40" in trace.text
    assert "2023 · Segment: Europe — Revenue: 60" in trace.text
    assert [one.strength for one in trace.sentences] == ["supported", "supported"]
    assert ask(sheets, "What was the revenue of Europe in 2021?").outcome != "quoted"


def test_what_is_only_possible_is_not_called_enough(sheets: Application) -> None:
    assert describe_assessment(ask(sheets, "What was the revenue of Europe?")).startswith("Perhaps enough to answer: ")
    assert describe_assessment(ask(sheets, "What was the revenue of Europe in 2022?")).startswith("Enough to answer: ")


def test_the_row_is_quoted_and_supports_the_answer_with_its_caption(sheets: Application) -> None:
    trace = ask(sheets, "What was the revenue of Europe in 2022?")
    assert [one.quote for one in trace.citations] == ["Europe | 40 | -4"]
    assert [(one.strength, one.quote) for one in trace.sentences] == [("supported", "Europe | 40 | -4")]


def test_a_citation_of_a_workbook_names_the_sheet(sheets: Application) -> None:
    conversation = sheets.conversations.create({})
    run = sheets.runs.start(conversation.id, "How much is the budget of the kitchen in 2024?", RunOptions())
    trace = wait(run)
    assert sources_text(trace).startswith("[1] budget.xlsx · sheet Fair budget")
    assert [one["sheet"] for one in answer_json(run.id, trace)["sources"]] == ["Fair budget"]
    assert "sheet Fair budget" in sheets.sharing.markdown(conversation.id)
    assert "budget.xlsx · sheet Fair budget" in sheets.sharing.html(conversation.id)


def test_a_weaker_passage_on_another_year_is_not_left_out(sheets: Application) -> None:
    trace = ask(sheets, "What were the costs of boats?")
    assert trace.outcome == "possible"
    assert {year for year in ("2020", "2021") if f"Fleet {year} · Kind: boats" in trace.text} == {"2020", "2021"}
    said = ask(sheets, "What were the costs of boats in 2020?")
    assert (said.outcome, "2021" in said.text) == ("quoted", False)


def test_every_passage_of_a_sheet_carries_the_names_of_its_columns(sheets: Application) -> None:
    passages = [one for one in sheets.library.search("orders town goods", 50) if one.title == "orders.xlsx"]
    assert len(passages) > 5
    assert {one.heading for one in passages} == {"Orders › Order | Town | Goods | Pieces | Value (EUR)"}


OFFICE = {
    "등대서점.md": """# 등대서점 근무 안내

## 쉬는 날
돌봄휴가 12일
병가 45일
배우자 출산휴가 9일

## 가구 값
| 품목 | 가격 |
|---|---|
| 책장 | 230,000원 |
| 안락의자 | 74,000원 |

## 그 밖에
총무팀 내선 417
열람실 수: 6개
주차 대수: 21대
창고 면적 380㎡
""",
    "石桥书局.md": """# 石桥书局员工须知

## 假期
病假 45天
产假：130天
陪产假 9天

## 家具价格
| 物品 | 价格 |
|---|---|
| 书柜 | 2300元 |
| 躺椅 | 740元 |

## 其他
阅览室数量：6间
行政部 分机 417
仓库面积 380平方米
""",
}


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    with opened_with(tmp_path_factory.mktemp("office"), OFFICE) as opened:
        yield opened


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("병가는 며칠까지 쓸 수 있나요?", "병가 45일"),
        ("돌봄휴가는 며칠이에요?", "돌봄휴가 12일"),
        ("열람실은 몇 개인가요?", "열람실 수: 6개"),
        ("주차는 몇 대까지 가능한가요?", "주차 대수: 21대"),
        ("창고 면적은 얼마나 되나요?", "창고 면적 380㎡"),
        ("病假有几天？", "病假 45天"),
        ("陪产假能休几天？", "陪产假 9天"),
        ("躺椅要多少钱？", "物品: 躺椅 — 价格: 740元"),
        ("行政部的分机号是多少？", "行政部 分机 417"),
        ("仓库面积是多少？", "仓库面积 380平方米"),
    ],
)
def test_a_labelled_value_and_a_row_answer_a_question_in_korean_and_chinese(
    office: Application, question: str, said: str
) -> None:
    trace = ask(office, question)
    assert (strip_bold(trace.text), trace.outcome) == (f"{said} [1]", "quoted")


@pytest.mark.parametrize(
    ("question", "price"),
    [
        ("책장 가격이 얼마인가요?", "책장: 230,000원."),
        ("안락의자 값은 얼마죠?", "안락의자: 74,000원."),
        ("书柜的价格是多少？", "书柜：2,300元。"),
    ],
)
def test_a_price_is_read_from_its_row_in_korean_and_chinese(office: Application, question: str, price: str) -> None:
    trace = ask(office, question)
    assert (trace.text, trace.outcome) == (f"{price} [1]", "calculated")


def test_another_kind_of_leave_is_no_answer(office: Application) -> None:
    assert ask(office, "연차는 며칠인가요?").outcome != "quoted"
    assert ask(office, "丧假有几天？").outcome != "quoted"


HISTORY = """# 등대서점 연혁

등대서점은 2009년 부산 영도에서 문을 열었다.
2012년에 두 번째 지점을 남포동에 냈다.
2015년에는 화재로 본점 2층이 불에 타 석 달 동안 휴업했다.

## 직원과 행사
대표는 김민수이다. 직원은 모두 14명이다. 여름 축제는 7월 12일에 열린다. 참가비는 1만 원이다.
"""


def test_a_year_that_was_not_asked_for_before_is_no_repetition(tmp_path: Path) -> None:
    with opened_with(tmp_path, {"연혁.md": HISTORY}) as opened:
        conversation = opened.conversations.create({})
        questions = (
            "대표는 누구인가요?", "직원은 몇 명인가요?", "여름 축제는 언제 열리나요?", "참가비는 얼마인가요?",
            "2015년에 무슨 일이 있었나요?", "2016년에 무슨 일이 있었나요?",
        )  # fmt: skip
        texts = [ask(opened, question, conversation.id).text for question in questions]
    assert texts[-2] == "2015년에는 화재로 본점 2층이 불에 타 석 달 동안 휴업했다. [1]"
    assert texts[-1].startswith("**문서에서 답을 찾지 못했습니다.**")


HOURS = {
    "museum.md": """# Moor Museum

| Day | Opens | Closes |
|---|---|---|
| Tuesday to Friday | 10:00 | 17:00 |
| Saturday | 11:00 | 18:00 |
| Sunday | 11:00 | 16:00 |

The café is open at weekends from 11:00 to 15:00. The café is closed on weekdays.
""",
    "library.md": """# Odby Library

The library is open from 9:00 to 19:00 on Monday to Friday.
On Saturdays and Sundays it is open from 10:00 to 16:00.
The reading room closes at 18:00 on weekdays and at 15:00 at weekends. The library opened in 1974.
""",
    "도서관.md": """# 동산 도서관

평일은 오전 9시부터 오후 8시까지 운영합니다.
주말은 오전 10시부터 오후 5시까지 운영합니다.
""",
    "图书馆.md": """# 石桥图书馆须知

周一至周五的开放时间是上午9点到晚上8点。
周六和周日的开放时间是上午10点到下午5点。
""",
}


@pytest.fixture(scope="module")
def houses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    with opened_with(tmp_path_factory.mktemp("houses"), HOURS) as opened:
        yield opened


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Is the Odby Library open on Tuesday?", "on Monday to Friday"),
        ("What time does the Odby Library close on weekdays?", "on Monday to Friday"),
        ("Is the Odby Library open at weekends?", "On Saturdays and Sundays"),
        ("When does the reading room close on Wednesday?", "18:00 on weekdays"),
        ("When does the Moor Museum close on Thursday?", "Day: Tuesday to Friday — Opens: 10:00 — Closes: 17:00"),
        ("도서관은 화요일에 여나요?", "평일은 오전 9시"),
        ("수요일에 몇 시까지 운영하나요?", "평일은 오전 9시"),
        ("토요일 운영 시간은 언제인가요?", "주말은 오전 10시"),
        ("周三几点关门？", "周一至周五的开放时间"),
        ("周末几点开门？", "周六和周日的开放时间"),
    ],
)
def test_hours_are_those_of_the_day_asked_for(houses: Application, question: str, said: str) -> None:
    text = ask(houses, question).text
    lines = [line for name in HOURS for line in HOURS[name].splitlines() if line and line in text]
    assert said in text
    assert len(lines) <= 1


def test_this_handbook_is_the_document_of_the_answer_before(application: Application) -> None:
    conversation = application.conversations.create()
    asked = ask(application, "How does the Tandem harvester use self-inspection?", conversation.id)
    (title,) = {cited.title for cited in asked.citations}
    for question in ("Summarize this handbook", "Shorter", "이 문서를 요약해 줘"):
        summary = ask(application, question, conversation.id)
        assert (summary.route, {cited.title for cited in summary.citations}) == ("document", {title}), question
    found = ask(application, "What does this handbook say about weighing?", conversation.id).passages.values()
    again = application.runs.revise(application.runs.recent(1)[0], "retrieve", Revision())
    found = [*found, *wait(again).passages.values()]
    assert {passage.title for passage in found} == {title}
