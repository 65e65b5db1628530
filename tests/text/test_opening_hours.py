"""Opening hours, days of the week, and the date of an opening."""

from __future__ import annotations

import pytest

from crag.text.opening_hours import find_days, name_hours_asked_for, tells_other_opening
from crag.text.questions import analyze_question, matches_answer_type
from crag.text.relevance_scores import CountedTermStatistics

HOURS = [
    "When is the shop open?",
    "When does the museum close?",
    "What time do the baths open?",
    "what days is the library open",
    "What are the opening hours?",
    "가게는 언제 여나요?",
    "도서관은 몇 시에 문을 닫나요?",
    "영업시간이 어떻게 되나요?",
    "商店什么时候开门？",
    "圖書館幾點關門？",
    "营业时间是几点？",
]
OPENINGS = [
    "When was the shop opened?",
    "When did the museum open?",
    "In what year did the baths close?",
    "가게는 언제 열었나요?",
    "도서관은 언제 개관했나요?",
    "商店是什么时候开业的？",
    "圖書館哪一年成立？",
]
SAY_HOURS = [
    "It is open from 7:30 to 18:00.",
    "We close at 6 pm on Fridays.",
    "평일 9시에 문을 연다.",
    "周一至周五上午九点开门。",
]
SAY_YEAR = [
    "The shop was opened in May 2014.",
    "The museum opened its doors in 1987.",
    "2014년에 문을 열었다.",
    "商店于2014年开业。",
]


@pytest.mark.parametrize(
    ("questions", "right", "other"), [(HOURS, SAY_HOURS, SAY_YEAR), (OPENINGS, SAY_YEAR, SAY_HOURS)]
)
def test_opening_hours_are_not_the_year_of_the_opening(questions, right, other):
    for question in questions:
        assert [text for text in (*right, *other) if tells_other_opening(question, text)] == other, question


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("When is the pool open?", "The pool is open from May to September."),
        ("When does the new pier open?", "The new pier opens in May."),
        ("When is the shop open?", "Since 2019 the shop has been open on Sundays."),
        ("When was the shop opened?", "The shop was opened on Friday, 2 May 2014."),
        ("When did the meeting begin?", "The meeting began at 9:00."),
        ("When was the boat built?", "The boat was built in 1911."),
    ],
)
def test_other_times_are_left_alone(question, text):
    assert not tells_other_opening(question, text)


@pytest.mark.parametrize(
    ("question", "text", "fits"),
    [
        ("When is the shop open?", "The shop is open from 9:00 to 16:00.", True),
        ("when are you open", "We are open on Saturdays.", True),
        ("When is the shop open?", "The shop was opened in June 2014.", False),
        ("가게는 언제 여나요?", "평일 9시에 문을 연다.", True),
        ("商店什么时候开门？", "商店于2014年开业。", False),
        ("When is the bell rung?", "The bell is rung at 7 pm.", True),
    ],
)
def test_hours_are_candidates_for_a_question_about_time(question, text, fits):
    assert matches_answer_type(analyze_question(question, CountedTermStatistics()), text) is fits


@pytest.mark.parametrize(
    ("question", "text", "other"),
    [
        ("Is the museum open on Tuesday?", "It is open on weekdays.", False),
        ("Is the museum open on Tuesday?", "The museum opened in 1974.", True),
        ("When does the shop close on weekdays?", "On Saturday the shop closes at 4 pm.", True),
        ("When does it close on weekdays?", "The shop closes at 6 pm on Mondays.", False),
        ("When is the shop open?", "The director is in the office on Mondays.", False),
        ("박물관은 화요일에 여나요?", "평일은 9시에 연다.", False),
        ("博物馆周二开门吗？", "周一至周五开门。", False),
        ("Is it open on Tuesday?", "It is open on weekdays.", False),
        ("Is it open on Tuesday?", "It is open at weekends.", True),
        ("What time does it close on weekdays?", "On Sundays it closes at 4.", True),
        ("What time does it close on weekdays?", "On Mondays it closes at 4.", False),
        ("Is it open on Monday?", "It is open every day except Monday.", False),
        ("When is it open?", "It is open at weekends.", False),
        ("화요일에 여나요?", "주말은 10시에 연다.", True),
        ("화요일에 여나요?", "평일은 9시에 연다.", False),
        ("周三几点关门？", "周六和周日五点关门。", True),
        ("周三几点关门？", "周一至周五八点关门。", False),
    ],
)
def test_other_days_and_years_are_no_answer(question, text, other):
    assert tells_other_opening(question, text) is other


@pytest.mark.parametrize(
    ("question", "text", "added"),
    [
        ("When does it close on Tuesday?", "It is open from 9:00 to 17:00 on weekdays.", " Tuesday close"),
        ("When does it close?", "It is open on Mondays.", ""),
        ("평일에는 몇 시에 닫나요?", "평일은 오전 9시부터 오후 8시까지 운영합니다.", " 닫나요"),
        ("周三几点关门？", "周一至周五的开放时间是上午9点到晚上8点。", " 周三 关门"),
        ("Is it open on Tuesday?", "Open Monday to Friday.", " Tuesday"),
        ("Is it open on weekdays?", "Open Monday to Friday.", " weekdays"),
        ("Is it open on weekdays?", "Open on Monday.", ""),
        ("Is it open on Tuesday?", "Open on Tuesday.", ""),
        ("Is it open?", "Open Monday to Friday.", ""),
        ("화요일에 여나요?", "평일에 연다.", " 화요일"),
        ("周三开门吗？", "周一至周五开门。", " 周三"),
    ],
)
def test_hours_and_days_that_a_text_includes_are_named(question, text, added):
    assert name_hours_asked_for(question, text) == text + added


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
def test_days_are_found_in_names_ranges_and_groups(text, days):
    assert find_days(text) == days
