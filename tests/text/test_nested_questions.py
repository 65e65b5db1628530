"""Questions about something that they describe, and the two steps that answer them."""

import pytest

from crag.text.nested_questions import depends_on, name_answer, split_description


@pytest.mark.parametrize(
    ("question", "steps"),
    [
        (
            "When does the pool opened by Mayor Hall close on Sundays?",
            ("Which pool was opened by Mayor Hall?", "When does [1] close on Sundays?"),
        ),
        (
            "What is the phone number of the person who runs the pottery course?",
            ("Who runs the pottery course?", "What is the phone number of [1]?"),
        ),
        (
            "Who supplies the part that failed in the March incident?",
            ("Which part failed in the March incident?", "Who supplies [1]?"),
        ),
        ("Where was the founder of the choir born?", ("Who was the founder of the choir?", "Where was [1] born?")),
        (
            "When was the hall where the choir meets built?",
            ("What is the hall where the choir meets?", "When was [1] built?"),
        ),
        (
            "What is the address of the club's treasurer?",
            ("Who is the club's treasurer?", "What is the address of [1]?"),
        ),
        (
            "도예 강좌를 운영하는 사람의 전화번호는 무엇인가요?",
            ("도예 강좌를 운영하는 사람은 누구인가요?", "[1]의 전화번호는 무엇인가요?"),
        ),
        (
            "3월 사고에서 고장 난 부품은 누가 공급하나요?",
            ("3월 사고에서 고장 난 부품은 무엇인가요?", "[1]은 누가 공급하나요?"),
        ),
        ("야간 근무 책임자는 언제 입사했나요?", ("야간 근무 책임자는 누구인가요?", "[1]는 언제 입사했나요?")),
        ("负责陶艺课的人的电话号码是多少？", ("谁负责陶艺课？", "[1]的电话号码是多少？")),
        ("三月事故中发生故障的部件由谁供应？", ("三月事故中发生故障的部件是哪个？", "[1]由谁供应？")),
        ("負責陶藝課的人的電話號碼是多少？", ("誰負責陶藝課？", "[1]的電話號碼是多少？")),
        ("夜班组长是哪一年入职的？", ("夜班组长是谁？", "[1]是哪一年入职的？")),
    ],
)
def test_a_question_about_something_described_has_two_steps(question, steps):
    assert split_description(question) == steps


@pytest.mark.parametrize(
    "question",
    [
        "Who is the person who runs the pottery course?",
        "What is the name of the painting that hangs above the stairs?",
        "When did Mayor Hall open the Riverside Pool?",
        "How much is the annual fee?",
        "What is the name of the director of the museum?",
        "도예 강좌를 운영하는 사람은 누구인가요?",
        "윤서진의 전화번호는 무엇인가요?",
        "시민 수영장은 언제 문을 닫나요?",
        "陶艺课的学费是多少？",
        "林晓梅的电话号码是多少？",
        "霍市长启用的游泳池是哪个？",
        "首次收復失地的中國軍隊是哪一個軍隊？",
    ],
)
def test_a_question_that_asks_only_for_what_it_describes_has_one(question):
    assert split_description(question) == ()


@pytest.mark.parametrize(
    ("part", "answer", "asked"),
    [
        ("When does [1] close?", "the Riverside Pool", "When does the Riverside Pool close?"),
        ("[1]은 언제 입사했나요?", "최민호", "최민호는 언제 입사했나요?"),
        ("[1]는 언제 입사했나요?", "박도윤", "박도윤은 언제 입사했나요?"),
        ("[1]由谁供应？", "冷却泵", "冷却泵由谁供应？"),
    ],
)
def test_the_second_step_names_the_answer_to_the_first(part, answer, asked):
    assert depends_on(part) == 1
    assert name_answer(part, answer) == asked
    assert not depends_on(asked)
