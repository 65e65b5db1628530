"""Hybrid search: candidates from full text and vectors, ranked together and joined with the database."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from crag.cancellation import Cancellation
from crag.errors import ModelFault
from crag.options import RunOptions
from crag.protocols import Embedder, Evaluator, Retrieval
from crag.reference_systems import find_system
from crag.retrieval.active_embedder import ActiveEmbedder
from crag.retrieval.full_text import FullTextIndex
from crag.retrieval.ranking import (
    fuse_rankings,
    keep_rarest_name,
    merge_duplicates,
    rank_candidates,
    read_vector_weight,
    write_vector_weight,
)
from crag.retrieval.reranking import MAX_RERANKED, rerank_hits
from crag.retrieval.weight_fit import fit_vector_weight, sample_query_vectors
from crag.storage.engine import Database
from crag.storage.passages import SearchScope, count_passages, read_passage_ids, read_titles, stream_passages
from crag.storage.sources import SourceStore
from crag.storage.user_scope import UserScoped, hides_documents
from crag.text.language import extract_terms
from crag.text.questions import separate_words
from crag.text.tables import ROW_SEPARATOR
from crag.types import EmbeddingSpace, Passage, ProgressCallback, SearchHit, Vectors, strip_unstorable

if TYPE_CHECKING:
    from crag.retrieval.index_layers import IdSet
    from crag.retrieval.vector_index import VectorIndex


_MIN_DEPTH = 40
_FUSED_DEPTH = 3  # times k: how far down the two rankings of a follow-up are compared
_MAX_OPEN_INDEXES = 2  # the active one, and the one about to become active
_MAX_CACHED_SCOPES = 64  # a scope of a million passages takes a megabyte


class HybridSearch(UserScoped):
    """Hybrid search, the `Retriever` of a library. The index of the active space is opened at the first search.

    A limited one finds only what its user may read. How rare a word is counts over the whole library.
    """

    def __init__(
        self,
        store: SourceStore,
        full_text: FullTextIndex,
        active_embedder: ActiveEmbedder,
        folder: Path,
        find_evaluator: Callable[[], Evaluator | None],
    ) -> None:
        """Open the search. `find_evaluator` returns the evaluator of this machine, if there is one at present."""
        self._store = store
        self._full_text = full_text
        self._active_embedder = active_embedder
        self._folder = folder
        self._find_evaluator = find_evaluator
        self._read_allowed = lru_cache(_MAX_CACHED_SCOPES)(partial(_read_allowed, store.database))
        self._hides_documents = lru_cache(_MAX_CACHED_SCOPES)(partial(_hides_documents, store.database))
        # looks through all texts if there are none
        self._has_rows = lru_cache(_MAX_CACHED_SCOPES)(partial(_has_rows, store.database))
        self._lock = threading.Lock()
        self._indexes: dict[str, VectorIndex] = {}

    def open_index(self, space: EmbeddingSpace) -> VectorIndex:
        """Return the vector index of a space; only the two most recently used stay in memory."""
        from crag.retrieval.vector_index import VectorIndex

        with self._lock:
            index = self._indexes.pop(space.id, None) or VectorIndex(
                self._store.database.whole, space, self._folder, partial(self._sample, space)
            )
            self._indexes[space.id] = index
            while len(self._indexes) > _MAX_OPEN_INDEXES:
                del self._indexes[next(iter(self._indexes))]
        return index

    def retrieve(
        self, query: str, options: RunOptions, stop: Cancellation | None = None, *, as_asked: str = ""
    ) -> Retrieval:
        """Search where the options say; see `Retriever`."""
        is_reference = find_system(options) is not None
        evaluator = None if options.grader == "builtin" or is_reference else self._find_evaluator()
        scope = self._scope(options.collection, options.source_ids)
        hits, notice, scored = self._search(
            query,
            options.k,
            scope,
            evaluator,
            stop,
            by_vectors=is_reference,
            as_asked="" if is_reference else as_asked,
        )
        return Retrieval([hit.passage for hit in hits], notice, scored)

    def size(self, options: RunOptions) -> int:
        """Return the number of passages searched under these options."""
        return count_passages(self._store.database, self._scope(options.collection, options.source_ids))

    def titles(self, options: RunOptions) -> list[str]:
        """Return the titles of the documents searched under these options, newest first."""
        return read_titles(self._store.database, self._scope(options.collection, options.source_ids))

    def read_all(self, options: RunOptions, *, with_tables: bool = False) -> Iterator[Passage]:
        """Yield all passages searched under these options in document order; see `Retriever`."""
        scope = self._scope(options.collection, options.source_ids)
        if not with_tables:
            return stream_passages(self._store.database, scope)
        return _stream_rows(self._store.database, scope) if self._has_rows(self._store.epoch(), scope) else iter(())

    def allowed(self) -> IdSet | None:
        """Return the ids of all passages that the user may read; None for every passage."""
        return self._find_allowed(self._scope("", ()))

    def _scope(self, collection: str, source_ids: Sequence[str]) -> SearchScope:
        """Return the scope of a search, without a user if nothing is hidden from this one."""
        user = self._user
        if user is not None and not self._hides_documents(self._store.epoch(), user):
            user = None
        return SearchScope(user, collection, tuple(source_ids))

    def _find_allowed(self, scope: SearchScope) -> IdSet | None:
        return None if scope == SearchScope(None) else self._read_allowed(self._store.epoch(), scope)

    def search(
        self, query: str, k: int, collection: str = "", source_ids: Sequence[str] = (), *, rerank: bool = True
    ) -> tuple[list[SearchHit], str]:
        """Return at most `k` passages, best first, scores in 0..1, and a notice to the user about a fault, else empty.

        Passages are found by words alone if no embedder is available. Where there is an evaluator, it scores the best
        candidates if `rerank` is set, which takes a quarter of a second.
        """
        evaluator = self._find_evaluator() if rerank else None
        hits, notice, _ = self._search(query, k, self._scope(collection, source_ids), evaluator)
        return hits, notice

    def _search(
        self,
        question: str,
        k: int,
        scope: SearchScope,
        evaluator: Evaluator | None,
        stop: Cancellation | None = None,
        *,
        by_vectors: bool = False,
        as_asked: str = "",
    ) -> tuple[list[SearchHit], str, int]:
        """Return hits, notice, and the number of candidates that the evaluator scored.

        With `by_vectors`, words count only if no embedder is available.
        """
        query = separate_words(strip_unstorable(question).strip(), self._full_text)
        if not query or k < 1:
            return [], "", 0
        depth = max(_MIN_DEPTH, 4 * k)
        allowed = self._find_allowed(scope)
        ranked, notice = self._rank(query, depth, allowed, by_vectors=by_vectors)
        if extract_terms(as_asked):
            also, _ = self._rank(strip_unstorable(as_asked), depth, allowed)
            ranked = fuse_rankings(ranked, also, max(_FUSED_DEPTH * k, MAX_RERANKED if evaluator else 0))
        if by_vectors:
            return list(islice(ranked, k)), notice, 0
        if evaluator is None or not evaluator.reads(question):
            hits = merge_duplicates(ranked, k)
            keep_rarest_name(query, hits, ranked, self._full_text)
            return hits, notice, 0
        candidates = merge_duplicates(ranked, max(k, MAX_RERANKED))
        hits, scored = rerank_hits(evaluator, question, candidates, stop or Cancellation())
        return hits[:k], notice, scored

    def _rank(
        self, query: str, depth: int, allowed: IdSet | None, *, by_vectors: bool = False
    ) -> tuple[Iterator[SearchHit], str]:
        """Return the candidates of one query, best first, and the notice about the embedder."""
        embedded, notice = self._active_embedder.embed_query(query)
        with ThreadPoolExecutor(1) as executor:  # in a large library each takes about ten milliseconds
            by_words = executor.submit(self._full_text.search, query, depth, allowed)
            by_meaning = self.open_index(embedded[0]).search(embedded[1], depth, allowed) if embedded else []
        found = list(dict.fromkeys([*by_words.result(), *by_meaning]))
        weight = 1.0 if by_vectors else None
        return rank_candidates(
            self._store.database, self._full_text, query, embedded, found, vector_weight=weight
        ), notice

    def warm(self, space: EmbeddingSpace) -> None:
        """Load the vectors of a space into memory, so that the first search does not wait."""
        self.open_index(space).ids()

    def weigh(self, embedder: Embedder, report: ProgressCallback, stop: Cancellation) -> None:
        """Fit the vector weight of the embedder's space, unless it is known or the library is too small.

        Raises `ModelFault`, `Stopped`.
        """
        database, space = self._store.database.whole, embedder.space
        if read_vector_weight(database, space).origin != "default":
            return
        share = fit_vector_weight(database, self._full_text, self.open_index(space), embedder, report, stop)
        if share is not None:
            write_vector_weight(database, space, share)

    def save(self) -> None:
        """Save each open index that changed since it was last saved."""
        with self._lock:
            indexes = list(self._indexes.values())
        for index in indexes:
            index.save()

    def close(self) -> None:
        """Save each open index and stop background builds."""
        with self._lock:
            indexes = list(self._indexes.values())
        for index in indexes:
            index.close()

    def _sample(self, space: EmbeddingSpace, number: int) -> Vectors:
        """Embed likely questions. Raises `ModelFault` while another space is active."""

        def embed(question: str) -> Vectors:
            embedded, _ = self._active_embedder.embed_query(question)
            if embedded is None or embedded[0].id != space.id:
                raise ModelFault.make("embedder.inactive", label=space.label)
            return embedded[1]

        return sample_query_vectors(self._store.database.whole, embed, number)


def _read_allowed(database: Database, _epoch: int, scope: SearchScope) -> IdSet:
    from crag.retrieval.index_layers import IdSet

    return IdSet(read_passage_ids(database, scope))


def _hides_documents(database: Database, _epoch: int, user: str) -> bool:
    with database.read() as connection:
        return hides_documents(connection, user)


def _stream_rows(database: Database, scope: SearchScope) -> Iterator[Passage]:
    return stream_passages(database, scope, containing=ROW_SEPARATOR)


def _has_rows(database: Database, _epoch: int, scope: SearchScope) -> bool:
    return next(_stream_rows(database, scope), None) is not None
