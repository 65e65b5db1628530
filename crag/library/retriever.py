"""Retriever of a run, backed by the library."""

from __future__ import annotations

from crag.library.library import Library
from crag.options import RunOptions
from crag.types import Passage


class LibraryRetriever:
    """The retriever of a run: searches the collection and the sources that its options name."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def retrieve(self, query: str, options: RunOptions) -> list[Passage]:
        """Search the library, see `Retriever`."""
        return self._library.search(query, options.k, options.collection, options.source_ids)

    def size(self, options: RunOptions) -> int:
        """Count the searchable passages, see `Retriever`."""
        return self._library.size(options.collection, options.source_ids)

    def notice(self) -> str:
        """Return the embedder's notice, see `Retriever`."""
        return self._library.spaces.answering.notice()
