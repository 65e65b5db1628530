"""Comparisons of two things by one value."""

import pytest

from crag.text.comparisons import Difference, parse_comparison


@pytest.mark.parametrize(
    ("question", "questions"),
    [
        (
            "Which is cheaper, the pottery course or the drawing course?",
            ("How much does the pottery course cost?", "How much does the drawing course cost?"),
        ),
        (
            "How much more does the pottery course cost than the drawing course?",
            ("How much does the pottery course cost?", "How much does the drawing course cost?"),
        ),
        ("Is Odby higher than Moorby?", ("How tall is Odby?", "How tall is Moorby?")),
        (
            "Which has more rooms, the north wing or the stables?",
            ("How many rooms does the north wing have?", "How many rooms do the stables have?"),
        ),
        (
            "What is the price difference between the hall and the barn?",
            ("How much does the hall cost?", "How much does the barn cost?"),
        ),
        ("도예 강좌와 서예 강좌 중 어느 것이 더 비싼가요?", ("도예 강좌는 얼마인가요?", "서예 강좌는 얼마인가요?")),
        (
            "매 드릴은 학 드릴보다 얼마나 더 무거운가요?",
            ("매 드릴의 무게는 얼마인가요?", "학 드릴의 무게는 얼마인가요?"),
        ),
        ("陶艺课和书法课哪个更贵？", ("陶艺课多少钱？", "书法课多少钱？")),
        ("陶藝課和書法課哪個更貴？", ("陶藝課多少錢？", "書法課多少錢？")),
        ("鹰牌电钻比鹤牌电钻重多少？", ("鹰牌电钻有多重？", "鹤牌电钻有多重？")),
        ("陶艺课和书法课，哪个名额更多？", ("陶艺课有多少名额？", "书法课有多少名额？")),
    ],
)
def test_each_thing_is_asked_about_by_itself(question, questions):
    comparison = parse_comparison(question)
    assert comparison is not None
    assert comparison.questions == questions


@pytest.mark.parametrize(
    "question",
    [
        "What is the difference between a lock and a mutex?",
        "Which of them is cheaper, this or that?",
        "Which is nicer, the hall or the barn?",
        "How much does the hall cost?",
    ],
)
def test_other_questions_compare_no_values(question):
    assert parse_comparison(question) is None


@pytest.mark.parametrize(
    ("question", "answers", "difference"),
    [
        (
            "Which is cheaper, the hall or the barn?",
            ("The hall costs £120 and holds 80 people.", "The barn costs £95.50."),
            Difference(("£120", "£95.50"), 0, "£24.50"),
        ),
        (
            "Which is heavier, the Falcon or the Heron?",
            ("The Falcon weighs 9 kg.", "The Heron weighs 14 kg."),
            Difference(("9 kg", "14 kg"), 1, "5 kg"),
        ),
        (
            "Which is cheaper, the hall or the barn?",
            ("The hall costs £40 an hour.", "The barn costs £40 an hour."),
            Difference(("£40", "£40"), None, ""),
        ),
        (
            "Which is cheaper, the hall or the barn?",
            ("The hall costs £40 and the barn costs £50.",) * 2,
            Difference(("£40", "£50"), 1, "£10"),
        ),
        (
            "Which is cheaper, a day pass or an adult pass?",
            ("A day pass costs £14.", "An adult pass costs £8.50."),
            Difference(("£14", "£8.50"), 0, "£5.50"),
        ),
        (
            "성인 표와 어린이 표 중 어느 것이 더 싼가요?",
            ("성인 표는 1만 원이다.", "어린이 표는 4천 원이다."),
            Difference(("1만 원", "4천 원"), 0, "6천 원"),
        ),
        (
            "陶艺课和书法课哪个更贵？",
            ("陶艺课的学费是1200元。", "书法课的学费是900元。"),
            Difference(("1200元", "900元"), 0, "300元"),
        ),
    ],
)
def test_values_in_the_same_unit_are_compared(question, answers, difference):
    comparison = parse_comparison(question)
    assert comparison is not None
    assert comparison.find_difference(answers) == difference


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The hall costs £40 an hour.", "The barn costs £300 a day."),
        ("The hall costs £40.", "The barn costs €40."),
        ("The hall costs from £80.", "The barn costs £95."),
        ("The hall costs about £80.", "The barn costs £95."),
        ("The hall costs £12 for members and £20 for guests.", "The barn costs £15."),
        ("The hall costs £1.2 million.", "The barn costs £900."),
        ("The hall costs £12.", "The shed costs £15."),
        ("The hall and the barn cost £4 and £6.", "The hall and the barn cost £4 and £6."),
    ],
)
def test_values_that_may_not_be_comparable_are_not_compared(first, second):
    comparison = parse_comparison("Which is cheaper, the hall or the barn?")
    assert comparison is not None
    assert comparison.find_difference((first, second)) is None
