"""Days of the week in questions and texts."""

import pytest

from crag.text.weekdays import find_days, name_days_asked_for, speaks_of_other_days

WORKING, WEEKEND, ALL = set(range(5)), {5, 6}, set(range(7))


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("open Monday to Friday", WORKING),
        ("Mon–Fri 9:00–17:00", WORKING),
        ("Friday through Monday", {4, 5, 6, 0}),
        ("on Saturdays and Sundays", WEEKEND),
        ("Day: Sun | Opens: 11:00", {6}),
        ("at weekends", WEEKEND),
        ("on weekdays", WORKING),
        ("every day except Monday", ALL),
        ("Closed on MONDAY.", {0}),
        ("The Sun rises. They sat and wed.", set()),
        ("평일 9시", WORKING),
        ("월~금 9시", WORKING),
        ("화요일부터 목요일까지", {1, 2, 3}),
        ("토·일 휴관", WEEKEND),
        ("주말과 공휴일", WEEKEND),
        ("7월 1일에 문을 연다", set()),
        ("周一至周五", WORKING),
        ("星期一到五，九点", WORKING),
        ("星期六和星期天", WEEKEND),
        ("每周三次", set()),
        ("每天", ALL),
        ("週末", WEEKEND),
    ],
)
def test_days_are_found_in_names_ranges_and_groups(text: str, days: set[int]) -> None:
    assert find_days(text) == days


@pytest.mark.parametrize(
    ("question", "text", "other"),
    [
        ("Is it open on Tuesday?", "It is open on weekdays.", False),
        ("Is it open on Tuesday?", "It is open at weekends.", True),
        ("What time does it close on weekdays?", "On Sundays it closes at 4.", True),
        ("What time does it close on weekdays?", "On Mondays it closes at 4.", False),
        ("Is it open on Monday?", "It is open every day except Monday.", False),
        ("When is it open?", "It is open at weekends.", False),
        ("Is it open on Tuesday?", "It opened in 1974.", False),
        ("화요일에 여나요?", "주말은 10시에 연다.", True),
        ("화요일에 여나요?", "평일은 9시에 연다.", False),
        ("周三几点关门？", "周六和周日五点关门。", True),
        ("周三几点关门？", "周一至周五八点关门。", False),
    ],
)
def test_other_days_are_no_answer(question: str, text: str, other: bool) -> None:
    assert speaks_of_other_days(question, text) is other


@pytest.mark.parametrize(
    ("question", "text", "added"),
    [
        ("Is it open on Tuesday?", "Open Monday to Friday.", " Tuesday"),
        ("Is it open on weekdays?", "Open Monday to Friday.", " weekdays"),
        ("Is it open on weekdays?", "Open on Monday.", ""),
        ("Is it open on Tuesday?", "Open on Tuesday.", ""),
        ("Is it open?", "Open Monday to Friday.", ""),
        ("화요일에 여나요?", "평일에 연다.", " 화요일"),
        ("周三开门吗？", "周一至周五开门。", " 周三"),
    ],
)
def test_a_text_names_the_days_of_a_question_that_it_includes(question: str, text: str, added: str) -> None:
    assert name_days_asked_for(question, text) == text + added
