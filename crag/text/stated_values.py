"""Stated values: the names, dates and figures of a sentence that may answer a question."""

from __future__ import annotations

import re
from decimal import Decimal

from crag.text.dates import CalendarDate, find_date_spans, find_dates, remove_dates
from crag.text.figures import Figure, find_figure_spans, find_figures
from crag.text.language import extract_terms
from crag.text.patterns import MONTHS, lazy_regex
from crag.text.questions import AnalyzedQuestion

# Two capitalised words or a title with one; a single one only where it is neither a role nor part of an address.
_PERSON = lazy_regex(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof)\.? )?"
    r"[A-Z][\w’'-]+(?:(?: [A-Z]\.)* (?:(?:van|von|de|da|del|bin|al|of|the) )?[A-Z][\w’'-]+)+"
    r"|\b(?:Mr|Mrs|Ms|Dr|Prof)\.? [A-Z][\w’'-]+"
    r"|(?<![.!?:]\s)(?<!^)(?<!\b[Tt]he )(?<!\b[Aa]n )(?<!\b[Aa] )(?<!, )\b[A-Z][\w’'-]+"
)
_CALENDAR_TERMS = frozenset(
    extract_terms(
        f"{' '.join(MONTHS)} Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
        " Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec"
    )
)
_NUMBER = lazy_regex(r"\d+(?:[.,:]\d+)*")
_TIME_OF_DAY = lazy_regex(
    r"(?<!\d)(\d{1,2})(?::(\d\d)|\s?[시点點時时](?![간间間])(?:\s?(\d{1,2})\s?[분分])?|\s?[ap]\.?m\b)", re.IGNORECASE
)

StatedValue = CalendarDate | Figure | frozenset[str]
"""A date, a number, which may be a time of day in minutes, or the terms of a name."""


def find_values(question: AnalyzedQuestion, sentence: str) -> frozenset[StatedValue]:
    """Return the values of the kind asked for in a sentence that the question does not name.

    Figures of dates count only for a question about time. Korean and Chinese names are not recognized.
    """
    if question.answer_type in {"person", "place"}:
        names = (frozenset(extract_terms(found[0])) for found in _PERSON.finditer(sentence))
        return frozenset(name for name in names if name - question.weights.keys() - _CALENDAR_TERMS)
    asked = set(_NUMBER.findall(question.text))
    new = _NUMBER.sub(lambda found: "" if found[0] in asked else found[0], sentence)
    if question.answer_type == "time":
        return frozenset(find_dates(new)).union(map(_parse_time_of_day, _TIME_OF_DAY.finditer(new)))
    return frozenset(find_figures(_TIME_OF_DAY.sub("", remove_dates(new))))


def find_value_spans(question: AnalyzedQuestion, sentence: str) -> list[tuple[int, int]]:
    """Return where a sentence holds dates, figures or full names of the kind asked for that the question lacks.

    Places, Korean and Chinese names, and other kinds of answers are not recognized.
    """
    asked = set(_NUMBER.findall(question.text))
    dates = find_date_spans(sentence)
    if question.answer_type == "person" and not question.is_cjk:
        return [
            found.span()
            for found in _PERSON.finditer(sentence)
            if " " in found[0] and (question.weights.keys() | _CALENDAR_TERMS).isdisjoint(extract_terms(found[0]))
        ]
    if question.answer_type == "time":
        times = [found.span() for found in _TIME_OF_DAY.finditer(sentence)]
        spans = sorted(dates + [span for span in times if not _overlaps(span, dates)])
    elif question.answer_type == "number":
        spans = [span for span in find_figure_spans(sentence) if not _overlaps(span, dates)]
    else:
        return []
    said = ((span, _NUMBER.findall(sentence[slice(*span)])) for span in spans)
    return [span for span, numbers in said if not numbers or not asked.issuperset(numbers)]


def _overlaps(span: tuple[int, int], others: list[tuple[int, int]]) -> bool:
    return any(start < span[1] and span[0] < end for start, end in others)


def _parse_time_of_day(match: re.Match[str]) -> Figure:
    """Return the minutes since noon or midnight, which are not told apart: 9:00 may be in the evening."""
    return Figure(Decimal(int(match[1]) % 12 * 60 + int(match[2] or match[3] or 0)), "time of day")


def agree(one: StatedValue, other: StatedValue) -> bool | None:
    """Return whether two values are the same; None if that cannot be told, as of names that share a word."""
    if isinstance(one, frozenset) and isinstance(other, frozenset):
        return one == other or (False if one.isdisjoint(other) else None)
    if isinstance(one, CalendarDate) and isinstance(other, CalendarDate):
        return one.agrees_with(other)
    return one.agrees_with(other) if isinstance(one, Figure) and isinstance(other, Figure) else None
