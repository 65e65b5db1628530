"""Stated times: whether an English sentence holds a date, a time of day or a duration that may answer a question."""

from __future__ import annotations

import re

from crag.text.patterns import lazy_regex

MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
"""The English names of the months, in order."""

_NUMBER_WORD = (
    r"(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|twenty|thirty|forty|fifty|sixty"
    r"|seventy|eighty|ninety|hundred|half an?|several|few)"
)
_UNIT = r"(?:second|minute|hour|day|night|week|month|season|quarter|year|decade|century|centurie)s?\b"
_LENGTH = (
    rf"(?:\d[\d.,]*(?:[ -](?:working|business|calendar|full|school))?[ -]{_UNIT}"
    rf"|\b{_NUMBER_WORD}(?:[ -]{_NUMBER_WORD})?(?:[ -](?:working|business|calendar|full|school))?[ -]{_UNIT})"
)
_YEAR = r"(?<![$€£¥₩\d.,])(?:1\d|20)\d\d(?![\d%]|[.,]\d|(?!s\b)[A-Za-z]|\s?[KMGT]B\b)"
_RECURRENCE = (
    r"\b(?:every|each) (?:\w+ ){0,2}?(?:day|night|week|month|quarter|year|morning|afternoon|evening|spring|summer"
    r"|autumn|winter)s?\b|\b(?:daily|nightly|weekly|fortnightly|monthly|quarterly|yearly|annually|hourly)\b"
)
_MONTH = rf"(?-i:\b(?:{'|'.join(MONTHS)}|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b)"
_POINT = lazy_regex(  # a date or a time of day
    rf"\d[:.]\d\d\b|\d(?:st|nd|rd|th)\b|\d ?[ap]\.?m\b|\d[ -]o[’']clock\b|\b(?:Q[1-4]|{_YEAR})|\d{{1,2}}[/.]\d{{1,2}}\b"
    r"|\b(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last) (?:day|week|month|quarter|year)\b"
    r"|\b(?:at|from|until|till|by|before|after|between|on|and|to) \d{1,2}\b(?![.,%]\d)"
    r"|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?\b|\b(?:week|work)(?:days?|ends?)\b|\b(?:noon|midday|midnight)\b"
    rf"|{_MONTH}|{_RECURRENCE}",
    re.IGNORECASE,
)
_DISTANCE = lazy_regex(  # a duration that leads to a point in time: "within 30 days", "two years later"
    rf"\b(?:within|after|before|in|every|each|until|by|from|at least|up to|no later than|under|for)\s"
    rf"(?:\w+\s){{0,2}}?{_LENGTH}"
    rf"|{_LENGTH}[’']?\s(?:\w+\s)?(?:after|before|later|ago|from|of|prior|following|in advance|earlier|notice)\b",
    re.IGNORECASE,
)
_DURATION = lazy_regex(
    rf"{_LENGTH}|\bsince\b|\b(?:from|between)\b.*\d|\buntil\b|\b\d{{4}}\s?[–-]\s?\d{{2,4}}\b|{_RECURRENCE}"
    r"|\b(?:once|twice|\w+ times) (?:an?|per)\b"
    r"|\d\s?(?:mm|cm|k?m|ft|(?:kilo|centi)?met(?:re|er)s?|miles?|yards?|feet|foot|inch(?:es)?|pages?|words?)\b",
    re.IGNORECASE,
)
_ASKS_YEAR = lazy_regex(r"\b(?:what|which) year\b", re.IGNORECASE)
_ASKS_DURATION = lazy_regex(r"\bhow (?:long|often|soon|quickly|frequently)\b(?! ago)", re.IGNORECASE)


def asks_duration(question: str) -> bool:
    """Return whether a question asks how long something takes or how often it happens, and not when."""
    return bool(_ASKS_DURATION.search(question))


def states_duration(text: str) -> bool:
    """Return whether a text says how long, as a time or a length, or how often."""
    return bool(_DURATION.search(text))


def states_time(question: str, text: str) -> bool:
    """Return whether a text says when: by a date, a time of day, or a duration up to or from something.

    "A half-hour show" and "its first fifty years" do not. Only a year tells which year.
    """
    if _ASKS_YEAR.search(question):
        return bool(re.search(_YEAR, text))
    return bool(_POINT.search(text) or _DISTANCE.search(text))
