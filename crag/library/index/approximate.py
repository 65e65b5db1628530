"""Approximate search in an inverted file (IVF)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from crag.library.index.idset import IdSet
from crag.protocols import Vectors

if TYPE_CHECKING:
    from crag.library.passages import Ids


class Approximate:
    """Approximate index over passage ids, built at once; removed ids are filtered out. Memory-mapped where possible.

    FAISS's IVF with one byte per component (Jégou et al., PAMI 2011): k-means sorts the vectors into lists, and only
    the lists whose centroids are nearest to the query are searched.
    """

    def __init__(self, index: Any, nprobe: int, recall: float) -> None:
        """Wrap a FAISS index.

        `nprobe` is the number of lists to search; `recall` is the share of the true top 10 found with it.
        """
        self.index = index
        self.nprobe = nprobe
        self.recall = recall
        self.alive = IdSet(_ids_of(index))

    @property
    def count(self) -> int:
        """Number of vectors that can be found."""
        return self.alive.count

    @property
    def removed(self) -> int:
        """Number of vectors removed since the index was built."""
        return int(self.index.ntotal) - self.count

    def remove(self, ids: Ids) -> None:
        """Filter these ids out of future searches."""
        self.alive = self.alive.without(ids)

    def search(self, row: Vectors, limit: int, allowed: IdSet | None) -> Ids:
        """Return at most `limit` ids, nearest first within quantization error. `row` has the shape (1, dimension)."""
        import faiss

        chosen = faiss.SearchParametersIVF(nprobe=self._nprobe_for(allowed), sel=self._selector(allowed))  # type: ignore[call-arg]
        _, found = self.index.search(row, limit, params=chosen)
        ids: Ids = found[0][found[0] >= 0]
        return ids

    def _nprobe_for(self, allowed: IdSet | None) -> int:
        """Return more lists if few vectors are allowed, up to all: as many are then compared as without a filter."""
        share = allowed.count / self.index.ntotal if allowed else 1.0
        return min(int(self.index.nlist), math.ceil(self.nprobe / max(share, 1e-9)))

    def _selector(self, allowed: IdSet | None) -> Any:
        import faiss

        if not self.removed:
            return allowed.selector if allowed else None
        return faiss.IDSelectorAnd(allowed.selector, self.alive.selector) if allowed else self.alive.selector


def _ids_of(index: Any) -> Ids:
    import faiss

    lists = index.invlists
    sizes = [(number, lists.list_size(number)) for number in range(index.nlist)]
    parts = [faiss.rev_swig_ptr(lists.get_ids(number), size) for number, size in sizes if size]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)
