"""Sets of passage ids as flags."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from crag.library.passages import Ids


class IdSet:
    """Immutable set of passage ids, which count up from 1 and are never reused.

    Stored as flags: a million ids take a megabyte, and membership tests cost almost nothing.
    """

    def __init__(self, ids: Ids) -> None:
        self._flags: NDArray[np.bool_] = np.zeros(int(ids.max()) + 1 if len(ids) else 0, dtype=bool)
        self._flags[ids] = True

    @cached_property
    def count(self) -> int:
        """Number of ids."""
        return int(np.count_nonzero(self._flags))

    @cached_property
    def selector(self) -> Any:
        """The set as a FAISS selector, one bit per id; ids beyond the last bit are not in the set."""
        import faiss

        return faiss.IDSelectorBitmap(np.packbits(self._flags, bitorder="little"))  # type: ignore[arg-type,call-arg]

    def ids(self) -> Ids:
        """Return all ids in order."""
        return np.flatnonzero(self._flags)

    def between(self, first: int, last: int) -> Ids:
        """Return the ids from `first` to `last` in order."""
        return np.flatnonzero(self._flags[first : last + 1]) + first

    def contains(self, ids: Ids) -> NDArray[np.bool_]:
        """Return for each given id whether it is in the set."""
        inside = ids < len(self._flags)
        inside[inside] = self._flags[ids[inside]]
        return inside

    def without(self, ids: Ids) -> IdSet:
        """Return the set without these ids."""
        return IdSet(np.setdiff1d(self.ids(), ids, assume_unique=True))
