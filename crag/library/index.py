"""The nearest vectors of one space: a FAISS index in memory that follows the database and trusts it alone."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from crag.database import Database
from crag.library.passages import read_vector_ids, stream_vectors
from crag.library.rows import read_epoch
from crag.library.snapshot import Header, read_snapshot, write_snapshot
from crag.protocols import Vectors
from crag.types import Space

if TYPE_CHECKING:
    from crag.library.passages import Ids

# A rebuild of this many vectors is worth a write at once; fewer wait for a quiet moment.
_SAVE_AT_ONCE = 20_000


class VectorIndex:
    """Exact inner-product search by passage id. Safe to share: FAISS allows no search beside a change, so one lock."""

    def __init__(self, database: Database, space: Space, folder: Path) -> None:
        self._database = database
        self._space = space
        self._path = folder / f"{space.id}.faiss"
        self._lock = threading.Lock()
        self._index: Any = None
        self._epoch: int | None = None
        self._saved_epoch: int | None = None

    def search(self, vector: Vectors, limit: int, allowed: Ids | None = None) -> list[int]:
        """Ids of at most `limit` passages, nearest first; only of `allowed` ones where given."""
        import faiss

        with self._lock:
            self._catch_up()
            if not self._index.ntotal or (allowed is not None and not len(allowed)):
                return []
            chosen = None
            if allowed is not None:
                chosen = faiss.SearchParameters(sel=faiss.IDSelectorBatch(allowed))  # type: ignore[call-arg]
            faiss.omp_set_num_threads(1)  # of the calling thread; for one query more threads only wait for each other
            row = np.ascontiguousarray(vector, dtype=np.float32).reshape(1, -1)
            _, found = self._index.search(row, min(limit, self._index.ntotal), params=chosen)
        return [int(id_) for id_ in found[0] if id_ >= 0]

    def ids(self) -> set[int]:
        """The ids of all passages that can be found."""
        import faiss

        with self._lock:
            self._catch_up()
            return set(faiss.vector_to_array(self._index.id_map).tolist())

    def save(self) -> None:
        """Writes the snapshot if the index is in use and has changed. A disk that refuses costs only time later."""
        with self._lock:
            self._save()

    def _save(self) -> None:
        if self._index is None or self._epoch is None or self._epoch == self._saved_epoch:
            return
        header = Header(self._space.id, self._epoch, self._index.ntotal, self._space.dimension)
        try:
            write_snapshot(self._path, header, self._index)
        except (OSError, RuntimeError):  # a full or read-only disk: the database holds everything
            return
        self._saved_epoch = self._epoch

    def _catch_up(self) -> None:
        """Brings the index to the present epoch, whoever changed the library."""
        import faiss

        with self._database.snapshot() as connection:
            epoch = read_epoch(connection)
            if epoch == self._epoch:
                return
            if self._index is None:
                self._open(epoch)
            held = faiss.vector_to_array(self._index.id_map)
            present = read_vector_ids(connection, self._space.id)
            gone, new = np.setdiff1d(held, present), np.setdiff1d(present, held)
            if len(gone):
                self._index.remove_ids(gone)
            for ids, vectors in stream_vectors(connection, self._space.id, self._space.dimension, new):
                self._index.add_with_ids(vectors, ids)
        self._epoch = epoch
        if len(new) >= _SAVE_AT_ONCE:
            self._save()

    def _open(self, epoch: int) -> None:
        """Takes the snapshot if it is of this very state of the library, else begins with an empty index."""
        import faiss

        def is_wanted(header: Header) -> bool:
            expected = (self._space.id, self._space.dimension, epoch)
            return (header.space_id, header.dimension, header.epoch) == expected

        self._index = read_snapshot(self._path, is_wanted)
        if self._index is None:
            self._index = faiss.IndexIDMap2(faiss.IndexFlatIP(self._space.dimension))
        else:
            self._saved_epoch = epoch
