"""Exhaustive search: exact, in memory, quick to change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crag.library.index.idset import IdSet
from crag.protocols import Vectors

if TYPE_CHECKING:
    from crag.library.passages import Ids

    Found = tuple[Ids, Vectors]


class Exact:
    """Exhaustive search over passage ids: exact, in memory, quick to change.

    FAISS forbids searching while the index changes: callers must serialize access.
    """

    def __init__(self, dimension: int, index: Any | None = None) -> None:
        """Create an empty index, or wrap one read from a snapshot."""
        import faiss

        self.index: Any = index or faiss.IndexIDMap2(faiss.IndexFlatIP(dimension))

    @property
    def count(self) -> int:
        """Number of vectors."""
        return int(self.index.ntotal)

    def ids(self) -> Ids:
        """Return the ids of all vectors."""
        import faiss

        held: Ids = faiss.vector_to_array(self.index.id_map)
        return held

    def between(self, first: int, last: int) -> Ids:
        """Return the ids from `first` to `last`."""
        held = self.ids()
        return held[(held >= first) & (held <= last)]

    def add(self, ids: Ids, vectors: Vectors) -> None:
        """Add vectors of shape (len(ids), dimension)."""
        self.index.add_with_ids(vectors, ids)

    def remove(self, ids: Ids) -> None:
        """Remove these ids; unknown ones are ignored."""
        self.index.remove_ids(ids)

    def search(self, row: Vectors, limit: int, allowed: IdSet | None) -> Found:
        """Return at most `limit` ids with their inner products, highest first. `row` has the shape (1, dimension)."""
        import faiss

        chosen = faiss.SearchParameters(sel=allowed.selector) if allowed else None  # type: ignore[call-arg]
        similarities, ids = self.index.search(row, min(limit, self.count), params=chosen)
        found = ids[0] >= 0  # FAISS pads with -1 if it finds too few
        return ids[0][found], similarities[0][found]
