"""Ingest pipeline: bytes turned into passages and vectors, stored in one commit."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from crag.errors import ModelFault, SourceRefused
from crag.library.adding.reading import Bytes, Read, Reading
from crag.library.adding.split import HEADING_SEPARATOR
from crag.library.cleaning import clean_text, display_name
from crag.library.collections import collection_name
from crag.library.originals import Originals
from crag.library.rows import Description, Identity, NewPassages, Stored
from crag.library.search.fulltext import passage_terms
from crag.library.spaces.answering import Answering
from crag.library.store import SpaceSwitched, Store
from crag.progress import Report
from crag.protocols import Embedder, Vectors
from crag.stopping import Stop
from crag.types import AddResult, Progress

_SMALLEST_BATCH, _LARGEST_BATCH = 4, 32
_BATCH_SECONDS = 1.0
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Incoming:
    """One document to ingest, with its bytes.

    `asked` is what the user named. `located` means that `location` identifies the source permanently. `found_by` is the
    question whose web search found it; empty for documents named by the user. `source_id` is the id to use; empty to
    create one.
    """

    asked: str
    location: str
    located: bool
    collection: str
    document: Bytes
    found_by: str = ""
    source_id: str = ""


class Ingest:
    """Ingests one document at a time. Safe to use from several threads and processes at once.

    Reading and embedding come first; a short transaction then makes the source visible.
    """

    def __init__(
        self, store: Store, originals: Originals, answering: Answering, read: Read, chunker: str, limit_bytes: int
    ) -> None:
        self._store = store
        self._originals = originals
        self._answering = answering
        self._read = read
        self._chunker = chunker
        self._limit_bytes = limit_bytes

    def add(self, incoming: Incoming, report: Report, stop: Stop, read: Read | None = None) -> AddResult:
        """Ingest one document and return the result after the commit.

        `read` replaces the file reader. Raises `SourceRefused`, `ModelFault`, `HomeFault`, `Stopped`.
        """
        check_size(len(incoming.document.data), self._limit_bytes)
        identity = _identify(incoming)
        if twin := self._store.unchanged(identity):
            return AddResult(incoming.asked, twin.id, twin.title, "unchanged", twin.passages, twin.pages)
        report(Progress("Reading"))
        reading = (read or self._read)(incoming.document, report, stop)
        title = clean_text(reading.title).strip() or display_name(incoming.document.name)
        said = (clean_text(reading.author), reading.published, clean_text(incoming.found_by))
        chunker = reading.chunker or self._chunker
        description = Description(title, reading.kind, reading.pages, chunker, *said)

        def prepare() -> None:  # again: another worker may have released these bytes in the meantime
            self._originals.keep(identity.sha256, incoming.document.data)
            stop.check()

        def put(content: NewPassages) -> Stored:
            # Written before the transaction, so that a slow disk does not block other writers.
            self._originals.keep(identity.sha256, incoming.document.data)
            return self._store.put(identity, description, content, prepare, stop.check)

        stored = self._put(put, reading, report, stop)
        if stored.dropped:
            self._store.release([stored.dropped], self._originals.remove)
        counts = (len(reading.chunks), reading.pages)
        return AddResult(incoming.asked, stored.id, title, stored.status, *counts, note=reading.note)

    def _put(self, put: Callable[[NewPassages], Stored], reading: Reading, report: Report, stop: Stop) -> Stored:
        """Embed for the active space and store; start over if another space becomes active before the commit."""
        for _ in range(_ATTEMPTS):
            try:
                content = self._embed(reading, report, stop)
                report(Progress("Saving"))
                return put(content)
            except SpaceSwitched:
                continue
            except ModelFault as fault:
                if fault.code != "embedder_changed":
                    raise
        raise ModelFault("embedding_failed", "The embedder changed while it was at work.", "Add it again.", "passing")

    def _embed(self, reading: Reading, report: Report, stop: Stop) -> NewPassages:
        """Compute vectors and search terms of all chunks. Raises `SourceRefused` if there is no text."""
        if not reading.chunks:
            raise SourceRefused("no_text", "There is no text in it.", "If it is a scan, make its text readable first.")
        texts = [passage_text(chunk.heading, chunk.text) for chunk in reading.chunks]
        active, embedder = self._answering.to_store()
        vectors = reading.vectors if reading.space == embedder.space.id else None
        if vectors is None:
            vectors = embed_in_batches(embedder, texts, report, stop)
        terms = []
        for chunk, text in zip(reading.chunks, texts, strict=True):
            stop.check()
            above = passage_text(reading.title, text).removesuffix(
                chunk.text
            )  # so that words of the title find its passages
            terms.append(passage_terms(above, chunk.text))
        return NewPassages(reading.chunks, terms, vectors, embedder.space, embedder.canary, active.number)


def embed_in_batches(embedder: Embedder, texts: Sequence[str], report: Report, stop: Stop) -> Vectors:
    """Embed texts in batches whose size adapts to the model's speed; return one row per text.

    Raises `ModelFault`, `Stopped`.
    """
    import numpy as np

    rows: list[Vectors] = []
    done, size = 0, _SMALLEST_BATCH
    while done < len(texts):
        stop.check()
        report(Progress("Embedding passages", done, len(texts)))
        began = time.monotonic()
        rows.append(embedder.embed_documents(texts[done : done + size]))
        done += size
        size = _fitting_batch(size, time.monotonic() - began)
    return np.concatenate(rows)


def _fitting_batch(size: int, seconds: float) -> int:
    """Return how many texts to embed next. Slow models get few, because a running batch cannot be cancelled."""
    if seconds > _BATCH_SECONDS:
        return max(size // 2, _SMALLEST_BATCH)
    return min(size * 2, _LARGEST_BATCH) if seconds < _BATCH_SECONDS / 2 else size


def passage_text(heading: str, body: str) -> str:
    """Return the text of a passage that is embedded and searched: its body under the nearest heading.

    Higher headings are left out: they cover most of a document, so their words would lose all discriminating power.
    """
    nearest = heading.rpartition(HEADING_SEPARATOR)[2]
    return body if nearest in body[: 2 * len(nearest)] else f"{nearest}\n{body}"


def check_size(size: int, limit_bytes: int) -> None:
    """Raise `SourceRefused` if the size is zero or exceeds the limit, both in bytes."""
    if size == 0:
        raise SourceRefused("empty", "The file is empty.")
    if size > limit_bytes:
        raise SourceRefused(
            "too_large",
            f"It has {size / 1_048_576:,.1f} MB; the limit is {limit_bytes / 1_048_576:,.0f} MB.",
            "Split it, or raise CRAG_MAX_UPLOAD_MB.",
        )


def _identify(incoming: Incoming) -> Identity:
    """Return collection, location, SHA-256 and size of the input."""
    digest = hashlib.sha256(incoming.document.data).hexdigest()
    collection = collection_name(incoming.collection)
    # Paths are stored unchanged, so that the file can be read again; bytes that are not UTF-8 are escaped.
    location = incoming.location.encode("utf-8", "backslashreplace").decode()
    size = len(incoming.document.data)
    return Identity(collection, location, incoming.located, digest, size, incoming.source_id)
