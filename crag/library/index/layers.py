"""Layers of the vector index: an approximate base built at once, and an exact layer of newer vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from crag.library.index.approximate import Approximate
from crag.library.index.building import SPARE
from crag.library.index.exact import Exact
from crag.library.index.idset import IdSet
from crag.protocols import Vectors

if TYPE_CHECKING:
    from crag.library.index.exact import Found
    from crag.library.passages import Ids

# Share of new or removed vectors at which the base is rebuilt.
_REBUILD_SHARE = 0.1
NONE = np.empty(0, dtype=np.int64)
NOTHING = np.empty(0, dtype=np.float32)


@dataclass(frozen=True, slots=True)
class Layers:
    """A base index, built at once, under an exact layer of newer vectors; small libraries have no base.

    FAISS forbids searching while the index changes: callers must serialize access.
    """

    base: Approximate | None
    recent: Exact

    @property
    def count(self) -> int:
        """Number of vectors that can be found."""
        return self.recent.count + (self.base.count if self.base else 0)

    def between(self, first: int, last: int) -> Ids:
        """Return the ids from `first` to `last`."""
        recent = self.recent.between(first, last)
        return np.concatenate([self.base.alive.between(first, last), recent]) if self.base else recent

    def remove(self, ids: Ids) -> None:
        """Remove these ids from both layers."""
        if len(ids):
            self.recent.remove(ids)
            if self.base:
                self.base.remove(ids)

    def search(self, row: Vectors, limit: int, allowed: IdSet | None) -> tuple[Ids, Found]:
        """Return the oversampled candidates of the base, still to be compared, and the nearest of the newer vectors."""
        near = self.base.search(row, SPARE * limit, allowed) if self.base else NONE
        return near, self.recent.search(row, limit, allowed) if self.recent.count else (NONE, NOTHING)

    def needs_rebuild(self, exact_limit: int) -> bool:
        """Return whether too many vectors are compared exhaustively, or too many of the base are filtered out."""
        if self.base is None:
            return self.recent.count > exact_limit
        size = self.base.count + self.base.removed
        return self.recent.count > max(exact_limit, _REBUILD_SHARE * size) or self.base.removed > _REBUILD_SHARE * size
