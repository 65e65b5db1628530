"""Layers of the vector index: exact search, approximate search (IVF), id sets, building and measured recall."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from crag.cancellation import Cancellation
from crag.errors import Stopped
from crag.types import Vectors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from crag.storage.passages import Ids

    Neighbours = tuple[Ids, Vectors]
    ReadBlocks = Callable[[Ids], Iterable[tuple[Ids, Vectors]]]


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

    def difference(self, ids: Ids) -> IdSet:
        """Return the set without these ids."""
        return IdSet(np.setdiff1d(self.ids(), ids, assume_unique=True))


class ApproximateIndex:
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
        self.live_ids = IdSet(_read_index_ids(index))

    @property
    def count(self) -> int:
        """Number of vectors that can be found."""
        return self.live_ids.count

    @property
    def removed(self) -> int:
        """Number of vectors removed since the index was built."""
        return int(self.index.ntotal) - self.count

    def remove(self, ids: Ids) -> None:
        """Filter these ids out of future searches."""
        self.live_ids = self.live_ids.difference(ids)

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
        return faiss.IDSelectorAnd(allowed.selector, self.live_ids.selector) if allowed else self.live_ids.selector


def _read_index_ids(index: Any) -> Ids:
    import faiss

    lists = index.invlists
    sizes = [(number, lists.list_size(number)) for number in range(index.nlist)]
    parts = [faiss.rev_swig_ptr(lists.get_ids(number), size) for number, size in sizes if size]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


class ExactIndex:
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

    def search(self, row: Vectors, limit: int, allowed: IdSet | None) -> Neighbours:
        """Return at most `limit` ids with their inner products, highest first. `row` has the shape (1, dimension)."""
        import faiss

        chosen = faiss.SearchParameters(sel=allowed.selector) if allowed else None  # type: ignore[call-arg]
        similarities, ids = self.index.search(row, min(limit, self.count), params=chosen)
        found = ids[0] >= 0  # FAISS pads with -1 if it finds too few
        return ids[0][found], similarities[0][found]


RECALL_DEPTH = 10
OVERSAMPLING = 2  # factor by which candidates are oversampled before exact comparison
# A little above the wanted 0.98, because it is measured on a sample.
_TARGET_RECALL = 0.985
_LISTS_PER_ROOT = 2
_SAMPLES_PER_LIST = 64
_KMEANS_ROUNDS = 10


@dataclass(frozen=True, slots=True)
class BuiltIndex:
    """An index, the number of lists a search probes, and the share of the true nearest `RECALL_DEPTH` this finds."""

    index: Any
    nprobe: int
    recall: float


def build_approximate_index(ids: Ids, read: ReadBlocks, questions: Vectors, stop: Cancellation) -> BuiltIndex:
    """Train an approximate index on a sample, fill it in blocks, and choose its probes by measured recall.

    Memory holds a sample and one byte per component, never all vectors. `questions`, of shape (several hundred,
    dimension), serve to measure recall. They should resemble real questions, which are farther from the passages than
    the passages from each other. Raises `Stopped`, also if none of `ids` is left.
    """
    import faiss

    faiss.omp_set_num_threads(1)  # for this thread, because searches run at the same time
    rng = np.random.default_rng(1)
    lists = min(max(1, math.isqrt(len(ids)) * _LISTS_PER_ROOT), len(ids))
    chosen = np.sort(rng.choice(ids, min(len(ids), lists * _SAMPLES_PER_LIST), replace=False))
    sample = np.concatenate([vectors for _, vectors in read(chosen)])
    if not len(sample):  # all were removed meanwhile
        raise Stopped
    index = _train_index(sample, min(lists, len(sample)), stop)
    truth = _ExactNeighbours(questions)
    for block, vectors in read(ids):
        stop.check()
        index.add_with_ids(vectors, block)
        truth.add_block(block, vectors)
    return _tune_nprobe(index, questions, truth.ids, stop)


def _train_index(sample: Vectors, lists: int, stop: Cancellation) -> Any:
    """Return the empty index with its centroids.

    K-means runs round by round, so that it can be cancelled between two.
    """
    import faiss

    dimension = sample.shape[1]
    centres: Any = sample[:: len(sample) // lists][:lists]
    for _ in range(_KMEANS_ROUNDS):
        stop.check()
        limits = {"min_points_per_centroid": 1, "max_points_per_centroid": len(sample)}
        means = faiss.Kmeans(dimension, lists, niter=1, spherical=True, **limits)
        means.train(sample, init_centroids=centres)
        centres = means.centroids
    coarse = faiss.IndexFlatIP(dimension)
    coarse.add(centres)
    bytes_ = faiss.ScalarQuantizer.QT_8bit
    index = faiss.IndexIVFScalarQuantizer(coarse, dimension, lists, bytes_, faiss.METRIC_INNER_PRODUCT)
    index.train(sample)  # trains only the quantizer ranges; the centroids are set
    return index


class _ExactNeighbours:
    """The true nearest `RECALL_DEPTH` vectors of each question among all blocks added, by exhaustive comparison."""

    def __init__(self, questions: Vectors) -> None:
        self._questions = questions
        self._similarities = np.full((len(questions), RECALL_DEPTH), -np.inf, dtype=np.float32)
        self.ids = np.full((len(questions), RECALL_DEPTH), -1, dtype=np.int64)

    def add_block(self, ids: Ids, vectors: Vectors) -> None:
        """Compare the questions with one more block."""
        similarities = np.hstack([self._similarities, self._questions @ vectors.T])
        every = np.hstack([self.ids, np.broadcast_to(ids, (len(self._questions), len(ids)))])
        best = np.argpartition(-similarities, RECALL_DEPTH - 1, axis=1)[:, :RECALL_DEPTH]
        self._similarities = np.take_along_axis(similarities, best, axis=1)
        self.ids = np.take_along_axis(every, best, axis=1)


def _tune_nprobe(index: Any, questions: Vectors, truth: Any, stop: Cancellation) -> BuiltIndex:
    """Choose the smallest number of lists that reaches the target recall, or all lists if none does."""
    fewest, most = 1, int(index.nlist)
    while fewest < most:
        stop.check()
        middle = (fewest + most) // 2
        if measure_recall(index, middle, questions, truth) >= _TARGET_RECALL:
            most = middle
        else:
            fewest = middle + 1
    return BuiltIndex(index, most, measure_recall(index, most, questions, truth))


def measure_recall(index: Any, nprobe: int, questions: Vectors, truth: Any) -> float:
    """Return the share of the true nearest neighbours found when `nprobe` lists are searched.

    `OVERSAMPLING` times as many candidates are retrieved.
    """
    import faiss

    _, found = index.search(questions, OVERSAMPLING * truth.shape[1], params=faiss.SearchParametersIVF(nprobe=nprobe))  # type: ignore[call-arg]
    wanted = [set(row) - {-1} for row in truth]
    hits = sum(len(row & set(ids)) for row, ids in zip(wanted, found.tolist(), strict=True))
    return hits / max(1, sum(map(len, wanted)))


# Share of new or removed vectors at which the base is rebuilt.
_REBUILD_SHARE = 0.1
NO_IDS = np.empty(0, dtype=np.int64)
NO_SIMILARITIES = np.empty(0, dtype=np.float32)


@dataclass(frozen=True, slots=True)
class LayeredIndex:
    """A base index, built at once, under an exact layer of newer vectors; small libraries have no base.

    FAISS forbids searching while the index changes: callers must serialize access.
    """

    base: ApproximateIndex | None
    recent: ExactIndex

    @property
    def count(self) -> int:
        """Number of vectors that can be found."""
        return self.recent.count + (self.base.count if self.base else 0)

    def between(self, first: int, last: int) -> Ids:
        """Return the ids from `first` to `last`."""
        recent = self.recent.between(first, last)
        return np.concatenate([self.base.live_ids.between(first, last), recent]) if self.base else recent

    def remove(self, ids: Ids) -> None:
        """Remove these ids from both layers."""
        if len(ids):
            self.recent.remove(ids)
            if self.base:
                self.base.remove(ids)

    def search(self, row: Vectors, limit: int, allowed: IdSet | None) -> tuple[Ids, Neighbours]:
        """Return the oversampled candidates of the base, still to be compared, and the nearest of the newer vectors."""
        near = self.base.search(row, OVERSAMPLING * limit, allowed) if self.base else NO_IDS
        return near, self.recent.search(row, limit, allowed) if self.recent.count else (NO_IDS, NO_SIMILARITIES)

    def needs_rebuild(self, exact_limit: int) -> bool:
        """Return whether too many vectors are compared exhaustively, or too many of the base are filtered out."""
        if self.base is None:
            return self.recent.count > exact_limit
        size = self.base.count + self.base.removed
        return self.recent.count > max(exact_limit, _REBUILD_SHARE * size) or self.base.removed > _REBUILD_SHARE * size
