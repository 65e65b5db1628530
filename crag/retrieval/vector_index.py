"""Vector index of one space: a cache that follows the database and is never trusted over it.

Up to about 100 MB of vectors are compared exhaustively. Above that, most vectors are in an approximate index, which
is built in the background and memory-mapped. Newer vectors are compared exhaustively and removed ones are filtered
out until the next rebuild. The snapshot on disk is either intact and of this library, or ignored.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

import numpy as np
from sqlalchemy import Connection

from crag.cancellation import Cancellation
from crag.concurrency.workers import BackgroundWorker
from crag.errors import HomeFault, ModelFault
from crag.retrieval.full_text import merge_intervals
from crag.retrieval.index_layers import (
    NO_IDS,
    NO_SIMILARITIES,
    ApproximateIndex,
    BuiltIndex,
    ExactIndex,
    IdSet,
    LayeredIndex,
    build_approximate_index,
)
from crag.storage.engine import Database
from crag.storage.files import write_atomically
from crag.storage.passages import read_vector_ids, stream_vectors
from crag.storage.sources import read_changed_ranges, read_epoch
from crag.types import EmbeddingSpace, Vectors

if TYPE_CHECKING:
    from crag.retrieval.index_layers import Neighbours
    from crag.storage.passages import Ids


_MAGIC = "crag-vectors"
_VERSION = 2
_HEADER_BYTES = 4096
_CHECKSUM_BYTES = 32
_CHECKSUM_READ_BYTES = 1 << 20

IndexKind = Literal["exact", "approximate"]


@dataclass(frozen=True, slots=True)
class SnapshotHeader:
    """Metadata of a snapshot; for an approximate index also the number of lists to probe and its recall."""

    space_id: str
    epoch: int
    count: int
    dimension: int
    kind: IndexKind = "exact"
    nprobe: int = 0
    recall: float = 1.0
    magic: str = _MAGIC
    version: int = _VERSION


@dataclass(frozen=True, slots=True)
class IndexSnapshot:
    """A loaded snapshot: an exact index is in memory, an approximate one is memory-mapped."""

    header: SnapshotHeader
    index: Any


def write_snapshot(path: Path, header: SnapshotHeader, index: Any) -> None:
    """Write the index durably and atomically: readers see the old file or the new one. Raises `OSError`.

    File layout: the index in FAISS format (which FAISS can map only from the start of a file), one block of JSON (the
    header), then the SHA-256 of everything before.
    """
    import faiss

    digest = hashlib.sha256()

    def write(file: IO[bytes]) -> None:
        def pass_on(data: bytes) -> int:
            digest.update(data)
            return file.write(data)

        faiss.write_index(index, faiss.PyCallbackIOWriter(pass_on))  # type: ignore[attr-defined]
        pass_on(json.dumps(asdict(header)).encode().ljust(_HEADER_BYTES))
        file.write(digest.digest())

    write_atomically(path, write, path.parent.parent)


def read_snapshot(path: Path, is_wanted: Callable[[SnapshotHeader], bool]) -> IndexSnapshot | None:
    """Return None if the file is missing, damaged, of another version, or not wanted.

    Reads the whole file once for its checksum, which also leaves it in the system's page cache for the mapping.
    """
    import faiss

    if not path.is_file():  # opening a named pipe would block until someone writes to it
        return None
    try:
        with path.open("rb") as file:
            header = _read_header(file)
            if header is None or not is_wanted(header) or not _has_valid_checksum(file):
                return None
            index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC if header.kind == "approximate" else 0)
            if not os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return None  # the file was replaced meanwhile, so the verified file is not the loaded one
    except (OSError, RuntimeError):  # FAISS raises RuntimeError for unreadable files
        return None
    return IndexSnapshot(header, index) if (index.ntotal, index.d) == (header.count, header.dimension) else None


def _read_header(file: IO[bytes]) -> SnapshotHeader | None:
    file.seek(-_HEADER_BYTES - _CHECKSUM_BYTES, os.SEEK_END)
    try:
        header = SnapshotHeader(**json.loads(file.read(_HEADER_BYTES)))
    except (ValueError, TypeError):
        return None
    return header if (header.magic, header.version) == (_MAGIC, _VERSION) else None


def _has_valid_checksum(file: IO[bytes]) -> bool:
    digest = hashlib.sha256()
    left = file.seek(-_CHECKSUM_BYTES, os.SEEK_END)
    file.seek(0)
    while piece := file.read(min(_CHECKSUM_READ_BYTES, left)):
        digest.update(piece)
        left -= len(piece)
    return file.read() == digest.digest()


# This many bytes are compared exhaustively in a few milliseconds; the crossover was measured.
_EXACT_BYTES = 100_000_000
_RECALL_QUERIES = 200
_ALL_IDS = (0, 2**62)
_MERGE_GAP = 1_000
_CLOSING_SECONDS = 10.0
_RETRY_SECONDS = 60.0
_log = logging.getLogger(__name__)

QuerySampler = Callable[[int], Vectors]


@dataclass(frozen=True, slots=True)
class IndexState:
    """The state of the index.

    `count` vectors are held in an index of this `kind`, `recent` of them compared exhaustively. `recall` is the
    measured recall.
    """

    kind: IndexKind
    count: int
    recent: int
    recall: float
    from_disk: bool
    building: bool


class VectorIndex:
    """Inner-product search over passage ids. Safe to share between threads."""

    def __init__(
        self,
        database: Database,
        space: EmbeddingSpace,
        folder: Path,
        sample: QuerySampler,
        exact_bytes: int = _EXACT_BYTES,
    ) -> None:
        """Create the index without reading it. `sample(n)` embeds n likely questions to measure recall with.

        `sample` may raise `ModelFault`.
        """
        self._database = database
        self._space = space
        self._path = folder / f"{space.id}.faiss"
        self._sample = sample
        self._exact_limit = max(1, exact_bytes // (4 * space.dimension))
        self._lock = threading.Lock()  # FAISS forbids searching while the index changes
        self._layers = self._new_layers(None)
        self._epoch: int | None = None
        self._saved_epoch: int | None = None
        self._next_try = 0.0
        self._builder = BackgroundWorker("vector index", self._build)
        self._builder.start()

    def search(self, vector: Vectors, limit: int, allowed: IdSet | None = None) -> list[int]:
        """Return the ids of at most `limit` passages, nearest first, restricted to `allowed` if given."""
        import faiss

        row = np.ascontiguousarray(vector, dtype=np.float32).reshape(1, -1)
        with self._lock:
            self._catch_up()
            if allowed is not None and not allowed.count:
                return []
            faiss.omp_set_num_threads(1)  # for this thread; more threads do not speed up a single query
            near, (recent, similarities) = self._layers.search(row, limit, allowed)
        near, compared = self._compare(row, near)
        ids = np.concatenate([near, recent])
        best = np.argsort(-np.concatenate([compared, similarities]), kind="stable")[:limit]
        return [int(id_) for id_ in ids[best]]

    def ids(self) -> set[int]:
        """Return the ids of all passages that can be found."""
        with self._lock:
            self._catch_up()
            return {*self._layers.between(*_ALL_IDS).tolist()}

    def state(self) -> IndexState:
        """Return the current state."""
        with self._lock:
            self._catch_up()
            base, recent = self._layers.base, self._layers.recent
            kind: IndexKind = "approximate" if base else "exact"
            recall = base.recall if base else 1.0
            is_saved, is_building = self._saved_epoch is not None, self._builder.is_busy
            return IndexState(kind, self._layers.count, recent.count, recall, is_saved, is_building)

    def save(self) -> None:
        """Write an in-memory index to disk if it changed. A failed write only costs time at the next start."""
        with self._lock:
            self._save()

    def close(self) -> None:
        """Cancel a running build, then save."""
        self._builder.close(_CLOSING_SECONDS)
        self.save()

    def _compare(self, row: Vectors, ids: Ids) -> Neighbours:
        """Return the candidates of the approximate index with exact similarities, computed from the stored vectors."""
        blocks = list(self._read(ids))
        found = np.concatenate([NO_IDS, *(block for block, _ in blocks)])
        return found, np.concatenate([NO_SIMILARITIES, *(vectors @ row[0] for _, vectors in blocks)])

    def _save(self) -> None:
        """Save the exact index.

        An approximate index was saved when it was built, and newer vectors are quick to read again.
        """
        if self._layers.base or self._epoch is None or self._epoch == self._saved_epoch:
            return
        header = SnapshotHeader(self._space.id, self._epoch, self._layers.count, self._space.dimension)
        if self._write(header, self._layers.recent.index):
            self._saved_epoch = self._epoch

    def _write(self, header: SnapshotHeader, index: Any) -> bool:
        try:
            write_snapshot(self._path, header, index)
        except (OSError, RuntimeError):  # a full or read-only disk; the database has all vectors
            return False
        return True

    def _catch_up(self) -> None:
        """Bring the index to the current epoch, whichever process changed the library."""
        with self._database.snapshot() as connection:
            epoch = read_epoch(connection)
            if epoch != self._epoch:
                changes = None if self._epoch is None else read_changed_ranges(connection, self._epoch)
                if changes is None:  # not opened yet, or the database was restored from a backup
                    changes = self._open(connection)
                self._follow(connection, changes)
                self._epoch = epoch
        if self._layers.needs_rebuild(self._exact_limit):
            self._start_building()

    def _open(self, connection: Connection) -> list[tuple[int, int]]:
        """Load the snapshot if it belongs to this library, else start empty; return the id ranges changed since."""

        def is_wanted(header: SnapshotHeader) -> bool:
            expected = (self._space.id, self._space.dimension)
            known = (header.space_id, header.dimension) == expected
            return known and read_changed_ranges(connection, header.epoch) is not None

        self._layers, self._saved_epoch = self._new_layers(None), None
        snapshot = read_snapshot(self._path, is_wanted)
        if snapshot is None:
            return [_ALL_IDS]
        header = snapshot.header
        self._saved_epoch = header.epoch
        if header.kind == "exact":
            self._layers = LayeredIndex(None, ExactIndex(self._space.dimension, snapshot.index))
        else:
            self._layers = self._new_layers(ApproximateIndex(snapshot.index, header.nprobe, header.recall))
        return read_changed_ranges(connection, header.epoch) or []

    def _new_layers(self, base: ApproximateIndex | None) -> LayeredIndex:
        return LayeredIndex(base, ExactIndex(self._space.dimension))

    def _follow(self, connection: Connection, changes: Iterable[tuple[int, int]]) -> None:
        """Synchronize the index with the database within these id ranges."""
        gone, new = [NO_IDS], [NO_IDS]
        for first, last in merge_intervals(changes, _MERGE_GAP):
            held = self._layers.between(first, last)
            present = read_vector_ids(connection, self._space.id, first, last)
            gone.append(np.setdiff1d(held, present, assume_unique=True))
            new.append(np.setdiff1d(present, held, assume_unique=True))
        self._layers.remove(np.concatenate(gone))
        added = np.concatenate(new)
        for ids, vectors in stream_vectors(connection, self._space.id, self._space.dimension, added):
            self._layers.recent.add(ids, vectors)

    def _start_building(self) -> None:
        if not self._builder.is_busy and time.monotonic() >= self._next_try:
            self._next_try = time.monotonic() + _RETRY_SECONDS
            self._builder.wake()

    def _build(self, stop: Cancellation) -> None:
        """Build a new approximate index while searches use the old one, then replace it."""
        try:
            with self._database.snapshot() as connection:
                epoch, ids = read_epoch(connection), read_vector_ids(connection, self._space.id, *_ALL_IDS)
            built = build_approximate_index(ids, self._read, self._sample(_RECALL_QUERIES), stop)
        except (HomeFault, ModelFault, MemoryError, RuntimeError):  # FAISS raises RuntimeError when out of memory
            _log.warning("Could not build the approximate index; all vectors are compared until then", exc_info=True)
            return
        base = self._map(built, epoch)
        with self._lock:  # the next search applies what changed during the build
            self._layers, self._epoch, self._next_try = self._new_layers(base), epoch, 0.0

    def _read(self, ids: Ids) -> Iterator[tuple[Ids, Vectors]]:
        with self._database.read() as connection:
            yield from stream_vectors(connection, self._space.id, self._space.dimension, ids)

    def _map(self, built: BuiltIndex, epoch: int) -> ApproximateIndex:
        """Memory-map the index from its file to save memory; keep it in memory if the file cannot be used."""
        header = SnapshotHeader(
            self._space.id, epoch, built.index.ntotal, self._space.dimension, "approximate", built.nprobe, built.recall
        )
        snapshot = read_snapshot(self._path, header.__eq__) if self._write(header, built.index) else None
        if snapshot:
            self._saved_epoch = epoch
        return ApproximateIndex(snapshot.index if snapshot else built.index, built.nprobe, built.recall)
