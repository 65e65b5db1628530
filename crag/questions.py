"""What a question asks for: its key words and their weight, the names in it, the kind of thing it wants."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from crag.language import cjk, is_row, terms, words
from crag.protocols import TermStatistics

Kind = Literal["person", "time", "number", "place", "list", "explanation", "other"]

_LIGHT = 0.5
_NOWHERE = "qzxqzx"
_PLURALS = (
    "types|kinds|ways|steps|examples|reasons|factors|methods|advantages|disadvantages|components|parts|stages|categories"
    "|forms|features|properties|requirements|benefits|options|two|three|four|five|six|seven|eight|nine|ten|several"
)
_SCAFFOLD = frozenset(terms(_PLURALS))
_ASKING: dict[Kind, str] = {
    "list": rf"\b(?:what|which|list|name|give)\b.{{0,24}}\b(?:{_PLURALS})\b|\b(?:what|which) are\b"
    r"|종류|유형|단계|가지|哪些|哪幾|哪几",
    "time": r"\bwhen\b|\b(?:what|which) (?:year|date|day|month|century|time|decade)\b|언제|몇 ?년|년도"
    r"|[何幾几]時|[何几]时|哪一?年|時候|时候|[幾几]年|世紀|世纪",
    "number": r"\bhow (?:many|much|old|long|far|tall|large|big|high|often|cold|hot)\b"
    r"|\bwhat (?:percent\w*|number|amount|population)\b|몇|얼마|多少|[幾几]",
    "person": r"\bwho(?:m|se)?\b|누구|누가|誰|谁|何人|哪位",
    "place": r"\bwhere\b|\b(?:what|which) (?:city|country|state|place|region|location)\b|어디|哪[裡里]|何[處处]",
    "explanation": r"\bwhy\b|\bhow (?:does|do|did|is|are|was|were|can|to)\b|\b(?:explain|describe)\b"
    r"|왜|어떻게|[為为]什|[為为]何|如何|怎",
}
_KINDS = {kind: re.compile(pattern, re.IGNORECASE) for kind, pattern in _ASKING.items()}
_TIME = re.compile(
    r"\b(?:1\d{3}|20\d\d)s?\b|\b(?:january|february|march|april|may|june|july|august|september|october|november"
    r"|december)\b|centur|\d ?[年月日년월일]|世[紀纪]|세기",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|hundred|thousand|million|billion|half"
    r"|third)\b|[一二三四五六七八九十百千萬万兩两]",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-Z][\w’'-]*[a-zA-Z]\b", re.MULTILINE)
_CAPITALS = re.compile(r"\b(?:[A-Z]{2,}\w*|\d[\d.,]*)\b")
_NUMBERED = re.compile(r"\(?\b\d\)|[①-⑳]|^\s*[-*•]\s", re.MULTILINE)
_SERIES = re.compile(r",[^,.]+(?:,[^,.]+)*,? (?:and|or) |、")


@dataclass(frozen=True, slots=True)
class Question:
    """A question as the scorer sees it. `order` holds its terms as asked, `foreign` is true for CJK."""

    text: str
    words: tuple[tuple[str, tuple[str, ...]], ...]
    order: tuple[str, ...]
    weights: dict[str, float]
    names: frozenset[str]
    kind: Kind
    foreign: bool

    @property
    def rarest(self) -> str:
        """The term that says most, empty when there is none."""
        return max(self.weights, key=lambda term: self.weights[term], default="")

    def covered(self, held: Iterable[str]) -> float:
        """The share of the question's weight that the terms `held` cover, in 0..1."""
        found = self.weights.keys() & held
        return sum(self.weights[term] for term in found) / (sum(self.weights.values()) or 1.0)


def read_question(text: str, statistics: TermStatistics) -> Question:
    """The question with the weights of its terms in this library."""
    key_words = tuple(words(text))
    order = tuple(term for _, parts in key_words for term in parts)
    names = names_in(text)
    return Question(text, key_words, order, _weights(order, names, statistics), names, _kind(text), cjk(text))


def _weights(order: tuple[str, ...], names: frozenset[str], statistics: TermStatistics) -> dict[str, float]:
    """Inverse document frequencies, but less for what an answer need not repeat.

    That is a common word that the library lacks (it may say it otherwise) and the asking words of "what types of".
    """
    weights = statistics.idf(order)
    absent = statistics.idf([_NOWHERE])[_NOWHERE]
    light = {term for term, weight in weights.items() if weight >= absent and term not in names} | _SCAFFOLD
    return {term: weight * _LIGHT if term in light else weight for term, weight in weights.items()}


def _kind(question: str) -> Kind:
    return next((kind for kind, pattern in _KINDS.items() if pattern.search(question)), "other")


def names_in(text: str) -> frozenset[str]:
    """Terms that name something: capitalised words within a sentence, capitals, and numbers."""
    return frozenset(terms(" ".join(_NAME.findall(text) + _CAPITALS.findall(text))))


def fitting(question: Question, text: str) -> float:
    """1 when the text holds the kind of thing asked for, -1 when it lacks it, 0 where that cannot be told."""
    if question.kind == "time":
        return 1.0 if _TIME.search(text) else -1.0
    if question.kind == "number":
        return 1.0 if _NUMBER.search(text) else -1.0
    if question.kind in ("person", "place") and not question.foreign:
        return 1.0 if names_in(text) - question.weights.keys() else -1.0
    if question.kind == "list":
        return 1.0 if _lists(text) else 0.0
    return 0.0


def _lists(text: str) -> bool:
    """Whether a text lists things: numbered, in rows, or in a series with commas."""
    rows = sum(is_row(line) for line in text.splitlines())
    return len(_NUMBERED.findall(text)) > 1 or rows > 1 or bool(_SERIES.search(text))
