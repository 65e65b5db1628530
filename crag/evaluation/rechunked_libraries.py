"""Libraries with documents split in another way, for evaluations and reference systems, kept as a cache in the home."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, astuple, dataclass, replace
from functools import partial
from pathlib import Path

from sqlalchemy import select

from crag.cancellation import Cancellation
from crag.concurrency.workers import map_in_order
from crag.errors import BadRequest, ModelFault, NotFound
from crag.ingest.intake import IMPORTED_KIND, SourceInput
from crag.ingest.parse.formats import FORMATS
from crag.ingest.reader import CHUNK_OVERLAP, CHUNK_TOKENS, DocumentReader, GuardedReader, RawDocument, ReadDocument
from crag.library.library import Library
from crag.models.token_counts import count_passage_tokens, passage_counter_name
from crag.options import RunOptions
from crag.protocols import ConfiguredEmbedder, Embedder, Retrieval, Retriever
from crag.reference_systems import Chunking, find_chunking
from crag.retrieval.ranking import write_vector_weight
from crag.settings import Settings
from crag.storage.engine import Database
from crag.storage.files import move_into_place, original_relative_path, staging_folder
from crag.storage.ownership import is_process_alive
from crag.storage.passages import decode_page_starts
from crag.storage.row_security import document_owner
from crag.storage.tables import passages
from crag.storage.tables import sources as source_rows
from crag.storage.user_scope import UserScoped
from crag.text.formatting import format_count
from crag.types import AddResult, Chunk, Passage, Progress, ProgressCallback, Source, ignore_progress

NOT_RECHUNKED = "as in the library"  # stored as the chunker if there is no file to split
# Media types by kind, for files whose name does not give one; the web server is not asked again.
_MEDIA_TYPES = {known.kind: known.media_types[0] for known in FORMATS if known.media_types}


class _HomeEmbedder:
    """Embeds with the home's embedder, regardless of the settings; see `Embedders`."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def wanted(self) -> ConfiguredEmbedder:
        return ConfiguredEmbedder(self._library.space().name, explicit=True)

    def open(self, name: str) -> Embedder:  # noqa: ARG002 — there is only one
        return self._library.spaces.active_embedder.open_for_storing()[1]


class RechunkedLibrary:
    """A library of rechunked documents that uses the embedder of the home's `library`; close it when done."""

    def __init__(self, folder: Path, library: Library, settings: Settings) -> None:
        """Open the library in this folder, or create it. Raises `HomeFault`."""
        self.folder = folder
        self.database = Database(folder)
        self.library = Library(
            self.database, _HomeEmbedder(library), count_passage_tokens, settings, find_evaluator=library.find_evaluator
        )

    def titles_not_rechunked(self) -> list[str]:
        """Return the titles of the documents that keep the passages of the home."""
        query = select(source_rows.c.title).where(source_rows.c.chunker == NOT_RECHUNKED).order_by(source_rows.c.title)
        with self.database.read() as connection:
            return list(connection.scalars(query))

    def close(self) -> None:
        """Close the library and its database."""
        self.library.close()
        self.database.close()


@dataclass(frozen=True, slots=True)
class Rechunker:
    """Splits documents of `library`, whose rows are in `database`, into other passages."""

    library: Library
    database: Database
    settings: Settings
    chunking: Chunking

    def rechunk(self, sources: Sequence[Source], folder: Path, report: ProgressCallback, stop: Cancellation) -> None:
        """Make a library in this new folder. Raises `Stopped`, or `BadRequest` for a document that cannot be added.

        A document without a file to split (imported as passages, or lost) keeps the passages of the home. Every
        document keeps its id, and vector scores keep the weight they have in the home.
        """
        stage = f"Splitting documents into passages of {self.chunking.describe()}"
        report(Progress(stage, 0, len(sources)))
        with closing(RechunkedLibrary(folder, self.library, self.settings)) as made:
            add = partial(self._add, made)
            for done, _ in enumerate(map_in_order(add, sources, stop), start=1):
                report(Progress(stage, done, len(sources)))
            stop.check()
            for space in self.library.spaces.statuses():
                if space.state == "answering" and space.weight.origin == "fitted":
                    write_vector_weight(made.database, space.space, space.weight.share)

    def _add(self, made: RechunkedLibrary, source: Source, stop: Cancellation) -> None:
        result = self._add_rechunked(made, source, stop) or self._add_existing_passages(made, source, stop)
        if result and result.error:
            raise BadRequest(f"“{source.title}” could not be split again: {result.error.message}", "Try again.")

    def _add_rechunked(self, made: RechunkedLibrary, source: Source, stop: Cancellation) -> AddResult | None:
        """Add a document split from its file; None if there is no file or it cannot be split."""
        path = self.library.original_path(source.id)
        if path is None or source.kind == IMPORTED_KIND:
            return None
        _link_original(path, made.folder / original_relative_path(source.sha256))
        document = RawDocument(Path(source.location).name, path.read_bytes(), _MEDIA_TYPES.get(source.kind, ""))
        result = made.library.pipeline.add_with_reader(_source_input(source, document), self._reader(source), stop=stop)
        return result if result.error is None or result.error.code == "embedding_failed" else None

    def _reader(self, source: Source) -> DocumentReader:
        own, in_tokens = self.chunking, self.chunking.unit == "tokens"
        count = count_passage_tokens if in_tokens else len
        read = GuardedReader(count, self.settings.max_upload_bytes, own.size, context=own.context)
        chunker = f"{passage_counter_name() if in_tokens else own.unit}:{own.size}/{CHUNK_OVERLAP}"

        def cut(document: RawDocument, report: ProgressCallback, stop: Cancellation) -> ReadDocument:
            return replace(read(document, report, stop), title=source.title, chunker=chunker)

        return cut

    def _add_existing_passages(self, made: RechunkedLibrary, source: Source, stop: Cancellation) -> AddResult | None:
        """Add a document with the passages of the home; None if it has been removed in the meantime."""
        with self.database.read() as connection:
            rows = connection.execute(
                select(passages).where(passages.c.source_id == source.id).order_by(passages.c.ordinal)
            ).all()
        chunks = [
            Chunk(
                *(row.text, row.page, row.heading, row.ordinal, row.context_start, row.context_end),
                decode_page_starts(row.page_starts),
            )
            for row in rows
        ]
        reading = ReadDocument(source.title, source.kind, source.pages, chunks, chunker=NOT_RECHUNKED)
        document = RawDocument(source.title, source.id.encode())
        return (
            made.library.pipeline.add_with_reader(_source_input(source, document), lambda *_: reading, stop=stop)
            if chunks
            else None
        )


def _source_input(source: Source, document: RawDocument) -> SourceInput:
    return SourceInput(
        source.location, source.location, False, source.collection, document, source.found_by, source_id=source.id
    )


def _link_original(original: Path, path: Path) -> None:
    """Hard-link the original file, so that it is not stored twice."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(OSError):  # no hard links on this file system: adding copies the file
        os.link(original, path)


# Offset of the passage ids of these libraries, so that none equals an id of the home's library.
PASSAGE_ID_OFFSET = 2**40
_SCOPE_FILE = "scope.json"  # stores which documents were requested
_LAYOUT_VERSION = "2"  # changes whenever documents are split differently
# A run may still be using a library: stale ones go after a short time unused, any other after a day.
_STALE_SECONDS, _IDLE_SECONDS = 600.0, 86_400.0
_MAX_NAMED_DOCUMENTS = 3


@dataclass(frozen=True, slots=True)
class RechunkScope:
    """Which documents are rechunked, as the options limit them, and how."""

    chunking: Chunking
    collection: str = ""
    source_ids: tuple[str, ...] = ()
    account: str = ""  # whose documents, if not everyone's


class RechunkedRetriever:
    """The retriever of a library of rechunked documents."""

    def __init__(self, library: RechunkedLibrary, chunking: Chunking) -> None:
        self._retriever = library.library.retriever
        self._folder = library.folder
        self._notice = _describe_rechunking(chunking, library.titles_not_rechunked())

    def retrieve(
        self, query: str, options: RunOptions, stop: Cancellation | None = None, *, as_asked: str = ""
    ) -> Retrieval:
        """See `Retriever`; ids are offset so that none equals an id of the home's library.

        The notice also says that other passages than those of the library were searched.
        """
        with suppress(OSError):
            os.utime(self._folder)  # mark it as in use
        found = self._retriever.retrieve(query, options, stop, as_asked=as_asked)
        passages = [replace(passage, id=passage.id + PASSAGE_ID_OFFSET) for passage in found.passages]
        return found._replace(passages=passages, notice=f"{self._notice} {found.notice}".strip())

    def size(self, options: RunOptions) -> int:
        """Return the number of passages searched under these options."""
        return self._retriever.size(options)

    def titles(self, options: RunOptions) -> list[str]:
        """Return the titles of the documents searched under these options, newest first."""
        return self._retriever.titles(options)

    def read_all(self, options: RunOptions, *, with_tables: bool = False) -> Iterator[Passage]:
        """Yield all passages under these options in document order; their ids are offset."""
        found = self._retriever.read_all(options, with_tables=with_tables)
        return (replace(passage, id=passage.id + PASSAGE_ID_OFFSET) for passage in found)


class RechunkedLibraries(UserScoped):
    """All rechunked libraries of a home. Safe to share between threads and processes."""

    def __init__(self, database: Database, library: Library, settings: Settings) -> None:
        self._database = database
        self._library = library
        self._settings = settings
        self._folder = database.home / "evaluations"
        self._making = threading.Lock()
        self._lock = threading.Lock()
        self._opened: dict[RechunkScope, RechunkedLibrary] = {}  # most recently made or found

    def prepare(
        self, options: RunOptions, report: ProgressCallback = ignore_progress, stop: Cancellation | None = None
    ) -> None:
        """Make sure that the current documents are available in the passages that the options call for.

        Returns at once if they are, or if these are the library's own. Raises `BadRequest` if there is nothing to
        split into passages of another size or a document cannot be split; `ModelFault`, `HomeFault`, `Stopped`.
        Nothing half-made is left behind.
        """
        scope = _rechunk_scope(options, self._user)
        if scope is None:
            return
        with self._making:
            (self._unlimited or self).remove_stale()
            sources = self._sources(scope)
            if not sources and options.passage_size:
                raise BadRequest("There are no documents to split.", "Add some first.")
            if not sources:
                return
            folder = self._folder / self._name(scope, sources)
            if not folder.is_dir():
                self._make(scope, sources, folder, report, stop or Cancellation())
            self._open(scope, folder)

    def retriever(self, options: RunOptions) -> Retriever:
        """Return the retriever for these options. Raises `NotFound` if the rechunked library is gone."""
        scope = _rechunk_scope(options, self._user)
        if scope is None or not (options.passage_size or self._sources(scope)):
            return self._library.retriever
        with self._lock:
            opened = self._opened.get(scope)
        if opened is None or not opened.folder.is_dir():
            opened = self._find(scope)
        return RechunkedRetriever(opened, scope.chunking)

    def remove_stale(self) -> None:
        """Remove libraries unused for a day, those that no longer match the documents, and unfinished ones."""
        for left in self._folder.glob(".cut-*.*"):
            if not is_process_alive(left.name.split(".")[2]):
                shutil.rmtree(left, ignore_errors=True)
        for folder in self._folder.glob("cut-*"):
            with suppress(OSError, ModelFault):  # another process may be removing it too
                idle = time.time() - folder.stat().st_mtime
                if idle > _IDLE_SECONDS or (idle > _STALE_SECONDS and self._is_stale(folder)):
                    self._discard(folder)
                    shutil.rmtree(folder)

    def close(self) -> None:
        """Close all open libraries."""
        with self._lock:
            opened = list(self._opened.values())
            self._opened.clear()
        for cut in opened:
            cut.close()

    def _find(self, scope: RechunkScope) -> RechunkedLibrary:
        """Open a library that an earlier process left."""
        folder = self._folder / self._name(scope, self._sources(scope))
        if not folder.is_dir():
            raise NotFound(
                f"The documents split into passages of {scope.chunking.describe()} no longer exist.",
                "Run the evaluation again, or ask in the chat.",
            )
        return self._open(scope, folder)

    def _make(
        self, scope: RechunkScope, sources: list[Source], folder: Path, report: ProgressCallback, stop: Cancellation
    ) -> None:
        with staging_folder(folder) as work:
            made = work / "made"
            rechunker = Rechunker(self._library, self._database, self._settings, scope.chunking)
            rechunker.rechunk(sources, made, report, stop)
            (made / _SCOPE_FILE).write_text(json.dumps(asdict(scope)), "utf-8")
            with suppress(BadRequest):  # another process has made the same in the meantime
                move_into_place(made, folder)

    def _open(self, scope: RechunkScope, folder: Path) -> RechunkedLibrary:
        with self._lock:
            opened = self._opened.get(scope)
            if opened is None or opened.folder != folder:
                if opened:
                    opened.close()
                opened = self._opened[scope] = RechunkedLibrary(folder, self._library, self._settings)
            os.utime(folder)
            return opened

    def _discard(self, folder: Path) -> None:
        with self._lock:
            for scope in [scope for scope, cut in self._opened.items() if cut.folder == folder]:
                self._opened.pop(scope).close()

    def _sources(self, scope: RechunkScope) -> list[Source]:
        wanted = scope.source_ids
        library = self._library if self._user else self._library.for_user(scope.account or None)
        return [one for one in library.sources(scope.collection) if not wanted or one.id in wanted]

    def _name(self, scope: RechunkScope, sources: list[Source]) -> str:
        """Return a name that changes with the documents, the size, the embedder and the token counter."""
        return f"cut-{scope.chunking.size}-{_digest_parts(self._name_parts(scope, sources))}"

    def _name_parts(self, scope: RechunkScope, sources: list[Source]) -> Iterator[str]:
        yield from (
            _LAYOUT_VERSION,
            passage_counter_name(),
            self._library.space().id,
            scope.collection,
            *map(str, astuple(scope.chunking)),
            *scope.source_ids,
        )
        for one in sorted(sources, key=lambda one: one.id):
            yield from (one.id, one.sha256, one.title, one.collection)

    def _is_stale(self, folder: Path) -> bool:
        try:
            asked = json.loads((folder / _SCOPE_FILE).read_text("utf-8"))
            limits = asked["collection"], tuple(asked["source_ids"]), asked.get("account", "")
            scope = RechunkScope(Chunking(**asked["chunking"]), *limits)
        except (ValueError, LookupError, TypeError):
            return True
        return folder.name != self._name(scope, self._sources(scope))


def _rechunk_scope(options: RunOptions, user: str | None) -> RechunkScope | None:
    """Return None if the home's library already has the wanted passage size."""
    chunking = find_chunking(options)
    if chunking in (None, Chunking(CHUNK_TOKENS)):
        return None
    return RechunkScope(chunking, options.collection, tuple(sorted(options.source_ids)), document_owner(user))


def _digest_parts(parts: Iterator[str]) -> str:
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:16]


def _describe_rechunking(chunking: Chunking, titles: list[str]) -> str:
    notice = f"Your documents were searched in passages of up to {chunking.describe()}."
    if not titles:
        return notice
    named = ", ".join(f"“{title}”" for title in titles[:_MAX_NAMED_DOCUMENTS])
    more = ", …" if len(titles) > _MAX_NAMED_DOCUMENTS else ""
    files = format_count(len(titles), "file")
    unread = f"{files} missing, so the passages of the library were searched for them: {named}{more}."
    return f"{notice} {unread}"
