"""Hybrid search: candidates by full text and by vectors, ranked by both, joined back to the database."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from crag.library.fulltext import FullText
from crag.library.passages import read_ids
from crag.library.ranking import fold, rank
from crag.library.store import Store
from crag.protocols import Embedder, Vectors
from crag.types import Hit, Passage, Space

if TYPE_CHECKING:
    from crag.library.index import VectorIndex
    from crag.library.passages import Ids

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
        return [hit.passage for hit in self.explain(query, k, collection, source_ids)]

    def explain(self, query: str, k: int, collection: str, source_ids: Sequence[str]) -> list[Hit]:
        """As `search`, each passage with how it was found."""
        query = query.encode("utf-8", "replace").decode().replace("\x00", " ").strip()
        if not query or k < 1:
            return []
        depth = max(_LEAST_DEPTH, 4 * k)
        embedded = self._embedder.space, self._embedder.embed_query(query)
        by_words = self._full_text.search(query, depth, collection, source_ids)
        by_meaning = self._nearest(embedded, depth, collection, tuple(source_ids))
        candidates = list(dict.fromkeys([*by_words, *by_meaning]))
        return fold(rank(self._store.database, self._full_text, query, embedded, candidates), k)

    def save(self) -> None:
        """Writes the index if it was opened and has changed since it was last written."""
        if "index" in self.__dict__:
            self.index.save()

    def _nearest(
        self, embedded: tuple[Space, Vectors], depth: int, collection: str, source_ids: tuple[str, ...]
    ) -> list[int]:
        """The passages nearest in meaning."""
        allowed = None
        if collection or source_ids:
            allowed = self._allowed(self._store.epoch(), collection, source_ids)
        return self.index.search(embedded[1], depth, allowed)

    def _read_allowed(self, _epoch: int, collection: str, source_ids: tuple[str, ...]) -> Ids:
        return read_ids(self._store.database, collection, source_ids)
