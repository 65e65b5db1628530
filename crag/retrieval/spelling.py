"""Spelling: words of a question that no document contains, each with the word of the documents that is meant.

Names, numbers and identifiers are never corrected: one that the documents do not mention is not another that they do.
Chinese and Korean questions are left as they are.
"""

from __future__ import annotations

from sqlalchemy import text

from crag.retrieval.full_text import FullTextIndex, fold_accents
from crag.storage.engine import Database
from crag.text.language import detect_language, extract_terms, find_tokens
from crag.text.questions import FRAME_TERMS
from crag.text.spelling import correct_question_word, find_words

_MIN_LENGTH = 4
_MIN_LENGTH_OF_EDITED = 5  # a shorter word is only corrected where two letters changed places
_MIN_LENGTH_OF_TWICE_EDITED = 8
_READ_PASSAGES = 20
_SELECT_NEAR_TERMS = text(
    "SELECT term, doc FROM passage_vocabulary WHERE term >= :first AND term < :behind"
    " AND length(term) BETWEEN :least AND :most"
)
_SELECT_TEXTS = text(
    "SELECT text FROM passages WHERE id IN (SELECT rowid FROM passage_terms WHERE terms MATCH :term LIMIT :limit)"
)


class SpellingCorrector:
    """Corrects questions by the words of the library. Safe to share between threads."""

    def __init__(self, database: Database, full_text: FullTextIndex) -> None:
        self._database = database
        self._full_text = full_text

    def find_corrections(self, question: str) -> dict[str, str]:
        """Return the misspelled words of a question, as written, with the words that are meant."""
        if detect_language(question) != "en":
            return {}
        found = {word: self._correct(word) for word in find_words(question)}
        return {word: right for word, right in found.items() if right}

    def _correct(self, word: str) -> str:
        terms = extract_terms(fold_accents(word))
        if len(terms) != 1 or not FRAME_TERMS.isdisjoint(terms) or self._full_text.contains(terms[0]):
            return ""
        if asked := correct_question_word(word):
            return asked
        if not word.islower() or len(word) < _MIN_LENGTH:
            return ""
        near = self._find_near_terms(terms[0])
        return next((right for term in near if (right := self._find_lower_case_word(term, word))), "")

    def _find_near_terms(self, term: str) -> list[str]:
        """Return the terms of the library that a term may be a misspelling of, the likeliest first."""
        from rapidfuzz.distance import OSA

        edits = 2 if len(term) >= _MIN_LENGTH_OF_TWICE_EDITED else 1
        span = {
            "first": term[0],
            "behind": chr(ord(term[0]) + 1),
            "least": len(term) - edits,
            "most": len(term) + edits,
        }
        with self._database.read() as connection:
            rows = connection.execute(_SELECT_NEAR_TERMS, span).all()
        near = [
            (distance, -row.doc, row.term)
            for row in rows
            if (distance := OSA.distance(term, row.term, score_cutoff=edits)) <= edits
            and _may_stand_for(term, row.term)
        ]
        return [found for _, _, found in sorted(near)]

    def _find_lower_case_word(self, term: str, word: str) -> str:
        """Return the word indexed by a term that is nearest to the misspelled one; empty if it only names something."""
        from rapidfuzz.distance import OSA

        with self._database.read() as connection:
            texts = connection.scalars(_SELECT_TEXTS, {"term": f'"{term}"', "limit": _READ_PASSAGES}).all()
        words = sorted({token for text in texts for token in _find_words_of_term(text, term)})
        return min(words, key=lambda found: OSA.distance(word, found), default="")


def _find_words_of_term(text: str, term: str) -> list[str]:
    tokens = {token for _, token in find_tokens(text) if token.islower() and token[:1] == term[:1]}
    return [token for token in tokens if extract_terms(fold_accents(token)) == [term]]


def _may_stand_for(term: str, other: str) -> bool:
    """Return whether a term may be a misspelling of another; not if it only ends otherwise: *economic*, *economy*."""
    if sorted(term) == sorted(other):
        return True
    return len(term) >= _MIN_LENGTH_OF_EDITED and other.isalpha() and term[-1] == other[-1]
