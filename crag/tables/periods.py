"""Periods of time in a question: years, halves, quarters, months, days, and ranges of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache, lru_cache
from typing import Literal

from crag.text.patterns import MONTHS
from crag.text.table_headers import CAPTION_SEPARATOR

Relation = Literal["between", "since", "until", "after", "before", "at"]

_YEAR = r"(?<![\d.,$€£])(?:19|20)\d\d(?![\d.,%]\d|\d)"
_ORDINALS = {
    sign: number
    for number, signs in enumerate(("1 first 상 上 一", "2 second 하 下 二", "3 third 三", "4 fourth 四"), start=1)
    for sign in signs.split()
}
_MONTH_NAMES = "|".join(["Sept", *(f"{name[:3]}(?:{name[3:]})?" for name in MONTHS if name != "May")])
_CHINESE_MONTHS = "一二三四五六七八九十"
_PART = (
    r"H(?P<half_>[12])\b|(?P<half>first|second|1st|2nd)[ -]half|(?P<half_ko>[상하])반기|(?P<half_zh>[上下])半年"
    r"|Q(?P<quarter_>[1-4])\b|(?P<quarter>first|second|third|fourth|1st|2nd|3rd|4th) quarter"
    r"|(?P<quarter_ko>[1-4])분기|第?(?P<quarter_zh>[一二三四1-4])[个個]?季(?:度|(?![节節]))"
    rf"|(?:(?P<before>\d{{1,2}})(?:st|nd|rd|th)? )?\b(?P<month>{_MONTH_NAMES}|(?-i:May)|(?<=in )may|(?<=and )may)\b\.?"
    r"(?: (?P<after>\d{1,2})(?:st|nd|rd|th)?\b(?!\d))?"
    rf"|(?P<month_>\d{{1,2}}|(?<![{_CHINESE_MONTHS}])[{_CHINESE_MONTHS}]{{1,2}})\s?[월月]份?"
    r"(?:\s?(?P<day>\d{1,2})\s?[일日號号])?"
)
_ATOM = rf"(?:(?P<year>{_YEAR})\s?[년年]?[,의的]?\s?)?(?:{_PART})(?:,? (?:of |in )?(?P<year_>{_YEAR}))?"
_ISO = r"(?P<iso>(?:19|20)\d\d-\d\d(?:-\d\d)?)(?![\d-])"
_LONE_YEAR = rf"(?P<lone>{_YEAR})\s?[년年]?(?!\s?[대代]|s\b)"
_PERIOD = re.compile(rf"(?:the )?(?:{_ISO}|{_ATOM}|{_LONE_YEAR})", re.IGNORECASE)
_BARE = re.sub(r"\(\?P<\w+>", "(?:", _PERIOD.pattern)
_RELATIONS: tuple[tuple[Relation, str], ...] = (
    ("between", r"(?:between|from) @ (?:and|to|until|till|through) @|@ (?:to|through) @|@ ?[-–~] ?@(?: ?사이)?"),
    ("between", r"@ ?(?:부터|에서) ?@ ?까지|[从從自在]?@[到至和]@(?:之?[间間]|期[间間])|[从從自]?@[到至]@"),
    ("after", "(?:after|later than) @"),
    ("before", "(?:before|prior to|earlier than) @"),
    (
        "since",
        r"(?:since|from|starting(?: in| from)?) @|from @ on(?:wards)?|@ ?(?:부터|이후)|[自从從]@(?:以[来來]|起)?",
    ),
    ("until", "(?:until|till|up to|through|by(?: the end of)?) @|@ ?까지|截至@|@[为為]?止"),
    ("after", "@(?:之|以)[后後]"),
    ("before", "@ ?(?:이전|전)(?:에|의)?|@(?:之|以)前"),
    ("at", "(?:(?:in|during|of|for|on|at) )?@(?:[에의中里]|期[间間])?"),
)
_IS_VAGUE = re.compile("[后後前전]")  # may include or exclude the period
_DECEMBER = 12


@dataclass(frozen=True, slots=True)
class Period:
    """The days from `first` until the day before `end`, either of which may be open, and its place in a question.

    `edge` is the period itself if the words may include or exclude it, as 以前 does.
    """

    first: date | None
    end: date | None
    span: tuple[int, int]
    edge: tuple[date, date] | None = None


@cache
def _relation_patterns() -> list[tuple[Relation, re.Pattern[str]]]:
    return [
        (name, re.compile(rf"(?<![a-z])(?:{words.replace('@', f'(?:{_BARE})')})", re.IGNORECASE))
        for name, words in _RELATIONS
    ]


def find_periods(text: str, years: Collection[int]) -> list[Period]:
    """Return the periods in a text. One without a year is taken from `years`, or left out if there are several."""
    found: list[Period] = []
    free = text
    for relation, pattern in _relation_patterns():
        for match in pattern.finditer(free):
            parts = list(_read_periods(match[0], years))
            if len(parts) == (2 if relation == "between" else 1):
                found.append(_relate(relation, parts, match))
                free = free[: match.start()] + " " * len(match[0]) + free[match.end() :]
    return found


@lru_cache(maxsize=4096)
def read_period(name: str) -> tuple[date, date] | None:
    """Return the first day and the day after the last of the only period in the name of a column."""
    found = find_periods(name.replace(CAPTION_SEPARATOR, " "), ())
    if len(found) != 1 or found[0].first is None or found[0].end is None:
        return None
    return found[0].first, found[0].end


def is_whole_year(first: date, end: date) -> bool:
    """Return whether a period is a calendar year."""
    return (first.month, first.day, end) == (1, 1, date(first.year + 1, 1, 1))


def _relate(relation: Relation, parts: list[tuple[date, date]], match: re.Match[str]) -> Period:
    first, end = min(parts)[0], max(parts)[1]
    edge = (first, end) if _IS_VAGUE.search(match[0]) else None
    ends: dict[Relation, tuple[date | None, date | None]] = {
        "since": (first, None),
        "after": (end, None),
        "until": (None, end),
        "before": (None, first),
    }
    return Period(*ends.get(relation, (first, end)), match.span(), edge)


def _read_periods(text: str, years: Collection[int]) -> Iterator[tuple[date, date]]:
    """Yield the first day of each period and the day after its last. A single year applies to all of them."""
    matches = [
        {name.rstrip("_").partition("_")[0]: value for name, value in match.groupdict().items() if value}
        for match in _PERIOD.finditer(text)
    ]
    stated = [int(held["year"]) for held in matches if "year" in held] or list(years)
    for held in matches:
        year = int(held.get("year") or held.get("lone") or 0) or (stated[0] if len(set(stated)) == 1 else 0)
        try:
            if "iso" in held or year:
                yield _read_period(held, year)
        except ValueError:
            continue  # such as 31 February


def _read_period(held: dict[str, str], year: int) -> tuple[date, date]:
    day = int(held.get("day") or held.get("before") or held.get("after") or 0)
    months, month = 1, 1
    if iso := held.get("iso"):
        year, month, day = (*map(int, iso.split("-")), 0)[:3]
    elif half := held.get("half"):
        months, month = 6, 6 * _read_ordinal(half) - 5
    elif quarter := held.get("quarter"):
        months, month = 3, 3 * _read_ordinal(quarter) - 2
    elif name := held.get("month"):
        month = _read_month(name)
    else:
        months = 12
    first = date(year, month, day or 1)
    if day:
        return first, first + timedelta(days=1)
    after = month + months
    return first, date(year + 1, 1, 1) if after > _DECEMBER else date(year, after, 1)


def _read_ordinal(word: str) -> int:
    return _ORDINALS.get(word.lower()) or _ORDINALS[word[0]]


def _read_month(name: str) -> int:
    if name.isdigit():
        return int(name)
    if name[0] in _CHINESE_MONTHS:
        return sum(_CHINESE_MONTHS.index(sign) + 1 for sign in name)
    return next(at for at, month in enumerate(MONTHS, 1) if month.lower().startswith(name[:3].lower()))
