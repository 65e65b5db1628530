"""The library as the rest of the application sees it: add, list, remove, refresh, search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from crag.database import Database
from crag.database.tables import sources
from crag.errors import NotFound
from crag.ledger import Ledger
from crag.library.adding.adding import Adding
from crag.library.adding.ingest import Ingest
from crag.library.adding.intake import Intake
from crag.library.adding.reading import CHUNK_OVERLAP, CHUNK_TOKENS, GuardedReader, Read
from crag.library.collections import Collections
from crag.library.follow_ups import follow_ups
from crag.library.originals import Originals
from crag.library.passages import count_passages, count_unembedded, read_passages
from crag.library.questions import suggest_questions
from crag.library.search.fulltext import FullText
from crag.library.search.search import Search
from crag.library.search.weights import read_weight
from crag.library.spaces.answering import Answering
from crag.library.spaces.background import SpaceWork
from crag.library.spaces.embedders import OpenEmbedders
from crag.library.spaces.filling import fill_vectors
from crag.library.spaces.switching import Spaces
from crag.library.store import Store
from crag.progress import Report, silent
from crag.protocols import Embedders
from crag.settings import Settings
from crag.stopping import Stop
from crag.types import Collection, Hit, MoveResult, Passage, Source, Space

if TYPE_CHECKING:
    from crag.library.index.vector_index import IndexState


class Library(Adding):
    """All that the person added. Safe to share between threads; several processes may work on one home.

    How things are added, and what that raises: see `Adding`.
    """

    def __init__(
        self,
        database: Database,
        embedders: Embedders,
        count_tokens: Callable[[str], int],
        settings: Settings,
        *,
        counter_name: str = "",
        read: Read | None = None,
    ) -> None:
        """Opens the library of `database.home` and removes what a killed ingest left there."""
        self.home = database.home
        self._database = database
        self._store = Store(database)
        self._collections = Collections(database)
        self._originals = Originals(self.home / "originals")
        self._full_text = FullText(database)
        opened = OpenEmbedders(database, embedders, lambda: self.space_work.wake())
        answering = Answering(database, embedders, opened)
        self._search = Search(self._store, self._full_text, answering, self.home / "index")
        self.spaces = Spaces(self._store, embedders, opened, answering, self._search.warm, self._search.weigh)
        self.space_work = SpaceWork(self.spaces)
        limit = settings.max_upload_bytes
        chunker = f"{counter_name}:{CHUNK_TOKENS}/{CHUNK_OVERLAP}"
        reader = read or GuardedReader(count_tokens, limit)
        super().__init__(
            Intake(settings, Ledger(database)),
            Ingest(self._store, self._originals, answering, reader, chunker, limit),
            self._store,
        )
        self._store.sweep(self._originals.keep_only)

    def remove(self, ids: Sequence[str]) -> list[Source]:
        """Removes sources with all that was kept of them; those that were there."""
        gone = self._store.remove(ids)
        self._store.release([source.sha256 for source in gone], self._originals.remove)
        return gone

    def sources(self, collection: str = "") -> list[Source]:
        """The sources of a collection, or all, newest first."""
        return self._store.sources(*([sources.c.collection == collection] if collection else []))

    def source(self, source_id: str) -> Source:
        """The source with this id. Raises `NotFound`."""
        if source := self._store.source(source_id):
            return source
        raise NotFound("This document is no longer in the library.")

    def namesakes(self, source_id: str) -> list[Source]:
        """Other documents of its collection under the same name: uploads of other content, which replace nothing."""
        if not (source := self._store.source(source_id)):
            return []
        same = (sources.c.collection == source.collection, sources.c.location == source.location)
        return self._store.sources(*same, sources.c.id != source_id)

    def collections(self) -> list[Collection]:
        """Every collection with its counts, the default one first."""
        return self._collections.all()

    def create_collection(self, name: str) -> str:
        """Makes sure that a collection exists; its name as kept. Raises `BadRequest` for a name that cannot be."""
        return self._collections.create(name)

    def rename_collection(self, name: str, new_name: str) -> str:
        """Its new name as kept. Raises `BadRequest`, `NotFound`."""
        return self._collections.rename(name, new_name)

    def move(self, ids: Sequence[str], collection: str) -> list[MoveResult]:
        """Moves documents to another collection, made if need be; see `Collections.move`. Raises `BadRequest`."""
        return self._collections.move(ids, collection)

    def delete_collection(self, name: str) -> int:
        """Deletes it with all its documents; how many they were. Raises `BadRequest`, `NotFound`."""
        gone = self._collections.delete(name)
        self._store.release(gone, self._originals.remove)
        return len(gone)

    def search(self, query: str, k: int = 4, collection: str = "", source_ids: Sequence[str] = ()) -> list[Passage]:
        """At most `k` passages, best first, scores in 0..1; by words alone while nothing can embed the query."""
        return self._search.search(query, k, collection, source_ids)

    def explain(self, query: str, k: int = 4, collection: str = "", source_ids: Sequence[str] = ()) -> list[Hit]:
        """As `search`, each passage with how it was found."""
        return self._search.explain(query, k, collection, source_ids)

    def size(self, collection: str = "", source_ids: Sequence[str] = ()) -> int:
        """How many passages a search within these limits looks at."""
        return count_passages(self._database, collection, source_ids)

    def passage(self, passage_id: int) -> Passage | None:
        """The passage with this id, or None when its source has gone."""
        return read_passages(self._database, [passage_id]).get(passage_id)

    def original(self, source_id: str) -> Path | None:
        """The file as it was added, or None."""
        source = self._store.source(source_id)
        return self._originals.path(source.sha256) if source else None

    def idf(self, terms: Sequence[str]) -> dict[str, float]:
        """How rare each term is; the one method of `TermStatistics`."""
        return self._full_text.idf(terms)

    def suggested_questions(self, n: int = 3) -> list[str]:
        """At most `n` questions drawn from the headings of the newest sources."""
        return suggest_questions(self._database, n)

    def follow_ups(
        self,
        used: Sequence[int],
        said: str,
        asked: Sequence[str] = (),
        n: int = 3,
        collection: str = "",
        source_ids: Sequence[str] = (),
    ) -> list[str]:
        """At most `n` questions about what stands beside the passages that an answer `said` rests on.

        Each finds its own passage among the first four within these limits, and asks none of what was `asked` again.
        """
        return follow_ups(
            self._database, lambda question: self.search(question, 4, collection, source_ids), used, said, asked, n
        )

    def counts(self) -> tuple[int, int, int]:
        """How many sources and passages there are, and how many bytes all of it takes on disk."""
        files = [*self.home.glob("crag.sqlite*"), *(self.home / "index").glob("*.faiss")]
        return *self._store.counts(), self._store.originals_size() + sum(path.stat().st_size for path in files)

    def missing_vectors(self) -> int:
        """How many passages are found by their words only, because no vector of the space that answers is made yet."""
        space = self.spaces.answering.active().space
        return count_unembedded(self._database, space.id) if space else 0

    def fill_vectors(self, progress: Report | None = None, stop: Stop | None = None) -> int:
        """Embeds what has no vector yet of the space that answers; how many.

        Raises `ModelFault`, `Stopped`; what is done stays done.
        """
        _, embedder = self.spaces.answering.to_store()
        return fill_vectors(self._store, embedder, progress or silent, stop or Stop())

    def space(self) -> Space:
        """The space of the vectors that new passages get. Raises `ModelFault`."""
        return self.spaces.answering.to_store()[1].space

    def warm(self) -> None:
        """Opens the index now, so that the first search need not. Raises `ModelFault`."""
        self._search.warm(self.spaces.answering.active().space or self.space())

    def index_state(self) -> IndexState:
        """What the vector index holds, and how well it finds. Opens it. Raises `ModelFault`."""
        return self._search.open_index(self.spaces.answering.active().space or self.space()).state()

    def save(self) -> None:
        """Writes the index to disk if it changed, and has the space weighed that answers without a weight of its own.

        For quiet moments, since nothing depends on it.
        """
        self._search.save()
        space = self.spaces.answering.active().space
        if space and read_weight(self._database, space).origin == "default":
            self.space_work.wake()

    def close(self) -> None:
        """The last thing to call; the database stays open, as it is not the library's own."""
        self.space_work.close()
        self._search.close()
