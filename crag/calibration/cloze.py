"""Cloze questions made from a sentence by rules: one piece is asked for, and some of the rest is substituted.

Complete sentences are easier to match than real questions, which are shorter and use other words than the text. So a
question keeps only a few pieces next to the answer, and some of them are replaced by pieces that the passage lacks.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Literal

from crag.language import sentences, terms
from crag.prompts.language import Language, detect

Wanted = Literal["time", "number", "name", "thing"]

LEAST_TERMS = 5
_KEPT: dict[Language, tuple[int, int]] = {"en": (4, 8), "ko": (4, 8), "zh": (5, 11)}  # pieces, as in real questions
_TOLD_OTHERWISE: dict[Language, float] = {"en": 0.22, "ko": 0.22, "zh": 0.09}  # see docs/measurements.md
_MARKS = " ,.;:!?()[]{}\"'“”‘’«»「」『』《》。，、；：！？（）"
_YEAR = re.compile(r"(?:1\d|20)\d\d年?$|.*\d년")
_NUMBER = re.compile(r"[\d,.]*\d")
_NAME = re.compile(r"[A-Z][\w’'-]+$")
_CLAUSE = re.compile(r"[，、；：,;:（）()「」『』《》“”]")
_ASK: dict[Language, dict[Wanted, str]] = {
    "en": {"time": "When {}?", "number": "How many {}?", "name": "Who or what {}?", "thing": "What {}?"},
    "ko": {"time": "{} 언제인가?", "number": "{} 몇인가?", "name": "{} 누구인가?", "thing": "{} 무엇인가?"},
    "zh": {"time": "{}是哪一年？", "number": "{}有多少？", "name": "{}是何人？", "thing": "{}是何？"},
}  # fmt: skip


def pieces(sentence: str, language: Language) -> list[str]:
    """Split a sentence into the pieces of questions: words as written, in Chinese character pairs within a clause."""
    if language != "zh":
        return [piece for raw in sentence.split() if (piece := raw.strip(_MARKS))]
    clauses = [clause.strip() for clause in _CLAUSE.split(sentence.strip(_MARKS))]
    return [clause[at : at + 2] for clause in clauses for at in range(0, len(clause), 2)]


def telling_sentences(text: str) -> list[str]:
    """Return the sentences with enough content for a question."""
    return [sentence for sentence in sentences(text) if LEAST_TERMS <= len(set(terms(sentence))) <= 60]


def make_question(
    sentence: str, strange: Sequence[str], chance: random.Random, swapped: Sequence[str] = ()
) -> str | None:
    """Make a question that the sentence answers, with some `strange` pieces; None if it says too little.

    With `swapped` pieces of another text, one replaces a piece of its kind, so that nothing answers the question.
    """
    language = detect(sentence)
    parts = pieces(sentence, language)
    carrying = [at for at, part in enumerate(parts) if terms(part)]
    if len(carrying) < LEAST_TERMS:
        return None
    asked = _choose_answer(parts, carrying, chance)
    kept = _around(asked, carrying, chance.randint(*_KEPT[language]))
    told = {at: parts[at] for at in range(kept[0], kept[-1] + 1) if at != asked}
    for at in sorted(told.keys() & set(carrying)):
        if strange and _wanted(told[at]) == "thing" and chance.random() < _TOLD_OTHERWISE[language]:
            told[at] = chance.choice(strange)
    if swapped and not _swap(told, [at for at in kept if at != asked], swapped, chance):
        return None
    text = ("" if language == "zh" else " ").join(told.values())
    return _ASK[language][_wanted(parts[asked])].format(text)


def _choose_answer(parts: Sequence[str], carrying: Sequence[int], chance: random.Random) -> int:
    """Choose the place of the piece to ask for; like real questions, it prefers years, numbers and names."""
    facts = [at for at in carrying if at and _wanted(parts[at]) != "thing"]
    return chance.choice(facts or carrying)


def _wanted(piece: str) -> Wanted:
    if _YEAR.match(piece):
        return "time"
    if _NUMBER.match(piece):
        return "number"
    return "name" if _NAME.match(piece) else "thing"


def _around(asked: int, carrying: Sequence[int], count: int) -> list[int]:
    """Return the places of the piece asked for and of the `count` meaningful pieces nearest to it."""
    nearest = sorted(carrying, key=lambda at: (abs(at - asked), at))
    return sorted(nearest[: count + 1])


def _swap(told: dict[int, str], places: Sequence[int], swapped: Sequence[str], chance: random.Random) -> bool:
    """Replace a name or number, otherwise another word, by one of its kind; return whether there was one."""
    by_kind = {at: [piece for piece in swapped if _wanted(piece) == _wanted(told[at])] for at in places}
    usable = [at for at in places if by_kind[at]]
    facts = [at for at in usable if _wanted(told[at]) != "thing"]
    if not usable:
        return False
    at = chance.choice(facts or usable)
    told[at] = chance.choice(by_kind[at])
    return True
