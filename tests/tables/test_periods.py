"""Periods that questions name, in three languages."""

from datetime import date

import pytest

from crag.tables.periods import find_periods, read_period


def day(text: str) -> date | None:
    return date.fromisoformat(text) if text else None


@pytest.mark.parametrize(
    ("text", "first", "end"),
    [
        ("in 2023", "2023-01-01", "2024-01-01"),
        ("in Q2 2023", "2023-04-01", "2023-07-01"),
        ("the first half of 2023", "2023-01-01", "2023-07-01"),
        ("between March and May 2023", "2023-03-01", "2023-06-01"),
        ("from 5 March 2023 to 1 April 2023", "2023-03-05", "2023-04-02"),
        ("after 2020", "2021-01-01", ""),
        ("since June", "2024-06-01", ""),
        ("before 2 March 2020", "", "2020-03-02"),
        ("until 2024-03", "", "2024-04-01"),
        ("3월부터 5월까지", "2024-03-01", "2024-06-01"),
        ("2023년 하반기", "2023-07-01", "2024-01-01"),
        ("2분기", "2024-04-01", "2024-07-01"),
        ("2020년 이후", "2020-01-01", ""),
        ("十二月", "2024-12-01", "2025-01-01"),
        ("第二季度", "2024-04-01", "2024-07-01"),
        ("3月到6月", "2024-03-01", "2024-07-01"),
    ],
)
def test_a_period_has_its_first_day_and_the_day_after_its_last(text: str, first: str, end: str) -> None:
    (found,) = find_periods(text, {2024})
    assert (found.first, found.end, found.edge) == (day(first), day(end), None)


@pytest.mark.parametrize(
    "text", ["how may I", "in the 2010s", "31 February 2024", "2024.5 kg", "no time", "二十一月", "一" * 50_000]
)
def test_what_is_no_period_is_none(text: str) -> None:
    assert find_periods(text, {2024}) == []


def test_a_period_without_a_year_needs_the_only_one() -> None:
    assert find_periods("in March", {2023, 2024}) == []
    assert [one.first for one in find_periods("March or April", {2023})] == [date(2023, 3, 1), date(2023, 4, 1)]


@pytest.mark.parametrize("text", ["2019年以前", "2019년 이전에", "2019年之后"])
def test_words_that_people_use_for_two_things_say_for_which_period(text: str) -> None:
    (found,) = find_periods(text, ())
    assert found.edge == (date(2019, 1, 1), date(2020, 1, 1))


@pytest.mark.parametrize(
    ("name", "period"),
    [
        ("January–June 2023 · Sales", (date(2023, 1, 1), date(2023, 7, 1))),
        ("2023년 · 하반기", (date(2023, 7, 1), date(2024, 1, 1))),
        ("2023", (date(2023, 1, 1), date(2024, 1, 1))),
        ("Sales", None),
        ("2023 and 2024", None),
    ],
)
def test_the_name_of_a_column_tells_its_period(name: str, period: tuple[date, date] | None) -> None:
    assert read_period(name) == period
