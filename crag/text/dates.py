"""Dates in answers: the same date in another notation or order of words is the same answer.

English, Korean and Chinese dates are read, and those in figures alone. 04/05/1975 may be in April or in May: an answer
with such a date agrees if either reading does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import count

from crag.text.figures import normalize_chinese_numbers
from crag.text.patterns import MONTHS

_MONTHS = [name.lower() for name in MONTHS]
_NAME = rf"(?P<name>(?:{'|'.join(_MONTHS)}|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?)"
_YEAR, _MONTH, _DAY = r"(?P<year>[12]\d{3})", r"(?P<month>0?[1-9]|1[0-2])", r"(?P<day>0?[1-9]|[12]\d|3[01])"
_ORDINAL_DAY = rf"{_DAY}(?:st|nd|rd|th)?"
_SLASHED = rf"{_DAY.replace('day', 'first')}/{_DAY.replace('day', 'second')}/"
_FORMS = (
    rf"{_YEAR}(?:-{_MONTH}-|/{_MONTH}/|\.\s?{_MONTH}\.\s?){_DAY}",
    rf"(?:{_YEAR}\s?[년年]\s?)?{_MONTH}\s?[월月](?:\s?{_DAY}\s?[일日號号])?",
    rf"{_YEAR}\s?[년年]",
    rf"\b{_NAME}\s{_ORDINAL_DAY}(?:,?\s?{_YEAR})?",
    rf"{_ORDINAL_DAY}\s(?:of\s)?{_NAME}(?:,?\s{_YEAR})?",
    rf"\b{_NAME},?\s(?:of\s)?{_YEAR}",
    rf"{_DAY}\.\s?{_MONTH}\.\s?{_YEAR}",
    rf"{_SLASHED}{_YEAR}",
)
_LONE_PARTS = (rf"\b(?-i:(?=[A-Z])){_NAME}", _YEAR)  # a month or a year that may also be a verb, a name or a count


def _compile(*forms: str) -> re.Pattern[str]:
    """Join forms into one pattern whose named groups are numbered, since a name may occur only once."""
    numbers = count(1)
    numbered = (re.sub(r"\(\?P<(\w+)>", lambda group: f"(?P<{group[1]}_{next(numbers)}>", form) for form in forms)
    decade = r"s\b|(?:\s?[년年])?[대代]"
    return re.compile(rf"(?<![\d.,/-])(?:{'|'.join(numbered)})(?![\d/-]|[.,]\d|{decade})", re.IGNORECASE)


_DATE, _DATE_OR_PART = _compile(*_FORMS), _compile(*_FORMS, *_LONE_PARTS)
# What may stand around a date that is all there is to say: prepositions, the day of the week, Korean endings.
_AROUND_DATE = re.compile(
    r"[\s,.()（），。]|\b(?:on|in|the|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b|[월화수목금토일]요일"
    r"|(?:에|이었다|이다|입니다)(?=\W|$)|星期[一二三四五六日天]|[週周][一二三四五六日]|在",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class CalendarDate:
    """A date in a text; parts that it does not state are None."""

    day: int | None = None
    month: int | None = None
    year: int | None = None

    @property
    def parts(self) -> dict[str, int]:
        """The stated parts, in the order day, month, year."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def agrees_with(self, other: CalendarDate) -> bool | None:
        """Return whether no part that both state differs; None if there is none, as for a day and a year."""
        shared = self.parts.keys() & other.parts.keys()
        return all(self.parts[name] == other.parts[name] for name in shared) if shared else None

    def share_stated(self, stated: CalendarDate, question: Sequence[CalendarDate] = ()) -> float:
        """Return the share of the parts of this expected date that a stated date has, 0 if any part differs.

        "April 4" for "April 4, 1975" is two thirds, and "1975" one third: a person who knows the date calls the first
        incomplete, not wrong, and the second too vague. A part that the question names need not be repeated: asked
        when in 1975, "April 4" says it all. A date with more parts than expected agrees in full.
        """
        expected, held = self.parts, stated.parts
        if any(held.get(name, value) != value for name, value in expected.items()):
            return 0.0
        agreed = expected.keys() & held.keys()
        named = {name for one in question for name, value in one.parts.items() if expected.get(name) == value}
        return len(agreed | named if agreed - named else agreed) / len(expected)


def find_dates(text: str) -> list[CalendarDate]:
    """Return the dates that a text states, also a month or a year alone, and both readings of 04/05/1975."""
    return [date for match in _DATE_OR_PART.finditer(normalize_chinese_numbers(text)) for date in _read_match(match)]


def find_date_spans(text: str) -> list[tuple[int, int]]:
    """Return where a text states dates, months or years in figures or by name, excluding amounts of money."""
    return [match.span() for match in _DATE_OR_PART.finditer(text) if text[: match.start()][-1:] not in "$€£¥₩"]


def remove_dates(text: str) -> str:
    """Return a text without its dates, months and years."""
    return _DATE_OR_PART.sub("", normalize_chinese_numbers(text))


def states_date(text: str) -> bool:
    """Return whether a text states a date, not only a month or a year."""
    return bool(_DATE.search(normalize_chinese_numbers(text)))


def parse_date(text: str) -> CalendarDate | None:
    """Return the date if the text is one and says nothing else; a number or a name alone may mean something else."""
    plain = normalize_chinese_numbers(text)
    match = _DATE.search(plain)
    if match is None or _AROUND_DATE.sub("", f"{plain[: match.start()]} {plain[match.end() :]}"):
        return None
    readings = _read_match(match)
    return readings[0] if len(readings) == 1 else None


def rewrite_dates(text: str) -> str:
    """Write every date of a text in one way, as in "4 april 1975", so that its words can be compared."""
    return _DATE.sub(_rewrite_match, normalize_chinese_numbers(text))


def _rewrite_match(match: re.Match[str]) -> str:
    readings = _read_match(match)
    if len(readings) != 1 or readings[0].month is None:  # a year alone stays as written
        return match[0]
    words = readings[0].parts | {"month": _MONTHS[readings[0].month - 1]}
    return f" {' '.join(map(str, words.values()))} "


def _read_match(match: re.Match[str]) -> list[CalendarDate]:
    """Return the readings of a match: two if its day could be its month, none for 31/31/1975."""
    held = {name.rpartition("_")[0]: value for name, value in match.groupdict().items() if value}
    day, month, year = (int(held[part]) if part in held else None for part in ("day", "month", "year"))
    if "name" in held:
        month = next(at for at, name in enumerate(_MONTHS, 1) if name.startswith(held["name"][:3].lower()))
    if "first" in held:
        first, second = int(held["first"]), int(held["second"])
        readings = dict.fromkeys([(first, second), (second, first)])
        return [CalendarDate(one, other, year) for one, other in readings if other <= len(_MONTHS)]
    return [CalendarDate(day, month, year)]
