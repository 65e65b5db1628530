"""Days of the week: “weekdays” and “Monday to Friday” speak of Tuesday, “Saturdays and Sundays” do not."""

from __future__ import annotations

import re
from functools import lru_cache

from crag.text.patterns import lazy_regex

_ALL = frozenset(range(7))  # Monday is 0
_WORKING, _WEEKEND = frozenset(range(5)), frozenset({5, 6})
_NAMES = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY = (
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?-i:Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun)\b\.?"
    r"|(?<![가-힣])[월화수목금토일](?:요일)|(?<![가-힣\d])[월화수목금토일](?=\s?(?:[~∼–·/-]|부터)\s?[월화수목금토일])"
    r"|(?<=[~∼–·/-])\s?[월화수목금토일](?![가-힣])"
    r"|(?:星期|[週周]|[礼禮]拜)[一二三四五六日天](?![次个個天年])|(?<=[至到])[一二三四五六日](?=[，,：:\s])"
)
_GROUPS = (
    (lazy_regex(r"\bweekdays?\b|평일|주중|工作日|平日", re.IGNORECASE), _WORKING),
    (lazy_regex(r"\bweek-?ends?\b|주말|[週周]末", re.IGNORECASE), _WEEKEND),
    (
        lazy_regex(
            r"\b(?:daily|(?:every|each) day|(?:seven|7) days a week)\b|매일|연중무휴|每[天日]|天天|全年无休|全年無休",
            re.IGNORECASE,
        ),
        _ALL,
    ),
)
_RANGE = lazy_regex(rf"({_DAY})\s?(?:[-–—~∼至到]|\bto\b|\bthrough\b|\buntil\b|부터)\s?({_DAY})", re.IGNORECASE)
_SINGLE = lazy_regex(_DAY, re.IGNORECASE)
_LONE_ABBREVIATION = lazy_regex(r"(?:Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun)\.?")
_CELL_BORDER = lazy_regex(r"(?:^|[|:,/]\s?)$")


def name_days_asked_for(question: str, text: str) -> str:
    """Return a text together with the days that a question names and that the text speaks of in other words."""
    asked = _find_day_words(question)
    held = find_days(text) if asked else frozenset()
    also = [word for word, days in asked.items() if days <= held and word.casefold() not in text.casefold()]
    return " ".join([text, *also])


def speaks_of_other_days(question: str, text: str) -> bool:
    """Return whether a text speaks only of other days of the week than a question."""
    asked = find_days(question)
    held = find_days(text) if asked else frozenset()
    return bool(held) and asked.isdisjoint(held)


def find_days(text: str) -> frozenset[int]:
    """Return the days of the week that a text speaks of, Monday as 0; with “except Monday” Monday, too."""
    return frozenset[int]().union(*_find_day_words(text).values())


@lru_cache(maxsize=2_000)
def _find_day_words(text: str) -> dict[str, frozenset[int]]:
    """Return the words for days in a text, with the days that each of them means."""
    found = {match[0]: days for group, days in _GROUPS for match in group.finditer(text)}
    names = list(_SINGLE.finditer(text))
    for match in _RANGE.finditer(text) if len(names) > 1 else ():  # compiling it takes longer than searching many texts
        first, last = _number(match[1]), _number(match[2])
        found[match[0]] = frozenset((first + n) % 7 for n in range((last - first) % 7 + 1))
    for match in names:
        is_certain = len(names) > 1 or not _LONE_ABBREVIATION.fullmatch(match[0])
        if is_certain or _CELL_BORDER.search(text[: match.start()]):
            found[match[0].strip()] = frozenset({_number(match[0])})
    return found


def _number(name: str) -> int:
    bare = name.strip()
    if bare[0].isascii():
        return _NAMES.index(bare[:3].lower())
    korean, chinese = "월화수목금토일".find(bare[0]), "一二三四五六日".find(bare[-1].replace("天", "日"))
    return max(korean, chinese)
