"""Full-text search and inverse document frequencies.

Queries are built from extracted terms only, never from raw text.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, text

from crag.database import Database
from crag.language import terms
from crag.library.search.frequencies import Frequencies
from crag.library.search.postings import Postings
from crag.word_cache import WordCache

if TYPE_CHECKING:
    from crag.library.index.idset import IdSet

_MOST_TERMS = 64
_BORDER = "\n"  # between heading terms and own terms; plain whitespace to the tokenizer
_TERMS = text("SELECT rowid, terms FROM passage_terms WHERE rowid IN :ids").bindparams(bindparam("ids", expanding=True))


@dataclass(frozen=True, slots=True)
class PassageTerms:
    """The terms of a passage in order: those of the title and heading above it, and those of its own text."""

    above: Sequence[str]
    text: Sequence[str]

    def __len__(self) -> int:
        return len(self.above) + len(self.text)

    @classmethod
    def from_row(cls, row: str) -> PassageTerms:
        """Parse a row written by `encode_passage_terms`."""
        above, _, text = row.rpartition(_BORDER)
        return cls(above.split(), text.split())


def passage_terms(above: str, body: str) -> str:
    """Return the terms of a passage as the full-text index stores them, those of title and heading first."""
    return f"{index_terms(above)}{_BORDER}{index_terms(body)}"


def index_terms(body: str) -> str:
    """Return the index terms of a text, separated by single spaces."""
    return " ".join(filter(None, map(_terms_of_words.__getitem__, body.split())))


def fold_accents(body: str) -> str:
    """Strip Latin accents and normalize letters and digits, so that *café* matches *cafe*."""
    if body.isascii():
        return body
    apart = unicodedata.normalize("NFKD", body)
    return unicodedata.normalize("NFC", "".join(sign for sign in apart if not "\u0300" <= sign <= "\u036f"))


_terms_of_words = WordCache(lambda word: " ".join(terms(fold_accents(word))))  # no term spans whitespace


class FullText:
    """Full-text index of all passages. Safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._frequencies = Frequencies(database)
        self._postings = Postings(database)

    def search(self, query: str, limit: int, allowed: IdSet | None = None) -> list[int]:
        """Return the ids of at most `limit` passages that contain a query term, best first, restricted to `allowed`."""
        wanted = list(dict.fromkeys(terms(fold_accents(query))))[:_MOST_TERMS]
        return self._postings.search(self._frequencies.read(wanted), limit, allowed)

    def read_terms(self, ids: Sequence[int]) -> dict[int, PassageTerms]:
        """Return the terms of these passages by id; pass at most a few hundred ids."""
        with self._database.read() as connection:
            rows = connection.execute(_TERMS, {"ids": list(ids)})
            return {row.rowid: PassageTerms.from_row(row.terms) for row in rows}

    def idf(self, wanted: Sequence[str]) -> dict[str, float]:
        """Return the inverse document frequency of each term in this library."""
        indexed = {term: _as_indexed(term) for term in wanted}
        counted = self._frequencies.read(list(indexed.values()))
        return {term: counted.weigh(as_indexed) for term, as_indexed in indexed.items()}


def _as_indexed(term: str) -> str:
    """Return the index form of a term of unfolded text: words that lose an accent are stemmed like English ones."""
    folded = fold_accents(term)
    return index_terms(folded) or folded if folded.isascii() and not term.isascii() else folded
