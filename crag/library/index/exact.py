"""The nearest vectors by comparing with every one: exact, in memory, quick to change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crag.library.index.idset import IdSet
from crag.protocols import Vectors

if TYPE_CHECKING:
    from crag.library.passages import Ids

    Found = tuple[Ids, Vectors]


class Exact:
    """Vectors by passage id. FAISS allows no search beside a change: the caller keeps them apart."""

    def __init__(self, dimension: int, index: Any | None = None) -> None:
        """Empty, or over an index that was read from a snapshot."""
        import faiss

        self.index: Any = index or faiss.IndexIDMap2(faiss.IndexFlatIP(dimension))

    @property
    def count(self) -> int:
        """How many vectors there are."""
        return int(self.index.ntotal)

    def ids(self) -> Ids:
        """The ids of all vectors."""
        import faiss

        held: Ids = faiss.vector_to_array(self.index.id_map)
        return held

    def between(self, first: int, last: int) -> Ids:
        """The ids from `first` to `last`."""
        held = self.ids()
        return held[(held >= first) & (held <= last)]

    def add(self, ids: Ids, vectors: Vectors) -> None:
        """Adds vectors of shape (len(ids), dimension)."""
        self.index.add_with_ids(vectors, ids)

    def remove(self, ids: Ids) -> None:
        """Removes what is there of these."""
        self.index.remove_ids(ids)

    def search(self, row: Vectors, limit: int, allowed: IdSet | None) -> Found:
        """At most `limit` ids with their inner products, highest first. `row` has the shape (1, dimension)."""
        import faiss

        chosen = faiss.SearchParameters(sel=allowed.selector) if allowed else None  # type: ignore[call-arg]
        similarities, ids = self.index.search(row, min(limit, self.count), params=chosen)
        found = ids[0] >= 0  # FAISS fills up with -1 where it finds fewer than are wanted
        return ids[0][found], similarities[0][found]
