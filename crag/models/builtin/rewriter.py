"""Question rewriter without a language model: follow-ups borrow key words from the previous question."""

from __future__ import annotations

import re
from collections.abc import Sequence

from crag.language import cjk, key_words
from crag.options import RunOptions
from crag.protocols import QUERY_LIMIT, Rewriter
from crag.stopping import Stop
from crag.types import Turn

KeyWord = tuple[str, tuple[str, ...]]  # as written, with its terms

_FEW_WORDS = 2
_BORROWED = 6
_KEYWORDS = 3
_POINTING = re.compile(
    r"\b(?:it|its|they|them|their|theirs|he|him|his|she|her|hers|this|that|these|those|there|former|latter|ones?|both)\b"
    r"|^(?:and|but|so|or|then|also|why|how so|how come|what about|how about)\b(?:\W*\w+){0,4}\W*$"
    r"|그것|그거|그건|그게|이것|이거|이건|이게|거기|여기|그는|그녀|그들|그의|그럼|그러면|그리고|(?:^|\s)[그이저]\s"
    r"|它|(?<![吉其])他|她|其(?![他她它實实餘余])|這|这|那",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"^(?:(?:hi|hello|hey|ok|okay|so|well|thanks|please)\b[\s,.!]*)*"
    r"(?:(?:can|could|would|will) you (?:please )?(?:tell|explain to|show|give) me\s+"
    r"|(?:please )?tell me\s+(?:about\s+)?|i(?: would|'d)? (?:like|want) to know\s+|do you know\s+|i wonder\s+)?"
    r"(?:if you know\s+)?"
    r"|[\s,]*(?:please|thanks|thank you)[\s.!?]*$"
    r"|^(?:[你您]好[，,！!\s]*)?(?:[请請][问問]|(?:[请請]|能不能|可以)?告[诉訴]我|我想知道)[，,\s]*"
    r"|[，,\s]*(?:[谢謝]{2})[。！!\s]*$"
    r"|^(?:안녕하세요[\s,.!]*)?혹시\s+|^안녕하세요[\s,.!]*"
    r"|\s*(?:알려 ?줘|알려 ?주세요|말해 ?줘|설명해 ?줘|설명해 ?주세요)[.!?\s]*$",
    re.IGNORECASE,
)


class BuiltinRewriter(Rewriter):
    """Rule-based `Rewriter` that uses the questions alone and keeps their language."""

    def condense(self, question: str, history: Sequence[Turn], stop: Stop) -> str:
        """Append key words of earlier questions if the question refers back or has too few of its own."""
        stop.check()
        asked = key_words(question)
        own = {part for _, parts in asked for part in parts}
        stands = _says_enough(asked) and not _POINTING.search(question)
        if stands or len(question) >= QUERY_LIMIT:
            return question
        borrowed = [word for word, parts in _earlier(history) if not own.issuperset(parts)][:_BORROWED]
        return _fit(f"{question} ({' '.join(borrowed)})") if borrowed else question

    def rewrite(self, question: str, options: RunOptions, stop: Stop) -> str:
        """Return a web query: the question unchanged, without filler, or its three strongest key words."""
        stop.check()
        if options.rewrite == "none":
            return _fit(question)
        cleaned = " ".join(_FILLER.sub("", question).split()) or question
        if options.rewrite == "question":
            return _fit(cleaned)
        return _fit(" ".join(strongest_words(cleaned)) or cleaned)


def _says_enough(found: Sequence[KeyWord]) -> bool:
    """Return whether a question has two key words; in Chinese, two characters count as a word."""
    return sum(-(-len(word) // 2) if cjk(word) else 1 for word, _ in found) >= _FEW_WORDS


def _earlier(history: Sequence[Turn]) -> list[KeyWord]:
    """Return the key words of the last question that had enough, and of the ones after it."""
    found: list[KeyWord] = []
    for turn in reversed(history):
        if turn.role == "user":
            found = key_words(turn.text) + found
            if _says_enough(found):
                break
    unique = {parts: word for word, parts in found}
    return [(word, parts) for parts, word in unique.items()]


def strongest_words(question: str) -> list[str]:
    """Return the three strongest key words in question order: names and numbers first, then long words.

    Multi-word names are kept whole.
    """
    phrases = re.findall(r"[A-Z][\w’'-]*(?: (?:of |the )?[A-Z][\w’'-]*)+", question.partition(" ")[2])
    rest = question
    for phrase in phrases:
        rest = rest.replace(phrase, " ")
    candidates = phrases + [word for word, _ in key_words(rest)]
    unique = list(dict.fromkeys(candidates))
    strongest = sorted(unique, key=lambda word: (not (word[0].isupper() or word[0].isdigit()), -len(word)))[:_KEYWORDS]
    return sorted(strongest, key=question.find)


def _fit(text: str) -> str:
    """Cut to `QUERY_LIMIT` characters, between words if possible."""
    if len(text) <= QUERY_LIMIT:
        return text
    return text[:QUERY_LIMIT].rsplit(" ", 1)[0]
