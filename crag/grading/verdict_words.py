"""Verdict vocabulary: the words for yes, partly and no in three languages, and how verdicts are read from replies."""

from __future__ import annotations

import math
import re

from crag.protocols import FirstToken
from crag.replies import first_object, without_thoughts

_SCORES = {
    "yes": 1.0, "relevant": 1.0, "true": 1.0, "correct": 1.0, "예": 1.0, "네": 1.0, "是": 1.0, "是的": 1.0,
    "对": 1.0, "對": 1.0, "相关": 1.0, "相關": 1.0,
    "partly": 0.5, "partially": 0.5, "partial": 0.5, "ambiguous": 0.5, "일부": 0.5, "部分": 0.5,
    "no": 0.0, "irrelevant": 0.0, "not": 0.0, "false": 0.0, "incorrect": 0.0, "아니": 0.0, "아니요": 0.0, "아니오": 0.0,
    "否": 0.0, "不": 0.0, "不是": 0.0,
}  # fmt: skip
_YES = frozenset(word for word, score in _SCORES.items() if score == 1.0)
_NO = frozenset(word for word, score in _SCORES.items() if score == 0.0)
_KEYS = ("verdict", "score", "binary_score", "relevant", "relevance", "grade")
_AROUND = " \n\"'*.,!。"
# With less probability on yes and no together, the model was about to say something else.
_LEAST_MASS = 0.1


def yes_probability(first: FirstToken) -> float | None:
    """Return P(yes) / (P(yes) + P(no)) over all spellings in three languages; None if the token is neither.

    Falls back to the token's text if there are no probabilities.
    """
    yes, no = (_mass(first, words) for words in (_YES, _NO))
    return yes / (yes + no) if yes + no >= _LEAST_MASS else read_score(first.text)


def read_score(reply: str) -> float | None:
    """Return the verdict in a reply, in JSON or as its first word; None if there is none."""
    text = without_thoughts(reply)
    found = first_object(text)
    if found is None:
        return None if text.startswith(("[", "{")) else _word_score(text)
    return _word_score(str(next((found[key] for key in _KEYS if key in found), "")))


def _mass(first: FirstToken, words: frozenset[str]) -> float:
    return sum(math.exp(value) for token, value in first.alternatives.items() if _bare(token) in words)


def _bare(token: str) -> str:
    return token.strip(_AROUND).lower()


def _word_score(text: str) -> float | None:
    match = re.match(r"[\s\"'*`(]*([^\W\d_]+)", text)
    return _SCORES.get(match[1].lower()) if match else None
