"""Names and figures of a question that no passage mentions: the passages are about a neighbour of what is asked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from crag.protocols import Quotation
from crag.text.coverage import find_gaps
from crag.text.questions import AnalyzedQuestion

_MIN_DIGITS = 3  # smaller numbers may be written in words
_MIN_LETTERS = 5  # shorter names may be abbreviations
_MIN_SIMILARITY = 70  # rapidfuzz ratio of 100: the name may be misspelled, or have other accents


def find_unmentioned_names(question: AnalyzedQuestion, passages: Sequence[Quotation]) -> tuple[str, ...]:
    """Return the names and figures that certainly occur in none of the passages, not even in another spelling.

    Korean and Chinese names are not recognized, only figures and names in Latin letters.
    """
    missing = [frozenset(find_gaps(question, passage, None).names) for passage in passages]
    if not missing or not (absent := frozenset.intersection(*missing)):
        return ()
    words = {word for passage in passages for word in _find_words(f"{passage.context} {passage.text}")}
    return tuple(name for name in sorted(absent, key=question.text.find) if not _may_occur(name, words))


def _find_words(text: str) -> Iterable[str]:
    return (re.sub(r"[.,·]", "", word) for word in re.findall(r"\w[\w.,·-]*", text.casefold()))


def _may_occur(name: str, words: Iterable[str]) -> bool:
    """Return whether a name may occur among the words in another form, or is too short to tell."""
    from rapidfuzz import fuzz

    if digits := re.sub(r"\D", "", name):
        return len(digits) < _MIN_DIGITS or any(digits in word for word in words)
    if len(name) < _MIN_LETTERS or name.isupper():  # an acronym may be spelt out
        return True
    low = name.casefold()
    return any(fuzz.ratio(low, word) >= _MIN_SIMILARITY or word.startswith(low) for word in words)
