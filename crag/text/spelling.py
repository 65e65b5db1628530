"""Misspelled words: which words of a question may be corrected, and which corrections are certain."""

from __future__ import annotations

import re
from collections.abc import Mapping

from crag.text.chinese_scripts import is_same_word
from crag.text.patterns import lazy_regex

_WORD = re.compile(  # no part of an identifier, address or compound; Chinese needs no space around it
    r"(?<![\w@./’'-])[^\W\d_]{3,}(?![\w@/’'-]|\.\w)|[\u4e00-\u9fff]{2,}"
)
_QUESTION_WORDS = ("what", "when", "where", "which", "whose", "who", "how", "much", "many")
_MIN_CERTAIN_LENGTH = 5
_LONG_ENDING = lazy_regex(  # of words with an ending of `_MAX_ENDING` letters
    r"(?:ions?|ments?|ness|[ai]bl[ey]?|ships?|hood|less|full?y?|ings?|[ae]n[ct][ey]?s?|ical?|is[mt]s?|it[yi]|i[vz]e?"
    r"|[aeo]r[sy]?|ate?d?)$"
)
_MIN_ROOT, _MAX_ENDING = 4, 4  # letters: *invent*, *invention*


def find_words(question: str) -> list[str]:
    """Return the words of a question that may be misspelled, as written and without duplicates."""
    return list(dict.fromkeys(_WORD.findall(question)))


def correct_words(question: str, corrections: Mapping[str, str]) -> str:
    """Return the question with each misspelled word replaced."""
    return _WORD.sub(lambda match: corrections.get(match[0], match[0]), question)


def correct_question_word(word: str) -> str:
    """Return the question word that is meant; empty if none or several may be."""
    found = [asked for asked in _QUESTION_WORDS if _is_misspelled_as(asked, word.lower())]
    right = found[0] if len(found) == 1 else ""
    return right.capitalize() if word[0].isupper() else right


def _is_misspelled_as(asked: str, word: str) -> bool:
    lacks_letter = any(word == asked[:at] + asked[at + 1 :] for at in range(1, len(asked) - 1))
    return lacks_letter or (word != asked and _has_swapped_letters(word, asked))


def is_certain(word: str, right: str) -> bool:
    """Return whether two words differ only by a slip of the pen, or by traditional and simplified characters.

    The slip is two swapped letters, or a letter doubled or not doubled, of which hardly ever another word results.
    """
    if right.lower() in _QUESTION_WORDS or is_same_word(word, right):
        return True
    is_doubled = word != right and _join_double_letters(word) == _join_double_letters(right)
    return min(len(word), len(right)) >= _MIN_CERTAIN_LENGTH and (is_doubled or _has_swapped_letters(word, right))


def _join_double_letters(word: str) -> str:
    return re.sub(r"(.)\1", r"\1", word)


def _has_swapped_letters(word: str, other: str) -> bool:
    """Return whether two neighbouring letters changed places."""
    from rapidfuzz.distance import OSA

    return sorted(word) == sorted(other) and OSA.distance(word, other, score_cutoff=1) <= 1


def shares_root(one: str, other: str) -> bool:
    """Return whether two terms differ only in their endings."""
    shared = min(len(one), len(other)) - 1
    if abs(len(one) - len(other)) == _MAX_ENDING and not _LONG_ENDING.search(max(one, other, key=len)):
        return False  # *land* and *landlord*
    return (
        shared >= _MIN_ROOT - 1
        and abs(len(one) - len(other)) <= _MAX_ENDING
        and one[: max(_MIN_ROOT, shared)] == other[: max(_MIN_ROOT, shared)]
    )
