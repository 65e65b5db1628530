"""Form of a message: a question, a bare phrase such as "deposit?", or a statement that asks for nothing."""

from __future__ import annotations

import re
from typing import Literal

from crag.text.language import detect_language, extract_terms
from crag.text.patterns import lazy_regex
from crag.types import Language

QuestionForm = Literal["question", "phrase", "statement"]

_BORROWED_WORDS = lazy_regex(r" \([^()]+\)$", re.DOTALL)  # what a follow-up borrows from earlier questions
_WANTS = lazy_regex(r"\b(?:know|wonder(?:ing)?|tell me|need|want|looking for|would like)\b", re.IGNORECASE)
_ASKS: dict[Language, re.Pattern[str]] = {
    "en": lazy_regex(
        r"\b(?:who|whom|whose|what|which|when|where|why|how)\b"
        r"|^\W*(?:(?:and|so|but|or|then|please|ok(?:ay)?)\W+)*"
        r"(?:is|are|am|was|were|do|does|did|can|could|may|might|must|shall|should|will|would|has|have|had)(?:n[’']t)?\b"
        r"|^\W*(?:please )?(?:list|name|give|tell|show|explain|describe|define|find|summari[sz]e|compare|state|quote"
        r"|outline|identify|calculate|count|write|look|check|remind)\b"
        rf"|{_WANTS.pattern}",
        re.IGNORECASE,
    ),
    "ko": lazy_regex(
        r"무엇|무슨|누구|누가|언제|어디|어느|어떤|어떻|얼마|(?<![가-힣])몇|며칠|(?<![가-힣])왜|뭐|뭔|뭘"
        r"|알려|말해|설명|보여|찾아|정리|요약|줘|주세요|주십시오|주시"
        r"|(?:나요|까요?|는가|은가|인가|인지|는지|니|냐|죠)\s?[?？.]*$|(?:요|나|야|지|해|돼|어|아|가|래)\s?[?？]+$"
        r"|\S\s+\S+\s+\S*[은는]\s?[?？]*$"
    ),
    "zh": lazy_regex(
        r"[什甚][么麼]|[谁誰]|哪|多少|[几幾]|如何|怎|何|是否|[吗嗎呢]|有[没沒]有|(.)[不没沒]\1|[能可]否|多[久长長大高远遠重深]"
        r"|[是為为]\s?[?？]*$|[请請]|告[诉訴]|列出|[说說]明|解[释釋]|介[绍紹]"
    ),
}
_STATES: dict[Language, re.Pattern[str]] = {
    "en": lazy_regex(
        r"^\W*(?:i|you|we|they|he|she|it|this|that|these|those|there)(?:[’'](?:s|m|re|ve|d|ll))?\s"
        r"|^\W*\w+\s(?:[\w’'-]+\s){0,6}?(?:is|are|was|were|has|had|will|can|could|should|must|did|does)\b",
        re.IGNORECASE,
    ),
    "ko": lazy_regex(r"(?:다|요|군|네|음|임)\s?[.!~…]*$"),
    "zh": lazy_regex(r"^\s*[我你您它他她这這那]|[。！!]\s*$|了\s*$"),
}


def detect_question_form(message: str) -> QuestionForm:
    """Return what a message is in form; a question mark alone makes no question of a phrase."""
    text = _BORROWED_WORDS.sub("", message)
    language = detect_language(text)
    is_marked = text.rstrip().endswith(("?", "？"))
    if language == "en" and not is_marked and _STATES["en"].match(text):
        opening = re.match(r"^\W*\w+", text)
        asks = bool(opening and _ASKS["en"].match(opening[0]))
        return "question" if asks or _WANTS.search(text) else "statement"
    if _ASKS[language].search(text):
        return "question"
    return "statement" if not is_marked and _STATES[language].search(text) else "phrase"


_COPULA_VALUE = r"(?:is|are|was|were)\s+(?:(?:now|currently|only|about|up to)\s+)?(?:an?\b|the\b|[$€£¥₩]?\s?\d|free\b)"
_DEFINING_VERB = r"(?:means?|refers?|denotes?|stands?\s+for|describes?)\b"


def states_phrase(phrase: str, sentence: str) -> bool:
    """Return whether a sentence defines what a bare phrase names or gives its value: "X is a …", "X: 12", "X란 …"."""
    bare = _BORROWED_WORDS.sub("", phrase).strip(" ?？!.。！~")
    language = detect_language(bare)
    if language == "en":
        return _labels(bare, sentence) or _begins_with(bare, sentence)
    if language == "ko":
        name = r"\s?".join(re.escape(re.sub("(?<=[가-힣])(?:[은는]요?|요)$", "", word)) for word in bare.split())
        return bool(
            re.search(
                rf"(?:^|[.,|—:]\s?|['\"‘“(]){name}['\"’”]?\s?(?:이?란|[은는]\s[^.]*(?:말|뜻|의미)[한합]|[은는이가]?\s?"
                r"(?:총|월|연|약|매월|매년|최대)?\s?\d|[:：|—]\s?\S)",
                sentence,
            )
        )
    return bool(
        re.search(
            rf"(?:^|[，。；：、|—“「《\s]){re.escape(bare)}[」”》]?\s?(?:是指|指的?是|即|[系係]指|[为為是]\D{{0,4}}\d|[:：|—])",
            sentence,
        )
    )


def _labels(phrase: str, sentence: str) -> bool:
    """Return whether a labelled line or a cell of a row holds the value, and the rest of the row the other words."""
    asked, held = set(extract_terms(phrase)), set(extract_terms(sentence))
    labels = re.findall(r"(?:^|[|—•*-]\s?)([^|—:：]{1,40})[:：]\s*[^\s|—]", sentence)
    return asked <= held and any(terms and terms <= asked for terms in (set(extract_terms(one)) for one in labels))


def _begins_with(phrase: str, sentence: str) -> bool:
    """Return whether a sentence begins with the phrase and says what it is."""
    if not (found := re.search(rf"\b(?:{_COPULA_VALUE}|{_DEFINING_VERB})", sentence)):
        return False
    return set(extract_terms(sentence[: found.start()])) == set(extract_terms(phrase))
