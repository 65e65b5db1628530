"""Questions in several steps at default settings: what is described is found first, and values are put together."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from crag.app.application import Application
from crag.app.reports import answer_json
from crag.inspection.steps import describe_steps
from crag.text.citation_marks import strip_bold
from tests.applications import ask, opened_with

DOCUMENTS = {
    "leisure.md": """# Leisure in Brackley

Mayor Hall opened the Riverside Pool in 1998. The Riverside Pool closes at 17:00 on Sundays. The Canal Street Baths
close at 15:00 on Sundays. A swim at the Riverside Pool costs £6.50. Jana Weiss runs the pottery course. The drawing
course is taught by Piet Okkerse. The pottery course costs £120. The drawing course costs £95. The chess course is run
by Una Pole and Vic Reed. Mayor Finch, who opened the Canal Street Baths, swims at the Harbour Pool every morning. The
Harbour Pool closes at 18:00 on Sundays. The sailing course is run by the nephew of Walt Dunn.
""",
    "contacts.md": """# Contacts

The phone number of Jana Weiss is 01632 960114. The phone number of Piet Okkerse is 01632 960188. Una Pole can be
reached on 01632 960122. Walt Dunn can be reached on 01632 960133. Piet Okkerse also teaches Dutch.
""",
    "prices.md": """# Prices

The small hall costs £40 an hour. The large hall costs £300 a day.
""",
    "center.md": """# 한빛 문화센터

수영 강좌는 정하늘이 운영하고 요가 강좌는 문지수가 운영한다. 정하늘의 사무실은 101호이다. 문지수의 사무실은 102호이다.
도예 강좌의 수강료는 12만 원이다. 서예 강좌의 수강료는 9만 원이다.
""",
    "zh.md": """# 江湾文化中心

陶艺课由林晓梅负责，书法课由陈志远负责。林晓梅的电话号码是021-5550142。陈志远的电话号码是021-5550177。陶艺课的学费是1200元。书法课的学费是900元。
""",
}


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    with opened_with(tmp_path_factory.mktemp("steps"), DOCUMENTS) as opened:
        yield opened


@pytest.mark.parametrize(
    ("question", "second", "said"),
    [
        (
            "When does the pool opened by Mayor Hall close on Sundays?",
            "When does the Riverside Pool close on Sundays?",
            "17:00",
        ),
        (
            "What is the phone number of the person who runs the pottery course?",
            "What is the phone number of Jana Weiss?",
            "960114",
        ),
        ("요가 강좌를 운영하는 사람의 사무실은 어디인가요?", "문지수의 사무실은 어디인가요?", "102호"),
        ("负责书法课的人的电话号码是多少？", "陈志远的电话号码是多少？", "5550177"),
    ],
)
def test_the_answer_to_the_first_step_is_put_into_the_second(
    application: Application, question: str, second: str, said: str
) -> None:
    trace = ask(application, question)
    assert (trace.route, trace.outcome, trace.parts[1].question) == ("steps", "quoted", second)
    assert said in strip_bold(trace.text.rpartition(second)[2])


def test_each_step_is_shown_with_its_reason_and_passages(application: Application) -> None:
    trace = ask(application, "What is the phone number of the person who runs the pottery course?")
    first, second = answer_json("", trace)["sub_questions"]
    assert first["reason"] == ""
    assert second["reason"] == "“Jana Weiss” is the answer to “Who runs the pottery course?”."
    assert first["passages"]
    assert second["passages"]
    shown = [line for step in describe_steps(trace) for line in step.lines]
    assert "No passage answers the whole question, so it is answered in steps." in shown
    assert second["reason"] in shown


@pytest.mark.parametrize(
    ("question", "part"),
    [
        ("What is the phone number of the person who runs the sculpture course?", "Who runs the sculpture course?"),
        ("조각 강좌를 운영하는 사람의 사무실은 어디인가요?", "조각 강좌를 운영하는 사람은 누구인가요?"),
        ("负责雕塑课的人的电话号码是多少？", "谁负责雕塑课？"),
    ],
)
def test_an_answer_without_the_first_step_says_so(application: Application, question: str, part: str) -> None:
    trace = ask(application, question)
    assert trace.outcome in ("not_answered", "documents_partly")
    assert part in trace.text.splitlines()[-1]


@pytest.mark.parametrize(
    "question",
    [
        "What is the phone number of the person who runs the chess course?",
        "When does the pool opened by Mayor Finch close on Sundays?",
        "What is the phone number of the person who runs the sailing course?",
    ],
)
def test_a_step_with_several_possible_answers_earns_no_green_badge(application: Application, question: str) -> None:
    assert ask(application, question).outcome in ("possible", "documents_partly", "not_answered")


@pytest.mark.parametrize(
    "question",
    ["Who is the person who runs the pottery course?", "When did the mayor who opened the Riverside Pool open it?"],
)
def test_a_fact_that_one_sentence_states_is_not_divided(application: Application, question: str) -> None:
    trace = ask(application, question)
    assert (trace.route, trace.parts) == (None, [])


@pytest.mark.parametrize(
    ("question", "conclusion"),
    [
        (
            "Which is cheaper, the pottery course or the drawing course?",
            "The figure for the pottery course is £25 higher: £120 [1] against £95 [2].",
        ),
        (
            "도예 강좌와 서예 강좌 중 어느 것이 더 비싼가요?",
            "도예 강좌 쪽이 3만 원 더 큽니다: 12만 원 [1], 9만 원 [2].",
        ),
        ("陶艺课和书法课哪个更贵？", "陶艺课的数值高出 300元：1200元 [1]，900元 [2]。"),
    ],
)
def test_two_values_in_one_unit_are_compared(application: Application, question: str, conclusion: str) -> None:
    trace = ask(application, question)
    assert (trace.route, trace.outcome) == ("steps", "quoted")
    assert strip_bold(trace.text).splitlines()[-1] == conclusion
    assert all(sentence.strength == "supported" for sentence in trace.sentences)


def test_values_of_different_periods_are_only_put_together(application: Application) -> None:
    trace = ask(application, "Which is cheaper, the small hall or the large hall?")
    assert "£40" in trace.text
    assert "£300" in trace.text
    assert (trace.outcome, "higher" in trace.text) == ("possible", False)


def test_a_comparison_says_which_value_is_missing(application: Application) -> None:
    trace = ask(application, "Which is cheaper, the pottery course or the weaving course?")
    assert trace.outcome == "documents_partly"
    assert [(part.question, part.answered) for part in trace.parts] == [
        ("How much does the pottery course cost?", True),
        ("How much does the weaving course cost?", False),
    ]


def test_the_second_half_of_a_question_is_about_the_name_in_the_first(application: Application) -> None:
    trace = ask(application, "What does a swim at the Riverside Pool cost and when does it close on Sundays?")
    assert "17:00" in trace.text
    assert "15:00" not in trace.text
