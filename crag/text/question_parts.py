"""Parts of a question that asks for two things: "When and where is …?", "How much is … and who approves it?"."""

from __future__ import annotations

import re
from dataclasses import replace

from crag.text.language import detect_language, extract_terms
from crag.text.patterns import lazy_regex
from crag.text.questions import AnalyzedQuestion, analyze_question, detect_answer_type

_QUESTION_WORDS = (
    r"(?:(?:until|by|since|from|to|for|at|in|on|with) )?"
    r"(?:who|whom|whose|when|where|why|what|which|how(?: (?:many|much|long|old|far|often|soon))?)\b"
)
_JOINT = lazy_regex(rf",? (?:and|or) (?={_QUESTION_WORDS})", re.IGNORECASE)
_LEADING_WORDS = lazy_regex(rf"\W*{_QUESTION_WORDS}", re.IGNORECASE)
_NAME = lazy_regex(r"(?:\bthe )?(?<!^)\b[A-Z][\w’'-]*(?: [A-Z][\w’'-]*)*")
_PRONOUN = lazy_regex(r"\b(?:it|they|them|he|she|him)\b", re.IGNORECASE)
_KOREAN_WORDS = r"(?:언제(?:까지|부터)?|어디(?:에서|서|로)?|누가|누구(?:와|랑|에게)?|얼마(?:에|나)?)"
_CHINESE_WORDS = r"(?:何[时時]|什[么麼][时時][候间間]|[谁誰]|多少[钱錢]|在?哪[里裡兒儿]|在?何[处處地]|在?什[么麼]地方)"
_JOINT_TOPICS = lazy_regex(  # "보증금이랑 관리비 얼마예요?"
    r"(?P<first>[가-힣]+?(?: [가-힣]+?)?)(?:이랑|랑|하고|와|과) (?P<second>[가-힣]+?(?: [가-힣]+?)?)(?:[은는이가]?) "
    r"(?:각각 )?(?P<asked>(?:얼마|언제|어디|누구|몇 ?[가-힣]{1,2})(?:까지|부터|에서)?"
    r"(?:예요|에요|이에요|인가요|입니까|이?야|이?죠|인지 알려.*)?\W*)"
)
_NEIGHBOURS = {
    "ko": lazy_regex(rf"({_KOREAN_WORDS})(?:,? (?:그리고 )?)({_KOREAN_WORDS})"),
    "zh": lazy_regex(rf"({_CHINESE_WORDS})(?:[、,，和与與及]|以及)?({_CHINESE_WORDS})"),
}


def split_question(question: AnalyzedQuestion) -> list[AnalyzedQuestion]:
    """Return the parts of a question that asks for two things, each a question; otherwise the question alone.

    Parts that share their words, as in "when and where", differ only in the value that they ask for.
    """
    if joint := _JOINT_TOPICS.fullmatch(question.text):
        parts = [f"{joint[topic]} {joint['asked']}" for topic in ("first", "second")]
        return [analyze_question(part, question.statistics) for part in parts]
    if neighbours := _NEIGHBOURS.get(detect_language(question.text)):
        if not neighbours.search(question.text):
            return [question]
        return [_ask_for(question, neighbours.sub(rf"\{number}", question.text)) for number in (1, 2)]
    parts = [part.strip(" ?,") for part in _JOINT.split(question.text)]
    if len(parts) != 2 or not all(map(_LEADING_WORDS.match, parts)):
        return [question]
    first, second = parts
    if not extract_terms(first):
        first += _LEADING_WORDS.sub("", second)
    elif extract_terms(second):
        second = _name_subject(first, second)
        return [analyze_question(_write_question(part), question.statistics) for part in (first, second)]
    return [_ask_for(question, _write_question(part)) for part in (first, second)]


def _name_subject(first: str, second: str) -> str:
    """Return the second part with the only name of the first in place of a pronoun."""
    named = set(_NAME.findall(first))
    return _PRONOUN.sub(lambda _: next(iter(named)), second, count=1) if len(named) == 1 else second


def separate_questions(question: AnalyzedQuestion) -> list[AnalyzedQuestion]:
    """Return the parts of a question that have words of their own, each to be looked for; else the question alone."""
    return [part for part in split_question(question) if part.words != question.words] or [question]


def _ask_for(question: AnalyzedQuestion, text: str) -> AnalyzedQuestion:
    """Return a question with the same words that asks for another value."""
    return replace(question, text=text, answer_type=detect_answer_type(text))


def _write_question(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}?"
