"""Splits documents of the library to another passage size, into a library of their own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from sqlalchemy import select

from crag.database import Database
from crag.database.tables import passages
from crag.database.tables import sources as source_rows
from crag.errors import BadRequest
from crag.library import Library
from crag.library.adding.ingest import Incoming
from crag.library.adding.intake import IMPORTED
from crag.library.adding.parallel import map_in_order
from crag.library.adding.reading import CHUNK_OVERLAP, Bytes, GuardedReader, Read, Reading
from crag.library.adding.split import Chunk
from crag.library.exchange.manifest import original_name
from crag.library.search.weights import write_weight
from crag.models.tokens import count_passage_tokens, passage_counter_name
from crag.progress import Report
from crag.protocols import Embedder, WantedEmbedder
from crag.settings import Settings
from crag.stopping import Stop
from crag.types import AddResult, Progress, Source

UNCUT = "as in the library"  # stored as the chunker if there is no file to split
# Media types by kind, for files whose name does not give one; the web server is not asked again.
_TYPES = {
    "html": "text/html",
    "markdown": "text/markdown",
    "csv": "text/csv",
    "json": "application/json",
    "eml": "message/rfc822",
}


class _SameEmbedder:
    """Embeds with the home's embedder, whatever the settings name; see `Embedders`."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def wanted(self) -> WantedEmbedder:
        return WantedEmbedder(self._library.space().name, explicit=True)

    def open(self, name: str) -> Embedder:  # noqa: ARG002 — there is only one
        return self._library.spaces.answering.to_store()[1]


class CutLibrary:
    """A library of rechunked documents that uses the embedder of the home's `library`; close it when done."""

    def __init__(self, folder: Path, library: Library, settings: Settings) -> None:
        """Open the library in this folder, or create it. Raises `HomeFault`."""
        self.folder = folder
        self.database = Database(folder)
        self.library = Library(self.database, _SameEmbedder(library), count_passage_tokens, settings)

    def uncut(self) -> list[str]:
        """Return the titles of the documents that keep the passages of the home."""
        query = select(source_rows.c.title).where(source_rows.c.chunker == UNCUT).order_by(source_rows.c.title)
        with self.database.read() as connection:
            return list(connection.scalars(query))

    def close(self) -> None:
        """Close the library and its database."""
        self.library.close()
        self.database.close()


@dataclass(frozen=True, slots=True)
class Cutting:
    """Splits documents of `library`, whose rows are in `database`, into passages of at most `size` tokens."""

    library: Library
    database: Database
    settings: Settings
    size: int

    def cut(self, sources: Sequence[Source], folder: Path, report: Report, stop: Stop) -> None:
        """Make a library in this new folder. Raises `Stopped`, or `BadRequest` for a document that cannot be added.

        A document without a file to split (imported as passages, or lost) keeps the passages of the home. Every
        document keeps its id, and vector scores keep the weight they have in the home.
        """
        stage = f"Cutting documents to {self.size} tokens"
        report(Progress(stage, 0, len(sources)))
        with closing(CutLibrary(folder, self.library, self.settings)) as made:
            add = partial(self._add, made)
            for done, _ in enumerate(map_in_order(add, sources, stop), start=1):
                report(Progress(stage, done, len(sources)))
            stop.check()
            for space in self.library.spaces.reports():
                if space.state == "answering" and space.weight.origin == "fitted":
                    write_weight(made.database, space.space, space.weight.share)

    def _add(self, made: CutLibrary, source: Source, stop: Stop) -> None:
        result = self._add_cut(made, source, stop) or self._add_uncut(made, source, stop)
        if result and result.error:
            raise BadRequest(
                f"“{source.title}” could not be put into other passages: {result.error.message}", "Try again."
            )

    def _add_cut(self, made: CutLibrary, source: Source, stop: Stop) -> AddResult | None:
        """Add a document split from its file; None if there is no file or it cannot be split."""
        path = self.library.original(source.id)
        if path is None or source.kind == IMPORTED:
            return None
        _share(path, made.folder / original_name(source.sha256))
        document = Bytes(Path(source.location).name, path.read_bytes(), _TYPES.get(source.kind, ""))
        result = made.library.add_reading(_incoming(source, document), self._reader(source), stop=stop)
        return result if result.error is None or result.error.code == "embedding_failed" else None

    def _reader(self, source: Source) -> Read:
        read = GuardedReader(count_passage_tokens, self.settings.max_upload_bytes, self.size)
        chunker = f"{passage_counter_name()}:{self.size}/{CHUNK_OVERLAP}"

        def cut(document: Bytes, report: Report, stop: Stop) -> Reading:
            return replace(read(document, report, stop), title=source.title, chunker=chunker)

        return cut

    def _add_uncut(self, made: CutLibrary, source: Source, stop: Stop) -> AddResult | None:
        """Add a document with the passages of the home; None if it has been removed in the meantime."""
        with self.database.read() as connection:
            rows = connection.execute(
                select(passages).where(passages.c.source_id == source.id).order_by(passages.c.ordinal)
            ).all()
        chunks = [
            Chunk(row.text, row.page, row.heading, row.ordinal, row.context_start, row.context_end) for row in rows
        ]
        reading = Reading(source.title, source.kind, source.pages, chunks, chunker=UNCUT)
        document = Bytes(source.title, source.id.encode())
        return made.library.add_reading(_incoming(source, document), lambda *_: reading, stop=stop) if chunks else None


def _incoming(source: Source, document: Bytes) -> Incoming:
    return Incoming(
        source.location, source.location, False, source.collection, document, source.found_by, source_id=source.id
    )


def _share(original: Path, path: Path) -> None:
    """Hard-link the original file, so that it is not stored twice."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(OSError):  # no hard links on this file system: adding copies the file
        os.link(original, path)
