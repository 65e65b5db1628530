"""Full-text search: FTS5 terms, posting lists, document frequencies, and highlighting of query terms.

Queries are built from extracted terms only, never from raw text.
"""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from sqlalchemy import Connection, bindparam, func, select, text

from crag.concurrency.caches import BoundedCache
from crag.retrieval.embedding_batches import passage_text
from crag.storage.engine import Database, store_of
from crag.storage.sources import read_epoch, replace_terms
from crag.storage.tables import passage_terms, passages
from crag.text.language import extract_terms, find_tokens
from crag.text.relevance_scores import inverse_document_frequency
from crag.text.word_forms import index_other_forms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from crag.retrieval.index_layers import IdSet
    from crag.storage.passages import Ids

    PostingList = tuple[Ids, NDArray[np.float32]]
    ScoreArray = NDArray[np.float32]


_SELECT_FREQUENCIES = text("SELECT term, doc FROM passage_vocabulary WHERE term IN :terms").bindparams(
    bindparam("terms", expanding=True)
)


@dataclass(frozen=True, slots=True)
class DocumentFrequencies:
    """Document frequencies of terms at one epoch, with the number of passages and the highest passage id."""

    epoch: int
    passages: int
    last_id: int
    by_term: Mapping[str, int]

    def weigh(self, term: str) -> float:
        """Return the term's inverse document frequency; a term that never occurs gets the maximum."""
        return inverse_document_frequency(self.by_term[term], self.passages)


class DocumentFrequencyCache:
    """Document frequencies from the full-text index, cached per epoch. Safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._known = DocumentFrequencies(-1, 0, 0, {})

    def read(self, wanted: Sequence[str]) -> DocumentFrequencies:
        """Return the frequencies of these terms at the current epoch."""
        with self._lock, self._database.snapshot() as connection:
            epoch = read_epoch(connection)
            if epoch != self._known.epoch:
                size = connection.execute(select(func.count(), func.max(passages.c.id)).select_from(passages)).one()
                self._known = DocumentFrequencies(epoch, size[0], size[1] or 0, {})
            known = dict(self._known.by_term)
            if new := [term for term in wanted if term not in known]:
                known |= dict.fromkeys(new, 0)
                known |= {row.term: row.doc for row in connection.execute(_SELECT_FREQUENCIES, {"terms": new})}
                self._known = replace(self._known, by_term=known)
        return replace(self._known, by_term={term: known[term] for term in wanted})


# This many postings are read in about ten milliseconds. The most common terms of a long question were measured
# to change almost nothing.
_MAX_POSTINGS = 80_000
_MIN_TERMS = 2
BM25_SATURATION = 1.2  # the usual value of BM25
_CACHED_POSTING_LISTS = 128  # terms; at a million passages some 50 MB


class PostingLists:
    """Posting lists of all terms: candidates from the rarest terms of a query. Safe to share between threads.

    Used because FTS5 would score too many passages in a large library. Scores follow BM25 without length normalization,
    which the ranking applies later.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._remembered = lru_cache(maxsize=_CACHED_POSTING_LISTS)(self._read)

    def search(self, counted: DocumentFrequencies, limit: int, allowed: IdSet | None) -> list[int]:
        """Return the ids of at most `limit` passages that contain one of the counted terms, best first."""
        import numpy as np

        scores = self._score(counted, limit, allowed)
        near = np.flatnonzero(scores)
        if len(near) > limit:  # of equal scores the lowest ids, whatever order the processor partitions in
            least = np.partition(scores[near], -limit)[-limit]
            above, equal = near[scores[near] > least], near[scores[near] == least]
            near = np.concatenate([above, equal[: limit - len(above)]])
        return [int(id_) for id_ in near[np.argsort(-scores[near], kind="stable")]]

    def _score(self, counted: DocumentFrequencies, limit: int, allowed: IdSet | None) -> ScoreArray:
        """Return a score per id, adding the rarest terms first, until enough postings and passages were read."""
        import numpy as np

        scores = np.zeros(counted.last_id + 1, dtype=np.float32)
        read = 0
        held = [term for term, count in counted.by_term.items() if count]
        for number, term in enumerate(sorted(held, key=counted.by_term.__getitem__)):
            read += counted.by_term[term]
            if number >= _MIN_TERMS and read > _MAX_POSTINGS and np.count_nonzero(scores) >= limit:
                break
            ids, weights = self._remembered(counted.epoch, term)
            inside = ids <= counted.last_id
            if allowed is not None:
                inside &= allowed.contains(ids)
            scores[ids[inside]] += counted.weigh(term) * weights[inside]
        return scores

    def _read(self, _epoch: int, term: str) -> PostingList:
        """Return the passages that contain a term, by id, and the saturated term frequency of each in 0..1."""
        import numpy as np

        with self._database.read() as connection:
            occurrences = connection.scalar(store_of(connection).term_occurrences, {"term": term}) or ""
        every = np.fromstring(
            occurrences, dtype=np.int64, sep=","
        )  # sorted, each passage once per occurrence of the term
        ids, counts = np.unique(every, return_counts=True)
        return ids.astype(np.int32), (counts / (counts + BM25_SATURATION)).astype(np.float32)


_MAX_QUERY_TERMS = 64
_HEADING_BORDER = "\n"  # between heading terms and own terms; plain whitespace to the tokenizer
_SELECT_TERMS = text("SELECT rowid, terms FROM passage_terms WHERE rowid IN :ids").bindparams(
    bindparam("ids", expanding=True)
)


@dataclass(frozen=True, slots=True)
class PassageTerms:
    """The terms of a passage in order: those of the title and heading above it, and those of its own text."""

    above: Sequence[str]
    text: Sequence[str]

    def __len__(self) -> int:
        return len(self.above) + len(self.text)

    def replace_forms(self, forms: Mapping[str, str]) -> PassageTerms:
        """Return the terms with each key of `forms` replaced by its value."""
        if not forms:
            return self
        return PassageTerms(*([forms.get(term, term) for term in part] for part in (self.above, self.text)))

    @classmethod
    def from_row(cls, row: str) -> PassageTerms:
        """Parse a row written by `encode_passage_terms`."""
        above, _, text = row.rpartition(_HEADING_BORDER)
        return cls(above.split(), text.split())


def encode_passage_terms(title: str, heading: str, body: str) -> str:
    """Return the terms of a passage as the full-text index stores them, those of title and heading first."""
    return f"{_terms_above(title, heading, body)}{_HEADING_BORDER}{index_terms(body)}"


def _terms_above(title: str, heading: str, body: str) -> str:
    return index_terms(passage_text(title, passage_text(heading, body)).removesuffix(body))


def index_title(connection: Connection, source_id: str, title: str) -> None:
    """Rewrite the terms of the passages of a document for another title."""
    terms = select(passages.c.id, passages.c.heading, passages.c.text, passage_terms.c.terms)
    own = terms.join(passage_terms, passage_terms.c.rowid == passages.c.id).where(passages.c.source_id == source_id)
    rows = [
        (
            row.id,
            f"{_terms_above(title, row.heading, row.text)}{_HEADING_BORDER}{row.terms.rpartition(_HEADING_BORDER)[2]}",
        )
        for row in connection.execute(own)
    ]
    replace_terms(connection, source_id, rows)


def index_terms(body: str) -> str:
    """Return the index terms of a text, separated by single spaces."""
    return " ".join(filter(None, map(_word_terms.__getitem__, body.split())))


def fold_accents(body: str) -> str:
    """Strip Latin accents and normalize letters and digits, so that *café* matches *cafe*."""
    if body.isascii():
        return body
    apart = unicodedata.normalize("NFKD", body)
    return unicodedata.normalize("NFC", "".join(sign for sign in apart if not "\u0300" <= sign <= "\u036f"))


_word_terms = BoundedCache(lambda word: " ".join(extract_terms(fold_accents(word))))  # no term spans whitespace


class FullTextIndex:
    """Full-text index of all passages. Safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._frequencies = DocumentFrequencyCache(database)
        self._postings = PostingLists(database)

    def search(self, query: str, limit: int, allowed: IdSet | None = None) -> list[int]:
        """Return the ids of at most `limit` passages that contain a query term, best first, restricted to `allowed`.

        Other forms and synonyms of a term are searched for as well.
        """
        asked = list(dict.fromkeys(extract_terms(fold_accents(query))))[:_MAX_QUERY_TERMS]
        wanted = list(dict.fromkeys([*asked, *index_other_forms(asked)]))
        return self._postings.search(self._frequencies.read(wanted), limit, allowed)

    def contains(self, term: str, allowed: IdSet | None = None) -> bool:
        """Return whether any passage contains this term, of those `allowed`."""
        if allowed is not None:
            return bool(self.find(term, 1, allowed))
        return self._frequencies.read([term]).by_term[term] > 0

    def find(self, term: str, limit: int, allowed: IdSet) -> list[int]:
        """Return the ids of at most `limit` allowed passages that contain a term."""
        return self._postings.search(self._frequencies.read([term]), limit, allowed)

    def read_terms(self, ids: Sequence[int]) -> dict[int, PassageTerms]:
        """Return the terms of these passages by id; pass at most a few hundred ids."""
        with self._database.read() as connection:
            rows = connection.execute(_SELECT_TERMS, {"ids": list(ids)})
            return {row.rowid: PassageTerms.from_row(row.terms) for row in rows}

    def idf(self, wanted: Sequence[str]) -> dict[str, float]:
        """Return the inverse document frequency of each term in this library."""
        indexed = {term: _to_indexed_form(term) for term in wanted}
        counted = self._frequencies.read(list(indexed.values()))
        return {term: counted.weigh(as_indexed) for term, as_indexed in indexed.items()}


def _to_indexed_form(term: str) -> str:
    """Return the index form of a term of unfolded text: words that lose an accent are stemmed like English ones."""
    folded = fold_accents(term)
    return index_terms(folded) or folded if folded.isascii() and not term.isascii() else folded


def find_term_spans(text: str, wanted: Collection[str]) -> list[tuple[int, int]]:
    """Return the spans (start, end) of text indexed by any term in `wanted`, in order, adjacent ones merged."""
    places: list[tuple[int, int]] = []
    for start, token in find_tokens(text):
        found = index_terms(token).split()
        if len(found) == 1 and found[0] in wanted:
            places.append((start, start + len(token)))
        elif len(found) > 1:  # Chinese or Korean, indexed by pairs of characters
            pairs = (at for at in range(len(token) - 1) if token[at : at + 2] in wanted)
            places.extend((start + at, start + at + 2) for at in pairs)
    return merge_intervals(places)


def merge_intervals(intervals: Iterable[tuple[int, int]], gap: int = 0) -> list[tuple[int, int]]:
    """Merge intervals that overlap, touch, or lie at most `gap` apart; they must be ordered by their start."""
    merged: list[tuple[int, int]] = []
    for start, end in intervals:
        if merged and start <= merged[-1][1] + gap:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
