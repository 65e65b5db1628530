"""Question analysis: key words and their weights, names, and the expected answer type."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from crag.language import cjk, sentences, terms, words
from crag.protocols import TermStatistics

Kind = Literal["person", "time", "number", "place", "list", "explanation", "other"]

_LONG = 1000  # characters
_AT_THE_ENDS = 3  # sentences at the beginning and at the end of a long text that may contain the question
_QUESTION_MARKS = ("?", "？", "؟")
_CLOSING = " \t\"'”’»」』)]"
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
    "time": r"\bwhen\b(?! (?:is|are|does|do|can|may|must|should) (?:an?|one|you|we|i)\b)"  # a condition, not a date
    r"|\b(?:what|which) (?:year|date|day|month|century|time|decade)\b|언제|몇 ?년|년도"
    r"|[何幾几]時|[何几]时|哪一?年|時候|时候|[幾几]年|世紀|世纪",
    "number": r"\bhow (?:many|much|old|long|far|tall|large|big|high|often|cold|hot)\b"
    r"|\bwhat (?:percent\w*|number|amount|population)\b|몇|얼마|多少|[幾几]",
    "person": r"\bwho(?:m|se)?\b|누구|누가|誰|谁|何人|哪位",
    "place": r"\bwhere\b|\b(?:what|which) (?:city|country|state|place|region|location)\b|어디|哪[裡里]|何[處处]",
    "explanation": r"\bwhy\b|\bhow (?:does|do|did|is|are|was|were|can|to)\b|\b(?:explain|describe)\b"
    r"|왜|어떻게|[為为]什|[為为]何|如何|怎",
}
_NOUNS: dict[Kind, str] = {  # nouns that imply the answer type without a question word: "Super Bowl 2021 location"
    "time": r"\bdate\b|[時时][间間]|日期",
    "place": r"\blocation\b|在哪|地[点點]|哪[個个]?(?:城市|[国國]家|地方)|[举舉][办辦][地国國]",
    "number": r"\b(?:revenue|price|cost|population|percentage|rate|score)\b|增[长長速]|[销銷]量|票房|[营營]收|GDP"
    r"|(?:[数數]|率|量)\s*[?？]?$",
    "person": r"\b(?:winner|director|actor|actress|author|president)\b|冠[军軍]|[导導]演|主演|[编編][剧劇]|主角|得主"
    r"|旗手|首相|[总總][统統]",
}
_KINDS = [(kind, re.compile(words, re.IGNORECASE)) for kind, words in (*_ASKING.items(), *_NOUNS.items())]
_NAME = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-Z][\w’'-]*[a-zA-Z]\b", re.MULTILINE)
_CAPITALS = re.compile(r"\b(?:[A-Z]{2,}\w*|\d[\d.,]*)\b")
_LATIN_WORD = re.compile(r"[A-Za-z]+")


@dataclass(frozen=True, slots=True)
class Question:
    """A question as the scorer sees it. `order` holds its terms in order; `foreign` is true for Chinese and Korean.

    `statistics` are those of the searched library, `unseen` is the weight of a term that does not occur in it.
    """

    text: str
    words: tuple[tuple[str, tuple[str, ...]], ...]
    order: tuple[str, ...]
    weights: dict[str, float]
    names: frozenset[str]
    kind: Kind
    foreign: bool
    statistics: TermStatistics
    unseen: float

    @property
    def rarest(self) -> str:
        """The term with the greatest weight, or an empty string if there are no terms."""
        return max(self.weights, key=lambda term: self.weights[term], default="")

    def covered(self, held: Iterable[str]) -> float:
        """Return the share of the question's weight, in 0..1, that is covered by the terms `held`."""
        found = self.weights.keys() & held
        return sum(self.weights[term] for term in found) / (sum(self.weights.values()) or 1.0)


def is_long(question: str) -> bool:
    """Return whether the question is a pasted text that contains a question."""
    return len(question) > _LONG


def what_is_asked(question: str) -> str:
    """Return the asking sentences at the beginning or the end of a long question; return a short one unchanged.

    Relevant passages are similar to the actual question, not to the text pasted with it.
    """
    if not is_long(question):
        return question
    held = sentences(question)
    ends = list(dict.fromkeys([*held[:_AT_THE_ENDS], *held[-_AT_THE_ENDS:]]))
    asking = [sentence for sentence in ends if sentence.rstrip(_CLOSING).endswith(_QUESTION_MARKS)]
    found = " ".join(asking or [held[0], held[-1]])
    return found if not is_long(found) else f"{found[: _LONG // 2]} {found[-_LONG // 2 :]}"


def read_question(text: str, statistics: TermStatistics) -> Question:
    """Analyze a question and weight its terms by their rarity in the library."""
    key_words = tuple(words(text))
    order = tuple(term for _, parts in key_words for term in parts)
    names = names_in(text)
    unseen = statistics.idf([_NOWHERE])[_NOWHERE]
    weights = _weights(order, names, statistics, unseen)
    return Question(text, key_words, order, weights, names, _kind(text), _foreign(text), statistics, unseen)


def _weights(
    order: tuple[str, ...], names: frozenset[str], statistics: TermStatistics, unseen: float
) -> dict[str, float]:
    """Return the inverse document frequency of each term, reduced for terms that an answer need not repeat.

    These are ordinary words that do not occur in the library, which may phrase them differently, and category words as
    in "what types of".
    """
    weights = statistics.idf(order)
    light = {term for term, weight in weights.items() if weight >= unseen and term not in names} | _SCAFFOLD
    return {term: weight * _LIGHT if term in light else weight for term, weight in weights.items()}


def _kind(question: str) -> Kind:
    return next((kind for kind, pattern in _KINDS if pattern.search(question)), "other")


def _foreign(question: str) -> bool:
    """Return whether the question is Chinese or Korean. A Latin word counts as one letter, because it may be a name."""
    return cjk(_LATIN_WORD.sub("x", question))


def names_in(text: str) -> frozenset[str]:
    """Return the terms of names: capitalised words within a sentence, acronyms, and numbers."""
    return frozenset(terms(" ".join(_NAME.findall(text) + _CAPITALS.findall(text))))
