"""Candidate answers in a text: dates, numbers, names and quoted titles, recognized by their form."""

from __future__ import annotations

import re

from crag.language import is_row, terms
from crag.questions import Question

_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
_MONTH = rf"(?:{_MONTHS}|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)"
_STAMP = re.compile(
    rf"^{_MONTH}\.? \d{{1,2}}, \d{{4}} \.\.\. ", re.IGNORECASE
)  # publication date at the start of a web search result
_DATE = re.compile(
    rf"\b{_MONTH}\.? \d{{1,2}}(?:st|nd|rd|th)?(?:, \d{{4}})?\b|\b\d{{1,2}} {_MONTH}\b(?: \d{{4}})?|\b{_MONTH}\b"
    r"|\b(?:1\d{3}|20\d\d)s?\b|centur(?:y|ies)"
    r"|\d{1,2} ?[月월] ?\d{1,2} ?[日号號일]|\d+ ?[年月日号號년월일]|世[紀纪]|세기",
    re.IGNORECASE,
)
_MONTH_NAMED = re.compile(_MONTH, re.IGNORECASE)
_NUMBER = re.compile(
    r"[$€£¥]?\d+(?:[.,]\d+)*(?: ?(?:%|percent|million|billion|thousand))?"
    r"|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|half|third|hundred|thousand|million|billion)\b"
    r"|[一二三四五六七八九十百千萬万兩两]+[个個次人种種年天位名]",
    re.IGNORECASE,
)
_CAPITALISED = re.compile(r"\b[A-Z][\w’'-]*")
_SURE = re.compile(  # two capitalised words in a row, or one that does not start a sentence
    r"\b[A-Z][\w’'-]+(?: [A-Z][\w’'-]+)+|(?<![.!?:]\s)(?<!^)\b[A-Z][\w’'-]*", re.MULTILINE
)
_QUOTED = re.compile(r"[《「『“]([^《》「」『』“”]{1,30})[》」』”]")
_NUMBERED = re.compile(r"\(?\b\d\)|[①-⑳]|^\s*[-*•]\s", re.MULTILINE)
_SERIES = re.compile(r",[^,.]+(?:,[^,.]+)*,? (?:and|or) |、")


def told(question: Question) -> bool:
    """Return whether answer candidates can be recognized by their form.

    Names cannot where there are no capital letters.
    """
    return question.kind in ("time", "number") or (question.kind in ("person", "place") and not question.foreign)


def candidates(question: Question, text: str) -> frozenset[str]:
    """Return the values of the expected answer type in `text` that are not in the question, in a normalized form."""
    said = _STAMP.sub("", text)
    if question.kind == "time":
        return _dates(question, said)
    if question.kind == "number":
        return _numbers(question, said)
    if question.foreign:
        return frozenset(title for title in _QUOTED.findall(said) if title not in question.text)
    return _named(_CAPITALISED.findall(said)) - question.weights.keys()


def fits(question: Question, text: str) -> bool:
    """Return whether `text` certainly contains the expected answer type; True if that cannot be recognized."""
    if question.kind in ("person", "place") and not question.foreign:
        return bool(_named(_SURE.findall(_STAMP.sub("", text))) - question.weights.keys())
    return not told(question) or bool(candidates(question, text))


def fitting(question: Question, text: str) -> float:
    """Return 1 if the text contains the expected answer type, -1 if it does not, 0 if that cannot be recognized."""
    if told(question):
        return 1.0 if fits(question, text) else -1.0
    return 1.0 if question.kind == "list" and _lists(text) else 0.0


def _dates(question: Question, text: str) -> frozenset[str]:
    """Find dates. Day and month also count without the year, which other texts may omit: `nov 12 2020` and `nov 12`."""
    asked, found = question.text.lower(), set[str]()
    for match in _DATE.finditer(text):
        date = match.group().lower()
        if date in asked:
            continue
        month, numbers = _MONTH_NAMED.search(date), re.findall(r"\d+", date)
        if month is None:
            found.add(re.sub(r"\s", "", date))
            continue
        found.add(" ".join((month.group()[:3], *numbers)))
        if numbers:
            found.add(f"{month.group()[:3]} {numbers[0]}")
    return frozenset(found)


def _numbers(question: Question, text: str) -> frozenset[str]:
    asked = question.text.lower()
    numbers = (re.sub(r"[^\w%.]", "", number.lower()) for number in _NUMBER.findall(_DATE.sub(" ", text)))
    return frozenset(number for number in numbers if number.rstrip("%") not in asked)


def _named(capitalised: list[str]) -> frozenset[str]:
    return frozenset(terms(" ".join(word for word in capitalised if not _MONTH_NAMED.fullmatch(word))))


def _lists(text: str) -> bool:
    """Return whether the text contains a list: numbered items, table rows, or a series with commas."""
    rows = sum(is_row(line) for line in text.splitlines())
    return len(_NUMBERED.findall(text)) > 1 or rows > 1 or bool(_SERIES.search(text))
