"""Posting lists: candidates from the rarest terms of a query."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from sqlalchemy import text

from crag.database import Database
from crag.library.search.frequencies import Counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from crag.library.index.idset import IdSet
    from crag.library.passages import Ids

    Posting = tuple[Ids, NDArray[np.float32]]
    Scores = NDArray[np.float32]

# This many postings are read in about ten milliseconds. The most common terms of a long question were measured
# to change almost nothing.
_MOST_POSTINGS = 80_000
_LEAST_TERMS = 2
_SATURATION = 1.2  # the usual value of BM25
_REMEMBERED = 128  # terms; at a million passages some 50 MB
_OCCURRENCES = text("SELECT group_concat(doc) FROM passage_occurrences WHERE term = :term")


class Postings:
    """Posting lists of all terms: candidates from the rarest terms of a query. Safe to share between threads.

    Used because FTS5 would score too many passages in a large library. Scores follow BM25 without length normalization,
    which the ranking applies later.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._remembered = lru_cache(maxsize=_REMEMBERED)(self._read)

    def search(self, counted: Counted, limit: int, allowed: IdSet | None) -> list[int]:
        """Return the ids of at most `limit` passages that contain one of the counted terms, best first."""
        import numpy as np

        scores = self._score(counted, limit, allowed)
        near = np.flatnonzero(scores)
        if len(near) > limit:
            near = near[np.argpartition(-scores[near], limit)[:limit]]
        return [int(id_) for id_ in near[np.argsort(-scores[near], kind="stable")]]

    def _score(self, counted: Counted, limit: int, allowed: IdSet | None) -> Scores:
        """Return a score per id, adding the rarest terms first, until enough postings and passages were read."""
        import numpy as np

        scores = np.zeros(counted.last_id + 1, dtype=np.float32)
        read = 0
        held = [term for term, count in counted.by_term.items() if count]
        for number, term in enumerate(sorted(held, key=counted.by_term.__getitem__)):
            read += counted.by_term[term]
            if number >= _LEAST_TERMS and read > _MOST_POSTINGS and np.count_nonzero(scores) >= limit:
                break
            ids, said = self._remembered(counted.epoch, term)
            inside = ids <= counted.last_id
            if allowed is not None:
                inside &= allowed.contains(ids)
            scores[ids[inside]] += counted.weigh(term) * said[inside]
        return scores

    def _read(self, _epoch: int, term: str) -> Posting:
        """Return the passages that contain a term, by id, and the saturated term frequency of each in 0..1."""
        import numpy as np

        with self._database.read() as connection:
            occurrences = connection.scalar(_OCCURRENCES, {"term": term}) or ""
        every = np.fromstring(
            occurrences, dtype=np.int64, sep=","
        )  # sorted, each passage once per occurrence of the term
        ids, counts = np.unique(every, return_counts=True)
        return ids.astype(np.int32), (counts / (counts + _SATURATION)).astype(np.float32)
