"""Library: the facade over ingest, storage and search."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from crag.cancellation import Cancellation
from crag.concurrency.caches import LRUCache
from crag.errors import BadRequest, NotFound
from crag.ingest.intake import Intake
from crag.ingest.pipeline import IngestPipeline
from crag.ingest.reader import CHUNK_OVERLAP, CHUNK_TOKENS, DocumentReader, GuardedReader
from crag.library.page_starts import fill_page_starts
from crag.library.suggestions import suggest_follow_ups, suggest_questions
from crag.protocols import EmbedderProvider, Evaluator
from crag.retrieval.active_embedder import ActiveEmbedder, EmbedderCache
from crag.retrieval.embedding_batches import fill_vectors
from crag.retrieval.full_text import FullTextIndex, index_title
from crag.retrieval.ranking import read_vector_weight
from crag.retrieval.search import HybridSearch
from crag.retrieval.space_switch import SpaceSwitcher, SpaceSwitchWorker
from crag.retrieval.spelling import SpellingCorrector
from crag.settings import Settings
from crag.storage.collections import Collections
from crag.storage.engine import Database
from crag.storage.files import Originals
from crag.storage.outbound_log import OutboundLog, on_behalf_of
from crag.storage.passages import (
    SearchScope,
    count_parts,
    count_passages,
    count_unembedded,
    read_part,
    read_passages,
)
from crag.storage.removed_sources import RemovedSources
from crag.storage.row_security import document_owner
from crag.storage.shared_files import open_shared_files
from crag.storage.sources import SourceStore
from crag.storage.tables import sources
from crag.storage.user_scope import UserScoped, visible_questions
from crag.text.sanitization import clean_display_name, clean_text
from crag.types import (
    Collection,
    CollectionAccess,
    CollectionSharing,
    EmbeddingSpace,
    MoveResult,
    Passage,
    ProgressCallback,
    RemovedSource,
    SearchHit,
    Source,
    ignore_progress,
)

if TYPE_CHECKING:
    from crag.retrieval.vector_index import IndexState


MAX_TITLE_LENGTH = 200  # characters
_MAX_CACHED_SUGGESTIONS = 100
_SUGGESTION_RANK = 2  # a suggested question must find its passage among this many
_ID_BITS = 63  # of the database
_CURSOR = re.compile(r"(?P<added_at>\d{1,12}(\.\d{1,20})?)_(?P<id>\w{1,100})", re.ASCII)


@dataclass(frozen=True, slots=True)
class SourcePage:
    """Some of `total` sources, and the cursor of the next page; empty on the last one."""

    sources: list[Source]
    total: int
    next_cursor: str


class Library(UserScoped):
    """All documents of one home. Safe to share between threads; several processes may work on one home.

    `pipeline` adds documents; `retriever` finds passages for a run; `spaces` holds the embedding spaces. A limited one
    knows only the collections that its user may read, and the question that found a document is shown only to who
    asked it.
    """

    def __init__(
        self,
        database: Database,
        embedders: EmbedderProvider,
        count_tokens: Callable[[str], int],
        settings: Settings,
        *,
        counter_name: str = "",
        read: DocumentReader | None = None,
        count_english_tokens: Callable[[str], int] = len,
        find_evaluator: Callable[[], Evaluator | None] = lambda: None,
    ) -> None:
        """Open the library of `database.home` and remove leftovers of a killed ingest.

        `find_evaluator` returns the evaluator of this machine, if there is one at present.
        """
        self.home = database.home
        self._database = database
        self._store = SourceStore(database)
        self._collections = Collections(database)
        self._removed = RemovedSources(database)
        self._originals = Originals(self.home, open_shared_files(database, "original"))
        self._full_text = FullTextIndex(database)
        self._spelling = SpellingCorrector(database, self._full_text, count_english_tokens)
        cache = EmbedderCache(database, embedders)
        active_embedder = ActiveEmbedder(database, embedders, cache)
        self.find_evaluator = find_evaluator
        self.retriever = HybridSearch(
            self._store, self._full_text, active_embedder, self.home / "index", find_evaluator
        )
        self.spaces = SpaceSwitcher(
            self._store, embedders, cache, active_embedder, self.retriever.warm, self.retriever.weigh
        )
        self.space_work = SpaceSwitchWorker(self.spaces)
        cache.on_change = self.space_work.wake
        limit = settings.max_upload_bytes
        chunker = (
            f"{counter_name}:{CHUNK_TOKENS}/{CHUNK_OVERLAP}+headers"  # tables carry their captions and names of columns
        )
        self._read = read or GuardedReader(count_tokens, limit)
        intake = Intake(settings, OutboundLog(database))
        self.pipeline = IngestPipeline(
            self._store, self._collections, self._originals, active_embedder, intake, self._read, chunker, limit
        )
        self._suggested: LRUCache[tuple[str | None, int, int], list[str]] = LRUCache(_MAX_CACHED_SUGGESTIONS)
        self._store.remove_unused_originals(self._originals.remove_unused)

    def remove(self, ids: Sequence[str]) -> list[Source]:
        """Remove sources with all their data for good; return those that existed. Raises as `discard` does."""
        gone = self._store.remove(ids)
        self._store.release_originals([source.sha256 for source in gone], self._originals.remove)
        return self._hide_questions(gone)

    def discard(self, ids: Sequence[str], kept_seconds: float = 0.0) -> None:
        """Remove sources in such a way that `restore` can undo it until `purge_removed` deletes their data.

        That is at least `kept_seconds` later. Raises `BadRequest` if the user may only read one of them.
        """
        self._removed.add(ids, kept_seconds)

    def removed(self) -> list[RemovedSource]:
        """Return the sources whose removal can be undone, the last removed first."""
        return self._removed.all()

    def restore(self, ids: Sequence[str]) -> None:
        """Undo the removal of sources. One that was added again meanwhile stays as it is now.

        Raises `NotFound` if the removal of all of them is final.
        """
        if not self._removed.restore(ids):
            raise NotFound("The removal is final: the documents were deleted.", "Add them again.")

    def purge_removed(self, older_than: float = 0.0) -> None:
        """Purge documents removed more than `older_than` seconds ago, unless kept longer, with their originals."""
        self._store.release_originals(self._removed.purge(older_than), self._originals.remove)

    def sources(self, collection: str = "") -> list[Source]:
        """Return the sources of a collection, or all, newest first."""
        return self._hide_questions(self._store.sources(*([sources.c.collection == collection] if collection else [])))

    def source_page(self, collection: str, limit: int, cursor: str = "") -> SourcePage:
        """Return the newest sources of a collection, or of all, or those that follow an earlier page.

        Raises `BadRequest` for an unknown collection or cursor.
        """
        self.check_collection(collection)
        after = None
        if cursor:
            if not (place := _CURSOR.fullmatch(cursor)):
                raise BadRequest("This cursor is not known.")
            after = float(place["added_at"]), place["id"]
        conditions = [sources.c.collection == collection] if collection else []
        found, total = self._store.page(limit + 1, after, *conditions)
        shown = found[:limit]
        next_cursor = f"{shown[-1].added_at!r}_{shown[-1].id}" if len(found) > limit else ""
        return SourcePage(self._hide_questions(shown), total, next_cursor)

    def sources_at(self, locations: Sequence[str]) -> list[Source]:
        """Return the sources of these addresses or paths, newest first."""
        return self._hide_questions(self._store.sources(sources.c.location.in_(locations)))

    def source(self, source_id: str) -> Source:
        """Return the source with this id. Raises `NotFound`."""
        for source in self._hide_questions(self._store.sources(sources.c.id == source_id)):
            return source
        raise NotFound("This document is no longer in the library.")

    def namesakes(self, source_id: str) -> list[str]:
        """Return the ids of other documents of the collection with the same name: an upload replaces none of them."""
        return self._store.namesakes(source_id)

    def _hide_questions(self, found: list[Source]) -> list[Source]:
        with self._database.read() as connection:
            shown = visible_questions(connection, {one.found_by for one in found if one.found_by}, self._user)
        return [replace(one, found_by="") if one.found_by and one.found_by not in shown else one for one in found]

    def collections(self) -> list[Collection]:
        """Return every collection with its counts, the default one first."""
        return self._collections.all()

    def check_collection(self, name: str) -> None:
        """Raise `BadRequest` for an unknown collection, since a typo must not look like an empty library."""
        names = [collection.name for collection in self.collections()]
        if name and name not in names:
            raise BadRequest(f"There is no collection “{name}”.", f"Collections: {', '.join(names)}.")

    @property
    def default_collection(self) -> str:
        """The collection to which documents are added unless another is chosen."""
        return self._collections.default

    def create_collection(self, name: str) -> str:
        """Create a collection if needed; return its whole name. Raises `BadRequest` for an invalid name."""
        return self._collections.create(name)

    def find_target(self, collection: str) -> str:
        """Return the collection that gets what shall go to this one, by default the user's; see `Collections`.

        Raises `BadRequest` for an invalid name, or if the user may only read it.
        """
        return self._collections.find_target(collection)

    def access(self, collection: str) -> CollectionAccess:
        """Return what the user may do with a collection. Raises `NotFound`."""
        return self._collections.access(collection)

    def sharing(self, collection: str) -> CollectionSharing:
        """Return with whom a collection is shared. Raises `BadRequest` if the user may not change it, `NotFound`."""
        return self._collections.sharing(collection)

    def share_collection(self, name: str, sharing: CollectionSharing) -> None:
        """Share a collection with these people only.

        Raises `BadRequest` for what is no e-mail address, or if the user may not change the collection; `NotFound`.
        """
        self._collections.share(name, sharing)

    def relocate(self, old: Path, new: Path, collection: str = "") -> None:
        """Note that the file at `old` is at `new` now: its documents keep their ids and passages.

        What was added from `new` before is discarded. Raises as `discard` does.
        """
        target = self.find_target(collection)
        if moved := self._store.at_path(str(old), target):
            self.discard([source.id for source in self._store.at_path(str(new), target)])
            titles = clean_display_name(old.name), clean_display_name(new.name)
            self._store.relocate([source.id for source in moved], str(old), str(new), titles)

    def rename(self, source_id: str, title: str) -> Source:
        """Give a document another title, and return it; an empty one brings back the title that its file states.

        Raises `NotFound`, and `BadRequest` if the user may only read it.
        """
        title = " ".join(clean_text(title).split())[:MAX_TITLE_LENGTH]
        self._store.rename(source_id, title, index_title)
        return self.source(source_id)

    def documents_at(self, path: Path, collection: str) -> list[Source]:
        """Return the documents of a collection that were added from a file or archive."""
        return self._hide_questions(self._store.at_path(str(path), collection))

    def rename_collection(self, name: str, new_name: str) -> str:
        """Rename a collection; return its normalized new name. Raises `BadRequest`, `NotFound`."""
        return self._collections.rename(name, new_name)

    def move(self, ids: Sequence[str], collection: str) -> list[MoveResult]:
        """Move documents to another collection, created if needed; see `Collections.move`. Raises `BadRequest`."""
        return self._collections.move(ids, collection)

    def delete_collection(self, name: str) -> int:
        """Delete a collection, discard its documents, and return their number. Restoring one creates it again.

        Raises `BadRequest`, `NotFound`.
        """
        return len(self._collections.delete(name))

    def search(self, query: str, k: int = 4, collection: str = "", source_ids: Sequence[str] = ()) -> list[Passage]:
        """Return at most `k` passages, best first, scores in 0..1; by words alone if no embedder is available."""
        return [hit.passage for hit in self.explain(query, k, collection, source_ids)[0]]

    def explain(
        self, query: str, k: int = 4, collection: str = "", source_ids: Sequence[str] = (), *, rerank: bool = True
    ) -> tuple[list[SearchHit], str]:
        """Search as `search` does; return each passage with how it was found, and a notice about a fault, or "".

        Without `rerank`, the evaluator is not asked.
        """
        with on_behalf_of(self._user) if self._user else nullcontext():  # another machine may embed the query
            return self.retriever.search(query, k, collection, source_ids, rerank=rerank)

    def size(self, collection: str = "", source_ids: Sequence[str] = ()) -> int:
        """Count the passages that a search within these limits covers."""
        return count_passages(self._database, SearchScope(self._user, collection, tuple(source_ids)))

    def passage(self, passage_id: int) -> Passage | None:
        """Return the passage with this id, or None if its source was removed or the user may not read it."""
        if abs(passage_id) >> _ID_BITS:
            return None
        return read_passages(self._database, [passage_id], self._user).get(passage_id)

    def count_parts(self, source: Source) -> int:
        """Return the number of parts in which a document is read: its pages, or runs of passages if it has none."""
        return count_parts(source)

    def read_part(self, source: Source, part: int) -> str:
        """Return the text of a part of a document, from 1; empty if nothing was found on that page."""
        return read_part(self._database, source, part, self._user)

    def original_path(self, source_id: str) -> Path | None:
        """Return the path of the original file, or None."""
        source = self._store.source(source_id)
        return self._originals.path(source.sha256) if source else None

    def fill_page_starts(self, stop: Cancellation) -> None:
        """Record where pages begin in passages of earlier versions; see `page_starts`. Raises `Stopped`."""
        fill_page_starts(self._database, self._originals, self._read, stop)

    def idf(self, terms: Sequence[str]) -> dict[str, float]:
        """Return the inverse document frequency of each term; the one method of `TermStatistics`."""
        return self._full_text.idf(terms)

    def find_corrections(self, question: str) -> dict[str, str]:
        """Return the misspelled words of a question, as written, with the words that are meant.

        These are words of the documents that the user may read.
        """
        return self._spelling.find_corrections(question, self.retriever.allowed())

    def suggest_questions(self, n: int = 3) -> list[str]:
        """Return at most `n` questions that the newest sources answer; derived once for each state of the library."""
        reader = document_owner(self._user) if self._user else None  # all browsers read the same
        key = (reader, self._store.epoch(), n)
        if (suggested := self._suggested.get(key)) is None:
            suggested = suggest_questions(self._database, self._find_by_words, n, self._user)
            self._suggested.put(key, suggested)
        return [*suggested]

    def long_titles(self, n: int, passages: int) -> list[str]:
        """Return the titles of the newest `n` sources with at least so many passages."""
        return self._store.long_titles(n, passages)

    def _find_by_words(self, question: str) -> list[int]:
        """Return the ids of the nearest passages by full text alone, which needs no embedder and is always ready."""
        return self._full_text.search(question, _SUGGESTION_RANK, self.retriever.allowed())

    def suggest_follow_ups(
        self,
        cited_ids: Sequence[int],
        answer: str,
        asked: Sequence[str] = (),
        n: int = 3,
        collection: str = "",
        source_ids: Sequence[str] = (),
    ) -> list[str]:
        """Return at most `n` questions about passages near those that `answer` cites.

        Each question finds its own passage among the first four within these limits, and repeats none of those `asked`.
        """

        def find(question: str) -> list[int]:
            hits, _ = self.explain(question, 4, collection, source_ids, rerank=False)
            return [hit.passage.id for hit in hits]

        return suggest_follow_ups(
            self._database,
            find,
            cited_ids,
            answer,
            asked,
            n,
            self._user,
        )

    def counts(self) -> tuple[int, int, int]:
        """Return the number of sources, the number of passages, and the bytes used on disk."""
        files = [*self.home.glob("crag.sqlite*"), *(self.home / "index").glob("*.faiss")]
        return *self._store.counts(), self._store.originals_size() + sum(path.stat().st_size for path in files)

    def revision(self) -> tuple[object, ...]:
        """Return a value that changes with the documents, their passages and the collections."""
        return self._store.epoch(), self.collections()

    def count_missing_vectors(self) -> int:
        """Count the passages without a vector in the active space, which are found by their words only."""
        space = self.spaces.active_embedder.active_space().space
        return count_unembedded(self._database, space.id) if space else 0

    def fill_vectors(self, progress: ProgressCallback | None = None, stop: Cancellation | None = None) -> int:
        """Embed every passage without a vector in the active space; return how many got one.

        Work done before a cancellation is kept. Raises `ModelFault`, `Stopped`.
        """
        _, embedder = self.spaces.active_embedder.open_for_storing()
        return fill_vectors(self._store, embedder, progress or ignore_progress, stop or Cancellation())

    def space(self) -> EmbeddingSpace:
        """Return the space of the vectors that new passages get. Raises `ModelFault`."""
        return self.spaces.active_embedder.open_for_storing()[1].space

    def warm(self) -> None:
        """Open the index now, so that the first search does not wait. Raises `ModelFault`."""
        self.retriever.warm(self.spaces.active_embedder.active_space().space or self.space())

    def index_state(self) -> IndexState:
        """Return the state of the vector index, opening it if needed. Raises `ModelFault`."""
        return self.retriever.open_index(self.spaces.active_embedder.active_space().space or self.space()).state()

    def save(self) -> None:
        """Save a changed index, and schedule the weight fit of an active space that has none.

        Meant for idle moments; nothing depends on it.
        """
        self.retriever.save()
        space = self.spaces.active_embedder.active_space().space
        if space and read_vector_weight(self._database, space).origin == "default":
            self.space_work.wake()

    def close(self) -> None:
        """Stop background work and save the index. The database stays open: it belongs to the caller."""
        self.space_work.close()
        self.retriever.close()
