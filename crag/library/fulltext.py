"""Full-text search with FTS5's BM25, and how rare terms are. Queries are made of cut terms only, never of raw text."""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from sqlalchemy import bindparam, func, select, text

from crag.database import Database
from crag.database.tables import passages
from crag.language import terms
from crag.library.rows import read_epoch
from crag.scoring import inverse_frequency

_MOST_TERMS = 64
_SEARCH_ALL = text("SELECT rowid FROM passage_terms WHERE passage_terms MATCH :query ORDER BY rank LIMIT :limit")
# CROSS JOIN keeps SQLite from walking the sources first and asking the full-text index once for each passage.
_SEARCH_WITHIN = text(
    "SELECT passage_terms.rowid FROM passage_terms"
    " CROSS JOIN passages ON passages.id = passage_terms.rowid CROSS JOIN sources ON sources.id = passages.source_id"
    " WHERE passage_terms MATCH :query AND (:collection = '' OR sources.collection = :collection)"
    " AND (:every_source OR sources.id IN :source_ids) ORDER BY rank LIMIT :limit"
).bindparams(bindparam("source_ids", expanding=True))
_FREQUENCIES = text("SELECT term, doc FROM passage_vocabulary WHERE term IN :terms").bindparams(
    bindparam("terms", expanding=True)
)
_TERMS = text("SELECT rowid, terms FROM passage_terms WHERE rowid IN :ids").bindparams(bindparam("ids", expanding=True))


def index_terms(body: str) -> str:
    """The terms of a text, as the full-text index keeps them: one space between two."""
    return " ".join(filter(None, map(_terms_of_word, body.split())))


@lru_cache(maxsize=50_000)
def _terms_of_word(word: str) -> str:
    """No term reaches over a blank, and most words of a text were seen before."""
    return " ".join(terms(fold(word)))


def fold(body: str) -> str:
    """The text without Latin accents and in the usual forms of letters and digits, so that *café* finds *cafe*."""
    if body.isascii():
        return body
    apart = unicodedata.normalize("NFKD", body)
    return unicodedata.normalize("NFC", "".join(sign for sign in apart if not "\u0300" <= sign <= "\u036f"))


class FullText:
    """The full-text index of all passages. Safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._epoch: int | None = None
        self._known: dict[str, float] = {}
        self._passages = 0

    def search(self, query: str, limit: int, collection: str = "", source_ids: Sequence[str] = ()) -> list[int]:
        """Ids of at most `limit` passages that hold any term of the query, best BM25 first."""
        wanted = list(dict.fromkeys(terms(fold(query))))[:_MOST_TERMS]
        if not wanted:
            return []
        values = {"query": " OR ".join('"' + term.replace('"', '""') + '"' for term in wanted), "limit": limit}
        statement = _SEARCH_ALL
        if collection or source_ids:
            statement = _SEARCH_WITHIN
            values |= {"collection": collection, "every_source": not source_ids, "source_ids": list(source_ids)}
        with self._database.read() as connection:
            return list(connection.scalars(statement, values))

    def read_terms(self, ids: Sequence[int]) -> dict[int, list[str]]:
        """The terms of these passages in order, those of the title first, by id; at most a few hundred at a time."""
        with self._database.read() as connection:
            return {row.rowid: row.terms.split(" ") for row in connection.execute(_TERMS, {"ids": list(ids)})}

    def idf(self, wanted: Sequence[str]) -> dict[str, float]:
        """The weight of each term in this library (`inverse_frequency`)."""
        with self._lock:
            self._learn(wanted)
            return {term: self._known[term] for term in wanted}

    def _learn(self, wanted: Sequence[str]) -> None:
        """Looks up what is not known of the present epoch."""
        with self._database.snapshot() as connection:
            epoch = read_epoch(connection)
            if epoch != self._epoch:
                self._passages = connection.scalar(select(func.count()).select_from(passages)) or 0
                self._epoch, self._known = epoch, {}
            new = {term: _as_indexed(term) for term in wanted if term not in self._known}
            if not new:
                return
            rows = connection.execute(_FREQUENCIES, {"terms": [*new.values()]}).all()
        frequencies = {row.term: row.doc for row in rows}
        for term, folded in new.items():
            self._known[term] = inverse_frequency(frequencies.get(folded, 0), self._passages)


def _as_indexed(term: str) -> str:
    """The form a term of unfolded text has in the index: words that lose an accent are stemmed as English ones are."""
    folded = fold(term)
    return index_terms(folded) or folded if folded.isascii() and not term.isascii() else folded
