"""Spelling: words of a question that no document contains, each with the word of the documents that is meant.

Names, numbers and identifiers are never corrected: one that the documents do not mention is not another that they do.
Korean questions stay unchanged. Chinese questions are converted to the characters of the documents, traditional or
simplified.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from sqlalchemy import column, select, text

from crag.retrieval.full_text import FullTextIndex, fold_accents
from crag.storage.engine import Database, store_of
from crag.storage.tables import passages
from crag.text.chinese_scripts import match_script
from crag.text.language import detect_language, extract_terms, find_tokens
from crag.text.questions import FRAME_TERMS, select_known
from crag.text.spelling import correct_question_word, find_words, is_certain

if TYPE_CHECKING:
    from crag.retrieval.index_layers import IdSet

_MIN_LENGTH = 4
_MIN_LENGTH_OF_MISSPELLED = 6  # in a shorter word only letters that are swapped or doubled are corrected
_MIN_LENGTH_OF_TWICE_MISSPELLED = 8
_MAX_NEAR_TERMS = 8
_VERB_ENDINGS = ("s", "ed")
_READ_PASSAGES = 20
_SELECT_NEAR_TERMS = text(
    "SELECT term, doc FROM passage_vocabulary WHERE term >= :first AND term < :behind"
    " AND length(term) BETWEEN :least AND :most"
)


class SpellingCorrector:
    """Corrects questions by the words of the library. Safe to share between threads."""

    def __init__(self, database: Database, full_text: FullTextIndex, count_tokens: Callable[[str], int]) -> None:
        """Recognize common words and names by `count_tokens`: a common word is a single token."""
        self._database = database
        self._full_text = full_text
        self._count_tokens = count_tokens

    def find_corrections(self, question: str, allowed: IdSet | None = None) -> dict[str, str]:
        """Return the misspelled words of a question, as written, with the words of `allowed` passages that are meant.

        None allows every passage. Which script of Chinese the documents use is asked of all of them.
        """
        language = detect_language(question)
        if language == "ko":
            return {}
        known = partial(select_known, self._full_text)
        found = {
            word: match_script(word, known) if language == "zh" else self._correct(word, allowed)
            for word in find_words(question)
        }
        return {word: right for word, right in found.items() if right not in ("", word)}

    def _correct(self, word: str, allowed: IdSet | None) -> str:
        terms = extract_terms(fold_accents(word))
        if len(terms) != 1 or not FRAME_TERMS.isdisjoint(terms) or self._full_text.contains(terms[0], allowed):
            return ""
        if asked := correct_question_word(word):
            return asked
        if not word.islower() or len(word) < _MIN_LENGTH or self._count_tokens(word) == 1:
            return ""
        slips = 2 if len(word) >= _MIN_LENGTH_OF_TWICE_MISSPELLED else 1
        meant = (self._find_ordinary_word(term, word, slips, allowed) for term in self._find_near_terms(word, slips))
        return next(filter(None, meant), "")

    def _find_near_terms(self, word: str, slips: int) -> list[str]:
        """Return the terms of the library that a word begins with, apart from a few slips, the likeliest first.

        A slip may change more of the term than of the word: that of *vacation* is *vacat*, that of *vacaton* itself.
        """
        span = {"first": word[0], "behind": chr(ord(word[0]) + 1), "least": len(word) // 2, "most": len(word) + slips}
        with self._database.read() as connection:
            rows = connection.execute(_SELECT_NEAR_TERMS, span).all()
        near = sorted((_distance_to_stem(word, row.term), -row.doc, row.term) for row in rows)
        likely = [found for distance, _, found in near if distance <= min(slips, len(found) // 3)]
        return likely[:_MAX_NEAR_TERMS]

    def _find_ordinary_word(self, term: str, word: str, slips: int, allowed: IdSet | None) -> str:
        """Return the word indexed by a term that may be meant; empty if there is none or it only names something."""
        texts = self._read_texts(term, allowed)
        pairs = {pair for text in texts for pair in pairwise([*_read_words(text), ""]) if pair[0][0].lower() == term[0]}
        likely = {
            found
            for said, after in pairs
            if _may_stand_for(word, found := said.lower(), slips)
            and extract_terms(fold_accents(said)) == [term]
            and self._is_ordinary(said, after)
        }
        return min(sorted(likely), key=lambda found: _distance(word, found), default="")

    def _read_texts(self, term: str, allowed: IdSet | None) -> Sequence[str]:
        """Return the texts of some passages that contain a term."""
        with self._database.read() as connection:
            if allowed is not None:
                ids = self._full_text.find(term, _READ_PASSAGES, allowed)
                return connection.scalars(select(passages.c.text).where(passages.c.id.in_(ids))).all()
            holding = store_of(connection).passages_with_term.columns(column("id")).subquery()
            query = select(passages.c.text).where(passages.c.id.in_(select(holding.c.id)))
            return connection.scalars(query, {"term": term, "limit": _READ_PASSAGES}).all()

    def _is_ordinary(self, word: str, after: str) -> bool:
        """Return whether a word is not a name: it is or could as well be in lower case, as in "Parental leave …"."""
        if word.islower():
            return True
        small, capital = self._count_tokens(word.lower()), self._count_tokens(word.capitalize())
        is_before_noun = bool(after.islower() and extract_terms(after)) and not after.endswith(_VERB_ENDINGS)
        return small < capital or (small == capital and is_before_noun)


def _read_words(text: str) -> list[str]:
    return [token for _, token in find_tokens(text)]


def _may_stand_for(word: str, other: str, slips: int) -> bool:
    """Return whether a word may be a misspelling of another; not if only the endings differ: *economic*, *economy*."""
    distance = _distance(word, other)
    if word[0] != other[0] or distance > slips:
        return False
    is_long = min(len(word), len(other)) >= _MIN_LENGTH_OF_MISSPELLED
    has_ending = word[-distance:] == other[-distance:]
    return sorted(word) == sorted(other) or (has_ending and (is_long or is_certain(word, other)))


def _distance(word: str, other: str) -> int:
    """Return the number of letters added, left out, changed or swapped; 3 for more."""
    from rapidfuzz.distance import OSA

    return int(OSA.distance(word, other, score_cutoff=2))


def _distance_to_stem(word: str, stem: str) -> int:
    """Return the distance of the beginning of a word to a stem, which may be a letter longer or shorter."""
    return min(_distance(word[: len(stem) + more], stem) for more in (-1, 0, 1))
