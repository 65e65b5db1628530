"""Sets of passage ids as flags: a million take a megabyte, and asking for some of them costs next to nothing."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from crag.library.passages import Ids


class IdSet:
    """Passage ids, which count up from 1 and are never used again. Does not change."""

    def __init__(self, ids: Ids) -> None:
        self._flags: NDArray[np.bool_] = np.zeros(int(ids.max()) + 1 if len(ids) else 0, dtype=bool)
        self._flags[ids] = True

    @cached_property
    def count(self) -> int:
        """How many there are."""
        return int(np.count_nonzero(self._flags))

    @cached_property
    def selector(self) -> Any:
        """The set as FAISS takes it, one bit an id; what lies beyond the last bit is not in the set."""
        import faiss

        return faiss.IDSelectorBitmap(np.packbits(self._flags, bitorder="little"))  # type: ignore[arg-type,call-arg]

    def ids(self) -> Ids:
        """All of them in order."""
        return np.flatnonzero(self._flags)

    def between(self, first: int, last: int) -> Ids:
        """Those from `first` to `last` in order."""
        return np.flatnonzero(self._flags[first : last + 1]) + first

    def contains(self, ids: Ids) -> NDArray[np.bool_]:
        """Whether each of the given ids is in the set."""
        inside = ids < len(self._flags)
        inside[inside] = self._flags[ids[inside]]
        return inside

    def without(self, ids: Ids) -> IdSet:
        """The set without these."""
        return IdSet(np.setdiff1d(self.ids(), ids, assume_unique=True))
