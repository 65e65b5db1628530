"""Opening hours and days of the week: “Monday to Friday” includes Tuesday, “Saturdays and Sundays” does not.

Hours of opening do not answer a question about the date of an opening, nor the reverse.
"""

from __future__ import annotations

import re
from functools import lru_cache

from crag.text.language import is_cjk
from crag.text.patterns import MONTHS, lazy_regex

# Each first word is looked for only once (`(?>…)`), so that a text that repeats it takes no longer than another.
_ASKS_HOURS = lazy_regex(
    r"(?m:^)(?>.*?\b(?:when|what (?:time|days?|hours?)|which days?|how (?:late|early|long))\b)"
    r"(?:(?>.*?\b(?:is|are|do|does)\b).*?\b(?:open|closed?|shut)\b|.*?\b(?:opens|closes|shuts)\b)"
    r"|\b(?:opening|closing|business|visiting) (?:hours|times?|days)\b"
    r"|(?:언제|몇 ?시|무슨 ?요일).*(?:여[나는니]|엽니|열[어려]|닫[나는아습]|(?:영업|운영)[하해]|쉬[나는어]|쉽니)"
    r"|(?:영업|운영|이용|개관|개장|관람) ?시간"
    r"|(?:[什甚][么麼][时時][候间間]|何[时時]|[几幾][点點]|[时時][间間]).*(?:[开開关關][门門]|[营營]業|[营營]业|开放|開放|打[烊样])"
    r"|(?:[营營][业業]|[开開]放|[开開][门門])[时時][间間]",
    re.IGNORECASE,
)
_ASKS_OPENING = lazy_regex(
    r"(?m:^)(?>.*?\bwhen did\b).*?\b(?:open|close|shut)\b"
    r"|(?m:^)(?>.*?\bwhen (?:was|were|has|have|had)\b).*?\b(?:opened|closed|shut)\b"
    r"|\b(?:what|which) year\b.*\b(?:open|close)(?:ed)?\b"
    r"|(?:언제|몇 ?년).*(?:열[었렸]|닫았|문을 연|생겼|개[업점관장설](?:했|한|하였|되었|됐))"
    r"|(?:[什甚][么麼][时時]候|何[时時]|哪一?年).*(?:[开開](?:[业業张張幕]|的)|成立|[创創]立|[创創][办辦])",
    re.IGNORECASE,
)
_HOURS = lazy_regex(
    r"\d[:.]\d\d(?!\d)|\d ?[ap]\.?m\b|\bo[’']clock\b|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?\b"
    r"|\b(?:week(?:days?|ends?)|daily|noon|midnight|dawn|dusk|sunrise|sunset|nightfall)\b"
    r"|\b(?:(?<!\d )hours?|24 hours a day|holidays?|year[ -]round|all year)\b"
    r"|\b(?:every|each) (?:day|night|week|month|morning|evening)\b"
    r"|\d ?시|요일|오전|오후|평일|주말|매[일주달월년]|연중|휴[무관일]|공휴일|[월화수목금토일]~"
    r"|\d ?[点點時时]|上午|下午|星期|[周週][一二三四五六日末]|每[天日周週]|工作日|全年|假日|[节節]日",
    re.IGNORECASE,
)
_YEAR = lazy_regex(r"(?<![\d.,:])(?:1\d|20)\d\d(?![\d:])(?![.,]\d)")
_MONTHS = "|".join(MONTHS)
_DAY_OF_YEAR = lazy_regex(
    rf"\b\d{{1,2}}(?:st|nd|rd|th)? (?:{_MONTHS})\b|\b(?:{_MONTHS}) \d{{1,2}}\b|\d ?월 ?\d+ ?일|\d ?月 ?\d+ ?[日号號]"
)
_DATE = lazy_regex(rf"{_YEAR.pattern}|\b(?:{_MONTHS})\b|\d ?[월月]|세기|世[纪紀]|\b(?:centur(?:y|ies)|ago)\b")


_OPENING_WORD = lazy_regex(
    r"\b(?:open(?:s|ed|ing)?|close[sd]?|closing|shuts?)\b"
    r"|(?<![가-힣])[가-힣]*(?:여[나는니]|엽니|연다|열[어려리]|닫[나는아습]|운영|영업|개관|폐관|개장|쉬[는나어니지]|쉽니|쉰다|휴관|휴무)[가-힣]*"
    r"|[开開关關][门門]|[开開闭閉][馆館]|[开開]放|[营營][业業]|打[烊样]|[关關][闭閉]",
    re.IGNORECASE,
)
_SPAN = lazy_regex(  # from when to when
    r"\d(?: ?[ap]\.?m\.?)? ?(?:[-–—~∼]|to|until|till|and) ?\d\d?(?:[:.]\d\d| ?[ap]\.?m)|\bOpens?: .*\bCloses?: "
    r"|\d ?시[^.]{0,8}(?:부터|에서|~)[^.]{0,10}\d ?시|\d[点點时時][^。]{0,6}(?:[到至~-])[^。]{0,8}\d",
    re.IGNORECASE,
)
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


def find_hours(text: str) -> list[str]:
    """Return the times of day, weekdays and other words for opening hours in a text, in lower case."""
    return [found[0].lower() for found in _HOURS.finditer(text)]


def name_hours_asked_for(question: str, text: str) -> str:
    """Return a text with the days, and the words for opening and closing, of which it speaks in other words.

    Hours from opening to closing tell both. A text in another language is left as it is.
    """
    opening = _OPENING_WORD.findall(question)
    if not (opening or find_days(question)) or is_cjk(question) != is_cjk(text):
        return text
    named = _name_days_asked_for(question, text)
    words = opening if _SPAN.search(text) and _OPENING_WORD.search(text) else []
    return " ".join([named, *(word for word in words if word.casefold() not in text.casefold())])


def tells_other_opening(question: str, text: str) -> bool:
    """Return whether a text is about other days than the question.

    Also true if it states the year of an opening and the question asks for hours, or the reverse.
    """
    tells_hours = bool(_HOURS.search(text))
    if _speaks_of_other_days(question, text):
        return True
    names_days = bool(find_days(question) and _OPENING_WORD.search(question))
    if _ASKS_HOURS.search(question) or names_days:
        return bool(_YEAR.search(text)) and not (tells_hours or _DAY_OF_YEAR.search(text))
    return bool(_ASKS_OPENING.search(question)) and tells_hours and not _DATE.search(text)


def _name_days_asked_for(question: str, text: str) -> str:
    """Return a text with the days of the question added that it includes in other words."""
    asked = _find_day_words(question)
    held = find_days(text) if asked else frozenset()
    also = [word for word, days in asked.items() if days <= held and word.casefold() not in text.casefold()]
    return " ".join([text, *also])


def _speaks_of_other_days(question: str, text: str) -> bool:
    """Return whether a text names days of the week, but none of those in the question."""
    asked = find_days(question)
    held = find_days(text) if asked else frozenset()
    return bool(held) and asked.isdisjoint(held)


def asks_opening(text: str) -> bool:
    """Return whether a text speaks of opening or closing."""
    return bool(_OPENING_WORD.search(text))


def names_day_itself(question: str, text: str) -> bool:
    """Return whether a text names a day in the words of the question, not only as part of "Monday to Friday"."""
    asked = (word for word, days in _find_day_words(question).items() if len(days) == 1)
    return any(word.casefold().rstrip("s") in text.casefold() for word in asked)


def find_days(text: str) -> frozenset[int]:
    """Return the days of the week in a text, Monday as 0; “except Monday” includes Monday."""
    return frozenset[int]().union(*_find_day_words(text).values())


@lru_cache(maxsize=2_000)
def _find_day_words(text: str) -> dict[str, frozenset[int]]:
    """Return the words for days in a text, each with its days."""
    found = {match[0]: days for group, days in _GROUPS for match in group.finditer(text)}
    names = list(_SINGLE.finditer(text))
    for match in _RANGE.finditer(text) if len(names) > 1 else ():  # compiling it is slower than searching many texts
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
