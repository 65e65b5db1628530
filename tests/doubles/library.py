"""A small, fast and deterministic embedder and reader."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from crag.cancellation import Cancellation
from crag.errors import ModelFault, SourceRefused
from crag.ingest.reader import RawDocument, ReadDocument
from crag.library.library import Library
from crag.protocols import ConfiguredEmbedder
from crag.retrieval.active_embedder import CANARY
from crag.retrieval.vector_index import VectorIndex
from crag.settings import Settings
from crag.storage.engine import Database
from crag.text.language import extract_terms
from crag.types import Chunk, EmbeddingSpace, ProgressCallback, Vectors


class HashEmbedder:
    """Counts words by their hash: texts that share words lie near each other."""

    def __init__(self, model: str = "hash", dimension: int = 64) -> None:
        self.space = EmbeddingSpace("double", model, "1", dimension)
        self.before_batch: Callable[[], None] = lambda: None
        self.embedded = 0
        self.asked: list[str] = []
        self.gone = False
        self.weights = ""  # others make other vectors under the same fingerprint

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.before_batch()
        self.embedded += sum(text != CANARY for text in texts)
        return np.stack([self._vector(text) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        self.asked.append(text)
        return self._vector(text)

    def _vector(self, text: str) -> Vectors:
        row = np.full(self.space.dimension, 1e-3, dtype=np.float32)
        for term in extract_terms(text):
            digest = hashlib.sha256((self.space.model + self.weights + term).encode()).digest()
            row[int.from_bytes(digest[:4], "little") % self.space.dimension] += 1
        return row / np.linalg.norm(row)


class LineReader:
    """One passage a line, a page every third line; `# ` begins a heading, `REFUSE` a refusal."""

    def __init__(self) -> None:
        self.reading = threading.Event()
        self.may_end = threading.Event()
        self.may_end.set()

    def __call__(self, document: RawDocument, report: ProgressCallback, stop: Cancellation) -> ReadDocument:
        self.reading.set()
        while not self.may_end.wait(0.01):
            stop.check()
        text = document.data.decode()
        if text.startswith("REFUSE"):
            raise SourceRefused("corrupt", "The file is damaged.", "Open it and save it again.")
        heading, chunks = "", []
        for line in text.splitlines():
            if line.startswith("# "):
                heading = line[2:]
            elif line.strip():
                n = len(chunks)
                chunks.append(Chunk(line, n // 3 + 1, heading, n, max(0, n - 1), n + 1))
        return ReadDocument(document.name, "text", None, chunks)


class Shelf:
    """All the embedders there are; the first is the one that the settings want."""

    def __init__(self, *embedders: HashEmbedder, explicit: bool = True) -> None:
        self.embedders = list(embedders)
        self.explicit = explicit

    def wanted(self) -> ConfiguredEmbedder:
        return ConfiguredEmbedder(self.embedders[0].space.name, self.explicit)

    def open(self, name: str) -> HashEmbedder:
        for embedder in self.embedders:
            if embedder.space.name == name and not embedder.gone:
                return embedder
        raise ModelFault("unreachable", f"{name} does not answer.", "Start it.", "passing")


def open_library(
    home: Path, embedder: HashEmbedder | None = None, *, shelf: Shelf | None = None, url: str = "", **options: object
) -> Library:
    """A library over doubles."""
    settings = Settings(home=home, max_upload_mb=1)
    options = {"read": LineReader()} | options
    shelf = shelf or Shelf(embedder or HashEmbedder())
    return Library(Database(home, url), shelf, lambda text: len(text.split()), settings, **options)


def index_of(library: Library) -> VectorIndex:
    """The index of the space that answers, or the empty one of a library that was emptied."""
    space = library.spaces.active_embedder.active_space().space or library.space()
    return library.retriever.open_index(space)
