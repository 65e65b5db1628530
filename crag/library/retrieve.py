"""Hybrid search: full text and vectors, fused by rank, joined back to the database."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from crag.library.answering import Answering
from crag.library.fulltext import FullText
from crag.library.passages import read_ids, read_passages
from crag.library.store import Store
from crag.types import Passage, Space

if TYPE_CHECKING:
    from crag.library.index import VectorIndex
    from crag.library.passages import Ids

# Measured on English, Korean and Chinese questions: the built-in vectors know less than the words themselves.
_VECTOR_WEIGHTS = {"builtin": 0.2}
_DAMPING = 10
_LEAST_DEPTH = 40
_INDEXES = 2  # one that answers, one that is about to


class Search:
    """Finds the nearest passages. The index of the space that answers is opened at the first search."""

    def __init__(self, store: Store, full_text: FullText, answering: Answering, folder: Path) -> None:
        self._store = store
        self._full_text = full_text
        self._answering = answering
        self._folder = folder
        self._allowed = lru_cache(maxsize=16)(self._read_allowed)
        self._lock = threading.Lock()
        self._indexes: dict[str, VectorIndex] = {}

    def open_index(self, space: Space) -> VectorIndex:
        """The vectors of a space; at most two spaces are held in memory, those that were asked for last."""
        from crag.library.index import VectorIndex

        with self._lock:
            index = self._indexes.pop(space.id, None) or VectorIndex(self._store.database, space, self._folder)
            self._indexes[space.id] = index
            while len(self._indexes) > _INDEXES:
                del self._indexes[next(iter(self._indexes))]
        return index

    def search(self, query: str, k: int, collection: str, source_ids: Sequence[str]) -> list[Passage]:
        """At most `k` passages, best first, scores in 0..1; by words alone while nothing can embed the query."""
        query = query.encode("utf-8", "replace").decode().replace("\x00", " ").strip()
        if not query or k < 1:
            return []
        depth = max(_LEAST_DEPTH, 4 * k)
        by_words = self._full_text.search(query, depth, collection, source_ids)
        weight, by_meaning = self._nearest(query, depth, collection, tuple(source_ids))
        scores = fuse(((1.0, by_words), (weight, by_meaning)))
        best = sorted(scores, key=lambda id_: (-scores[id_], id_))[: 2 * k]
        found = read_passages(self._store.database, best)
        return [replace(found[id_], score=scores[id_]) for id_ in best if id_ in found][:k]

    def warm(self, space: Space) -> None:
        """Reads the vectors of a space into memory now, so that the first search need not."""
        self.open_index(space).ids()

    def save(self) -> None:
        """Writes each index that was opened and has changed since it was last written."""
        with self._lock:
            opened = list(self._indexes.values())
        for index in opened:
            index.save()

    def _nearest(self, query: str, depth: int, collection: str, source_ids: tuple[str, ...]) -> tuple[float, list[int]]:
        """The weight of this ranking, and the passages nearest in meaning."""
        embedded = self._answering.embed_query(query)
        if embedded is None:
            return 0.0, []
        space, vector = embedded
        allowed = None
        if collection or source_ids:
            allowed = self._allowed(self._store.epoch(), collection, source_ids)
        weight = _VECTOR_WEIGHTS.get(space.provider, 1.0)
        return weight, self.open_index(space).search(vector, depth, allowed)

    def _read_allowed(self, _epoch: int, collection: str, source_ids: tuple[str, ...]) -> Ids:
        return read_ids(self._store.database, collection, source_ids)


def fuse(rankings: Sequence[tuple[float, Sequence[int]]]) -> dict[int, float]:
    """Weighted reciprocal rank fusion (Cormack et al., SIGIR 2009); 1 for what comes first in every ranking."""
    highest = sum(weight for weight, _ in rankings) / (_DAMPING + 1)
    scores: dict[int, float] = {}
    for weight, ids in rankings:
        for rank, id_ in enumerate(ids, start=1):
            scores[id_] = scores.get(id_, 0.0) + weight / (_DAMPING + rank) / highest
    return scores
