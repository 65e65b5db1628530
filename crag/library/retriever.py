"""The library in the role of a run's retriever."""

from __future__ import annotations

from crag.library.library import Library
from crag.options import RunOptions
from crag.types import Passage


class LibraryRetriever:
    """Searches within the collection and the sources that the run's options name."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def retrieve(self, query: str, options: RunOptions) -> list[Passage]:
        """See `Retriever`."""
        return self._library.search(query, options.k, options.collection, options.source_ids)

    def size(self, options: RunOptions) -> int:
        """See `Retriever`."""
        return self._library.size(options.collection, options.source_ids)

    def notice(self) -> str:
        """See `Retriever`."""
        return self._library.spaces.answering.notice()
