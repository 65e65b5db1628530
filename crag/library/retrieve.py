"""Hybrid search: full text and vectors, fused by rank, joined back to the database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from crag.library.fulltext import FullText
from crag.library.passages import read_ids, read_passages
from crag.library.store import Store
from crag.protocols import Embedder
from crag.types import Passage

if TYPE_CHECKING:
    from crag.library.index import VectorIndex
    from crag.library.passages import Ids

# Measured on English, Korean and Chinese questions: the built-in vectors know less than the words themselves.
_VECTOR_WEIGHTS = {"builtin": 0.2}
_DAMPING = 10
_LEAST_DEPTH = 40


class Search:
    """Finds the nearest passages. The index of the embedder's space is opened at the first search."""

    def __init__(self, store: Store, full_text: FullText, embedder: Embedder, folder: Path) -> None:
        self._store = store
        self._full_text = full_text
        self._embedder = embedder
        self._folder = folder
        self._allowed = lru_cache(maxsize=16)(self._read_allowed)

    @cached_property
    def index(self) -> VectorIndex:
        """The vectors of the embedder's space."""
        from crag.library.index import VectorIndex

        return VectorIndex(self._store.database, self._embedder.space, self._folder)

    def search(self, query: str, k: int, collection: str, source_ids: Sequence[str]) -> list[Passage]:
        """At most `k` passages, best first, scores in 0..1. Raises `ModelFault` when the query cannot be embedded."""
        query = query.encode("utf-8", "replace").decode().replace("\x00", " ").strip()
        if not query or k < 1:
            return []
        depth = max(_LEAST_DEPTH, 4 * k)
        by_words = self._full_text.search(query, depth, collection, source_ids)
        by_meaning = self._nearest(query, depth, collection, tuple(source_ids))
        weight = _VECTOR_WEIGHTS.get(self._embedder.space.provider, 1.0)
        scores = fuse(((1.0, by_words), (weight, by_meaning)))
        best = sorted(scores, key=lambda id_: (-scores[id_], id_))[: 2 * k]
        found = read_passages(self._store.database, best)
        return [replace(found[id_], score=scores[id_]) for id_ in best if id_ in found][:k]

    def save(self) -> None:
        """Writes the index if it was opened and has changed since it was last written."""
        if "index" in self.__dict__:
            self.index.save()

    def _nearest(self, query: str, depth: int, collection: str, source_ids: tuple[str, ...]) -> list[int]:
        allowed = None
        if collection or source_ids:
            allowed = self._allowed(self._store.epoch(), collection, source_ids)
        return self.index.search(self._embedder.embed_query(query), depth, allowed)

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
