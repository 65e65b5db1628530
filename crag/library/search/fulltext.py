"""Full-text search, and how rare terms are. Queries are made of cut terms only, never of raw text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, text

from crag.database import Database
from crag.language import terms
from crag.library.search.frequencies import Frequencies
from crag.library.search.postings import Postings
from crag.library.search.terms import PassageTerms, fold_accents, index_terms

if TYPE_CHECKING:
    from crag.library.index.idset import IdSet

_MOST_TERMS = 64
_TERMS = text("SELECT rowid, terms FROM passage_terms WHERE rowid IN :ids").bindparams(bindparam("ids", expanding=True))


class FullText:
    """The full-text index of all passages. Safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._frequencies = Frequencies(database)
        self._postings = Postings(database)

    def search(self, query: str, limit: int, allowed: IdSet | None = None) -> list[int]:
        """Ids of at most `limit` passages that hold a term of the query, likeliest first; of `allowed` ones only."""
        wanted = list(dict.fromkeys(terms(fold_accents(query))))[:_MOST_TERMS]
        return self._postings.search(self._frequencies.read(wanted), limit, allowed)

    def read_terms(self, ids: Sequence[int]) -> dict[int, PassageTerms]:
        """The terms of these passages by id; at most a few hundred at a time."""
        with self._database.read() as connection:
            rows = connection.execute(_TERMS, {"ids": list(ids)})
            return {row.rowid: PassageTerms.from_row(row.terms) for row in rows}

    def idf(self, wanted: Sequence[str]) -> dict[str, float]:
        """The weight of each term in this library (`inverse_frequency`)."""
        indexed = {term: _as_indexed(term) for term in wanted}
        counted = self._frequencies.read(list(indexed.values()))
        return {term: counted.weigh(as_indexed) for term, as_indexed in indexed.items()}


def _as_indexed(term: str) -> str:
    """The form a term of unfolded text has in the index: words that lose an accent are stemmed as English ones are."""
    folded = fold_accents(term)
    return index_terms(folded) or folded if folded.isascii() and not term.isascii() else folded
