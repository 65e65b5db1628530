"""Possible values: whether a sentence may hold an answer of some kind, however it is written.

These are loose on purpose: only what holds no trace of a value certainly leaves a question open.
"""

from __future__ import annotations

import re

from crag.text.language import extract_terms
from crag.text.patterns import lazy_regex
from crag.text.questions import AnalyzedQuestion, AnswerType

_NUMBER_WORDS = (
    r"\d|[一二三四五六七八九十百千萬万兩两半]|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty"
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
_CHINESE_PLACE = lazy_regex(r"[在於于到至往](?![\d一二三四五六七八九十])|地[點点址]|[：:|]")
_HAN = lazy_regex("[\u4e00-\u9fff]")
_HANGUL = lazy_regex("[가-힣]")


def may_hold_value(question: AnalyzedQuestion, text: str) -> bool:
    """Return whether a text may hold a value of the kind that a question asks for; False is certain."""
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


def _may_hold_person(question: AnalyzedQuestion, text: str) -> bool:
    if _HANGUL.search(text):
        actors = (found[1] or "" for found in _KOREAN_ACTOR.finditer(text))
        return any(actor not in question.text or not actor for actor in actors)
    if _HAN.search(text):
        return True
    holds_every_word = set(extract_terms(question.text)) <= set(extract_terms(text))
    return holds_every_word or bool(_NAME.search(text))
