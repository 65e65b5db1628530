"""Opening hours: when something is open is not when it was opened, and neither answers a question about the other."""

from __future__ import annotations

import re

from crag.text.patterns import lazy_regex

_ASKS_HOURS = lazy_regex(
    r"\b(?:when|(?:from |until )?what (?:time|days?|hours?)|which days?|how (?:late|early|long))\b"
    r".*\b(?:(?:is|are|do|does)\b.*\b(?:open|closed?|shut)\b|(?:opens|closes|shuts)\b)"
    r"|\b(?:opening|closing|business|visiting) (?:hours|times?|days)\b"
    r"|(?:언제|몇 ?시|무슨 ?요일).*(?:여[나는니]|엽니|열[어려]|닫[나는아습]|(?:영업|운영)[하해]|쉬[나는어]|쉽니)"
    r"|(?:영업|운영|이용|개관|개장|관람) ?시간"
    r"|(?:[什甚][么麼][时時][候间間]|何[时時]|[几幾][点點]|[时時][间間]).*(?:[开開关關][门門]|[营營]業|[营營]业|开放|開放|打[烊样])"
    r"|(?:[营營][业業]|[开開]放|[开開][门門])[时時][间間]",
    re.IGNORECASE,
)
_ASKS_OPENING = lazy_regex(
    r"\bwhen (?:did\b.*\b(?:open|close|shut)|(?:was|were|has|have|had)\b.*\b(?:opened|closed|shut))\b"
    r"|\b(?:what|which) year\b.*\b(?:open|close)(?:ed)?\b"
    r"|(?:언제|몇 ?년).*(?:열[었렸]|닫았|문을 연|생겼|개[업점관장설](?:했|한|하였|되었|됐))"
    r"|(?:[什甚][么麼][时時]候|何[时時]|哪一?年).*(?:[开開](?:[业業张張幕]|的)|成立|[创創]立|[创創][办辦])",
    re.IGNORECASE,
)
_HOURS = lazy_regex(
    r"\d[:.]\d\d(?!\d)|\d ?[ap]\.?m\b|\bo[’']clock\b|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?\b"
    r"|\b(?:week(?:days?|ends?)|daily|noon|midnight|hours?|holidays?|year[ -]round|all year)\b"
    r"|\b(?:every|each) (?:day|night|week|month|morning|evening)\b"
    r"|\d ?시|요일|오전|오후|평일|주말|매[일주달월년]|연중|휴[무관일]|공휴일|[월화수목금토일]~"
    r"|\d ?[点點時时]|上午|下午|星期|[周週][一二三四五六日末]|每[天日周週]|工作日|全年|假日|[节節]日",
    re.IGNORECASE,
)
_YEAR = lazy_regex(r"(?<![\d.,:])(?:1\d|20)\d\d(?![\d:])(?![.,]\d)")
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_DATE = lazy_regex(rf"{_YEAR.pattern}|\b(?:{_MONTHS})\b|\d ?[월月]|세기|世[纪紀]|\b(?:centur(?:y|ies)|ago)\b")


def find_hours(text: str) -> list[str]:
    """Return the times of day, weekdays and other words for opening hours in a text, in lower case."""
    return [found[0].lower() for found in _HOURS.finditer(text)]


def tells_other_opening(question: str, text: str) -> bool:
    """Return whether a text tells the year of an opening or closure where its hours are asked for, or the reverse."""
    tells_hours = bool(_HOURS.search(text))
    if _ASKS_HOURS.search(question):
        return bool(_YEAR.search(text)) and not tells_hours
    return bool(_ASKS_OPENING.search(question)) and tells_hours and not _DATE.search(text)
