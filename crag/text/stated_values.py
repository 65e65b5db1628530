"""Values that may answer a question: the names, dates and figures that a sentence states.

`may_hold_value` is lenient: it is false only for a text without any trace of such a value.
"""

from __future__ import annotations

import re
from decimal import Decimal

from crag.text.dates import CalendarDate, find_date_spans, find_dates, remove_dates
from crag.text.figures import Figure, find_figure_spans, find_figures, normalize_quantity
from crag.text.language import extract_terms, is_table_row
from crag.text.measures import find_quantities
from crag.text.patterns import MONTHS, SEVERAL, lazy_regex
from crag.text.questions import AnalyzedQuestion, AnswerType

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
    r"(?<![\d.:])(\d{1,2})(?:(?::(\d\d)|\.(\d\d)(?=\s?[ap]\.?m\b))(?:\s?[ap]\.?m\b)?|\s?[시点點時时](?![간间間])(?:\s?(\d{1,2})\s?[분分])?|\s?[ap]\.?m\b)",
    re.IGNORECASE,
)

_NUMBER_WORDS = (
    rf"\d|[一二三四五六七八九十百千萬万兩两半]|\b(?:one|{SEVERAL}|twenty"
    r"|hundred|thousand|million|half|once|twice|free|no|none|all|every)\b|무료|없|모든|전액|절반|免[費费]"
    r"|(?:하나|한|두|세|네|다섯|여섯|일곱|여덟|아홉|열|스무|서른|[일이삼사오육칠팔구십백천만억]+)\s?[가-힣]"
)
_CALENDAR_WORDS = (
    r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tues|wednes|thurs|fri|satur|sun)"
    r"(?:\w*day|\w*ber|\w*ary|\w*il|ch|e|y|ust|t)?\b"
)
_POSSIBLE: dict[AnswerType, re.Pattern[str]] = {
    "number": lazy_regex(_NUMBER_WORDS, re.IGNORECASE),
    "time": lazy_regex(
        rf"{_NUMBER_WORDS}|{_CALENDAR_WORDS}|\b(?:today|tomorrow|noon|midnight|morning|afternoon|evening|night|day|week"
        r"|month|year|season|spring|summer|autumn|winter|immediately|before|after|when|until|while|during|always)\w*"
        r"|[년월일주]|때|요일|매|평일|주말|오전|오후|아침|저녁|당일|즉시|전|후|[봄여름겨울]|까지|부터|[年月日天週周時时]|[前後后]",
        re.IGNORECASE,
    ),
}
_NAME = lazy_regex(r"(?<![.!?:]\s)(?<!^)\b[A-Z][\w’'-]+")
_PREPOSITION = lazy_regex(
    rf"\b(?:in|at|on|near|inside|outside|beside|behind|to|from|opposite|under|above)\s+(?!\d|{_CALENDAR_WORDS})",
    re.IGNORECASE,
)
_KOREAN_PLACE = lazy_regex(
    r"(?<![가-힣\d])[가-힣A-Za-z]{2,}(?:에서|에게|에|으로|로)(?:는|도|만)?(?![가-힣])|장소|위치|[:：|—]"
)
_KOREAN_ACTOR = lazy_regex(r"([가-힣]{2,}?)(?:이|가|은|는|께서|에게|한테|의|와|과)(?![가-힣])|담당|[:：|—]")
_KOREAN_PERSON = lazy_regex(  # a role, an office, or a name of three syllables
    r"담당|책임|대표|[가-힣](?:님|씨|[팀부과실원관소회국]장|팀|센터|사무소|사무실|창구|교사|강사|선생|총무|간사|기사|직원|데스크)(?![가-힣])"
    r"|(?:에게|한테)(?![가-힣])"
    r"|(?<![가-힣])[김이박최정강조윤장임한오서신권황안송류전홍고문양손배백허유남심노하곽성차주우구민진지엄채원천방공현함변]"
    r"(?!까지|부터|에서|으로|마다|[하이]며|하고|[가-힣][은는의용])[가-힣]{2}(?![가-힣])"
)
_CHINESE_PLACE = lazy_regex(r"[在於于到至往](?![\d一二三四五六七八九十])|地[點点址]|[：:|]")
_HAN = lazy_regex("[\u4e00-\u9fff]")
_HANGUL = lazy_regex("[가-힣]")

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
    if (quantities := find_quantities(question.text, new)) is not None:
        new = "; ".join(normalize_quantity(quantity[0]) for quantity in quantities)
    return frozenset(find_figures(_TIME_OF_DAY.sub("", remove_dates(new))))


def find_value_spans(question: AnalyzedQuestion, sentence: str) -> list[tuple[int, int]]:
    """Return where a sentence holds dates, figures or full names of the kind asked for that are not in the question.

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
        quantities = find_quantities(question.text, sentence)
        found = find_figure_spans(sentence) if quantities is None else [_drop_label(one) for one in quantities]
        spans = [span for span in found if not _overlaps(span, dates)]
    else:
        return []
    numbered = ((span, _NUMBER.findall(sentence[slice(*span)])) for span in spans)
    return [span for span, numbers in numbered if not numbers or not asked.issuperset(numbers)]


def _drop_label(quantity: re.Match[str]) -> tuple[int, int]:
    """Return where a quantity is, without the unit of its column before it: "(kg): 13.9"."""
    label, colon, _ = quantity[0].rpartition(": ")
    return (quantity.start() + len(label) + len(colon), quantity.end())


def _overlaps(span: tuple[int, int], others: list[tuple[int, int]]) -> bool:
    return any(start < span[1] and span[0] < end for start, end in others)


def _parse_time_of_day(match: re.Match[str]) -> Figure:
    """Return the minutes since noon or midnight: 9:00 may be in the evening."""
    return Figure(Decimal(int(match[1]) % 12 * 60 + int(match[2] or match[3] or match[4] or 0)), "time of day")


def agree(one: StatedValue, other: StatedValue) -> bool | None:
    """Return whether two values are the same; None if it is unclear, as with names that share a word."""
    if isinstance(one, frozenset) and isinstance(other, frozenset):
        return one == other or (False if one.isdisjoint(other) else None)
    if isinstance(one, CalendarDate) and isinstance(other, CalendarDate):
        return one.agrees_with(other)
    return one.agrees_with(other) if isinstance(one, Figure) and isinstance(other, Figure) else None


def may_hold_value(question: AnalyzedQuestion, text: str) -> bool:
    """Return whether a text may hold a value of the kind that a question asks for; only False is certain."""
    if pattern := _POSSIBLE.get(question.answer_type):
        return bool(pattern.search(text))
    if question.answer_type == "place":
        return _may_hold_place(text)
    return question.answer_type != "person" or _may_hold_person(question, text)


def _may_hold_place(text: str) -> bool:
    if _HANGUL.search(text):
        return bool(_KOREAN_PLACE.search(text))
    if _HAN.search(text):
        return bool(_CHINESE_PLACE.search(text))
    names = _NAME.findall(re.sub(_CALENDAR_WORDS, "", text, flags=re.IGNORECASE))
    return bool(names or _PREPOSITION.search(text))


def _is_action(word: str, question: AnalyzedQuestion) -> bool:
    """Return whether a Korean word is a verb of the question as a noun: 주기 of 주는."""
    return word.endswith("기") and word.removesuffix("기") in question.text


def _may_hold_person(question: AnalyzedQuestion, text: str) -> bool:
    if _HANGUL.search(text):
        if is_table_row(text):
            return bool(_KOREAN_PERSON.search(text))
        actors = (found[1] or "" for found in _KOREAN_ACTOR.finditer(text))
        return any(not actor or not (actor in question.text or _is_action(actor, question)) for actor in actors)
    if _HAN.search(text):
        return True
    holds_every_word = set(extract_terms(question.text)) <= set(extract_terms(text))
    return holds_every_word or bool(_NAME.search(text))
