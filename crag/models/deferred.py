"""Embedder that is opened on first use, to keep the start fast."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from crag.protocols import Embedder, Vectors
from crag.settings import Settings
from crag.types import Space


class DeferredEmbedder:
    """The embedder called `name`, opened on first use. Thread-safe."""

    def __init__(self, name: str, settings: Settings) -> None:
        self._name = name
        self._settings = settings
        self._lock = threading.Lock()
        self._opened: Embedder | None = None

    @property
    def space(self) -> Space:
        """Embedding space, as in `Embedder`. Raises `ModelFault` when it cannot be opened."""
        return self._open().space

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Embed documents, as in `Embedder`. Raises `ModelFault` when it cannot be opened."""
        return self._open().embed_documents(texts)

    def embed_query(self, text: str) -> Vectors:
        """Embed a query, as in `Embedder`. Raises `ModelFault` when it cannot be opened."""
        return self._open().embed_query(text)

    def _open(self) -> Embedder:
        from crag.models.embeddings import open_embedder

        with self._lock:
            if self._opened is None:
                self._opened = open_embedder(self._name, self._settings)
            return self._opened
