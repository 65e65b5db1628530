"""The library as the rest of the application sees it: add, list, remove, refresh, search."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from crag.database import Database
from crag.database.tables import sources
from crag.errors import ModelFault, NotFound, SourceRefused
from crag.library.answering import Answering
from crag.library.archive import is_archive
from crag.library.background import SpaceWork
from crag.library.cleaning import display_name
from crag.library.collections import Collections
from crag.library.embedders import OpenEmbedders
from crag.library.fulltext import FullText
from crag.library.ingest import Incoming, Ingest
from crag.library.intake import Intake, files_in, is_address, without_password
from crag.library.originals import Originals
from crag.library.overlap import overlap
from crag.library.passages import count_passages, count_unembedded, read_passages
from crag.library.questions import suggest_questions
from crag.library.reading import CHUNK_OVERLAP, CHUNK_TOKENS, GuardedReader, Read, Report
from crag.library.retrieve import Search
from crag.library.site import SiteLimits
from crag.library.store import Store
from crag.library.switching import Spaces
from crag.library.vectors import fill_vectors
from crag.protocols import Embedders
from crag.settings import Settings
from crag.stopping import Stop
from crag.types import (
    DEFAULT_COLLECTION,
    AddResult,
    Collection,
    Hit,
    MoveResult,
    Passage,
    Progress,
    Refusal,
    Source,
    Space,
)

if TYPE_CHECKING:
    from crag.library.index import IndexState


class Library:
    """All that the person added. Safe to share between threads; several processes may work on one home.

    What cannot be added comes back as a failed `AddResult`; adding raises only `Stopped`, `HomeFault` and, for a
    collection name that cannot be, `BadRequest`.
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
        self._intake = Intake(settings)
        self._store = Store(database)
        self._collections = Collections(database)
        self._originals = Originals(self.home / "originals")
        self._full_text = FullText(database)
        opened = OpenEmbedders(database, embedders, lambda: self.space_work.wake())
        answering = Answering(database, embedders, opened)
        self._search = Search(self._store, self._full_text, answering, self.home / "index")
        self.spaces = Spaces(self._store, embedders, opened, answering, self._search.warm)
        self.space_work = SpaceWork(self.spaces)
        limit = settings.max_upload_bytes
        chunker = f"{counter_name}:{CHUNK_TOKENS}/{CHUNK_OVERLAP}"
        reader = read or GuardedReader(count_tokens, limit)
        self._ingest = Ingest(self._store, self._originals, answering, reader, chunker, limit)
        self._store.sweep(self._originals.keep_only)

    def add_bytes(
        self,
        name: str,
        data: bytes,
        *,
        collection: str = DEFAULT_COLLECTION,
        progress: Report | None = None,
        stop: Stop | None = None,
    ) -> AddResult:
        """Adds an upload. `name` is text to show and a hint at the kind, never a path."""
        return self._add(name, lambda *_: self._intake.upload(name, data, collection), progress, stop)

    def add_upload(
        self,
        name: str,
        data: bytes,
        *,
        collection: str = DEFAULT_COLLECTION,
        progress: Report | None = None,
        stop: Stop | None = None,
    ) -> Iterator[AddResult]:
        """Adds an upload; of an archive, every supported file in it."""
        if is_archive(name, data):
            yield from self._add_archive(name, data, collection, progress, stop)
        else:
            yield self.add_bytes(name, data, collection=collection, progress=progress, stop=stop)

    def add_path(
        self,
        path: Path,
        *,
        collection: str = DEFAULT_COLLECTION,
        progress: Report | None = None,
        stop: Stop | None = None,
    ) -> AddResult:
        """Adds one file; a file that changed since takes the place of its old version."""
        return self._add(str(path), lambda *_: self._intake.file(path, collection), progress, stop)

    def add_url(
        self,
        url: str,
        *,
        collection: str = DEFAULT_COLLECTION,
        progress: Report | None = None,
        stop: Stop | None = None,
    ) -> AddResult:
        """Adds what an address holds; a page that changed since takes the place of its old version."""
        return self._add(url, lambda *way: self._intake.address(url, collection, *way), progress, stop)

    def add_site(
        self,
        url: str,
        limits: SiteLimits,
        *,
        collection: str = DEFAULT_COLLECTION,
        progress: Report | None = None,
        stop: Stop | None = None,
    ) -> Iterator[AddResult]:
        """Adds a page and what it links to on its site, or what a sitemap names; `progress` counts pages."""
        stop = stop or Stop()
        found = False
        for address, get in self._intake.site(url, collection, limits, progress or _silent, stop):
            found = True
            yield self._add(address, get, None, stop)
        if not found:
            yield _failed(url, SourceRefused("empty", "This sitemap names no page of its site."))

    def add(
        self,
        spec: str,
        *,
        collection: str = DEFAULT_COLLECTION,
        progress: Report | None = None,
        stop: Stop | None = None,
    ) -> Iterator[AddResult]:
        """Adds an address, a file, or every supported file in and below a folder or in an archive, one by one."""
        if is_address(spec):
            yield self.add_url(spec, collection=collection, progress=progress, stop=stop)
            return
        if not spec.strip():  # as a path it would mean the present folder
            yield _failed(spec, SourceRefused("unreachable", "No file, folder or address was named."))
            return
        try:
            path = Path(spec).expanduser()
            files = files_in(path) if path.is_dir() else [path]
        except (OSError, RuntimeError):  # a name that is too long, a home of nobody, a folder that may not be read
            yield _failed(spec, SourceRefused("unreachable", "This path cannot be read.", "Check it."))
            return
        if not files:
            yield _failed(spec, SourceRefused("empty", "There is no file in this folder that can be read."))
        for are_archives, group in groupby(files, lambda file: is_archive(file.name, file)):
            if are_archives:
                for file in group:
                    yield from self._add_archive(str(file), file, collection, progress, stop)
            else:
                yield from self._add_files(group, collection, progress, stop or Stop())

    def add_reading(
        self, incoming: Incoming, read: Read, *, progress: Report | None = None, stop: Stop | None = None
    ) -> AddResult:
        """Adds passages that were cut elsewhere: `read` gives them instead of reading a file."""
        return self._add(incoming.asked, lambda *_: incoming, progress, stop, read)

    def refresh(
        self, ids: Sequence[str] | None = None, *, progress: Report | None = None, stop: Stop | None = None
    ) -> list[AddResult]:
        """Fetches or reads again these sources, or all; uploads cannot change and come back *unchanged*."""
        chosen = self._store.sources() if ids is None else self._store.sources(sources.c.id.in_(ids))
        return [self._refresh(source, progress, stop) for source in chosen]

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

    def counts(self) -> tuple[int, int, int]:
        """How many sources and passages there are, and how many bytes all of it takes on disk."""
        files = [*self.home.glob("crag.sqlite*"), *(self.home / "index").glob("*.faiss")]
        return *self._store.counts(), self._store.originals_size() + sum(path.stat().st_size for path in files)

    def missing_vectors(self) -> int:
        """How many passages are found by their words only, because no vector of the space that answers is made yet."""
        space = self.spaces.answering.standing().space
        return count_unembedded(self._database, space.id) if space else 0

    def fill_vectors(self, progress: Report | None = None, stop: Stop | None = None) -> int:
        """Embeds what has no vector yet of the space that answers; how many.

        Raises `ModelFault`, `Stopped`; what is done stays done.
        """
        _, embedder = self.spaces.answering.to_store()
        return fill_vectors(self._store, embedder, progress or _silent, stop or Stop())

    def space(self) -> Space:
        """The space of the vectors that new passages get. Raises `ModelFault`."""
        return self.spaces.answering.to_store()[1].space

    def warm(self) -> None:
        """Opens the index now, so that the first search need not. Raises `ModelFault`."""
        self._search.warm(self.spaces.answering.standing().space or self.space())

    def index_state(self) -> IndexState:
        """What the vector index holds, and how well it finds. Opens it. Raises `ModelFault`."""
        return self._search.open_index(self.spaces.answering.standing().space or self.space()).state()

    def save(self) -> None:
        """Writes the index to disk if it changed; for quiet moments, since nothing depends on it."""
        self._search.save()

    def close(self) -> None:
        """The last thing to call; the database stays open, as it is not the library's own."""
        self.space_work.close()
        self._search.close()

    def _add_files(
        self, files: Iterable[Path], collection: str, progress: Report | None, stop: Stop
    ) -> Iterator[AddResult]:
        def add(file: Path, stop: Stop) -> AddResult:
            return self.add_path(file, collection=collection, progress=progress, stop=stop)

        yield from overlap(add, files, stop)

    def _add_archive(
        self, asked: str, archive: Path | bytes, collection: str, progress: Report | None, stop: Stop | None
    ) -> Iterator[AddResult]:
        stop = stop or Stop()
        try:
            for location, get in self._intake.unpacked(asked, archive, collection, stop):
                yield self._add(location, get, progress, stop)
        except SourceRefused as error:
            yield _failed(asked, error)

    def _refresh(self, source: Source, progress: Report | None, stop: Stop | None) -> AddResult:
        if self._intake.can_get_again(source):
            return self._add(source.location, lambda *way: self._intake.again(source, *way), progress, stop)
        return AddResult(source.location, source.id, source.title, "unchanged", source.passages, source.pages)

    def _add(
        self,
        asked: str,
        get: Callable[[Report, Stop], Incoming],
        progress: Report | None,
        stop: Stop | None,
        read: Read | None = None,
    ) -> AddResult:
        report, stop = progress or _silent, stop or Stop()
        try:
            return self._ingest.add(get(report, stop), report, stop, read)
        except (SourceRefused, ModelFault) as error:
            return _failed(asked, error)


def _failed(asked: str, error: SourceRefused | ModelFault) -> AddResult:
    """The refusal in the words of the contract: whatever a model cannot do is `embedding_failed`."""
    code = error.code if isinstance(error, SourceRefused) else "embedding_failed"
    shown = without_password(asked)
    title = display_name(shown.rstrip("/"))
    return AddResult(shown, None, title, "failed", error=Refusal(code, str(error)))


def _silent(_progress: Progress) -> None:
    """Progress that nobody watches."""
