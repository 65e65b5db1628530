"""Building of the approximate index: trained on a sample, filled in blocks, tuned by measured recall."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crag.errors import Stopped
from crag.protocols import Vectors
from crag.stopping import Stop

if TYPE_CHECKING:
    from crag.library.passages import Ids

    Blocks = Callable[[Ids], Iterable[tuple[Ids, Vectors]]]

DEPTH = 10
SPARE = 2  # factor by which candidates are oversampled before exact comparison
# A little above the wanted 0.98, because it is measured on a sample.
_RECALL = 0.985
_LISTS_PER_ROOT = 2
_SAMPLES_PER_LIST = 64
_ROUNDS = 10


@dataclass(frozen=True, slots=True)
class Built:
    """An index, the number of lists a search probes, and the share of the true nearest `RECALL_DEPTH` this finds."""

    index: Any
    nprobe: int
    recall: float


def build(ids: Ids, read: Blocks, questions: Vectors, stop: Stop) -> Built:
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
    index = _train(sample, min(lists, len(sample)), stop)
    truth = _Truth(questions)
    for block, vectors in read(ids):
        stop.check()
        index.add_with_ids(vectors, block)
        truth.see(block, vectors)
    return _tune(index, questions, truth.ids, stop)


def _train(sample: Vectors, lists: int, stop: Stop) -> Any:
    """Return the empty index with its centroids.

    K-means runs round by round, so that it can be cancelled between two.
    """
    import faiss

    dimension = sample.shape[1]
    centres: Any = sample[:: len(sample) // lists][:lists]
    for _ in range(_ROUNDS):
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


class _Truth:
    """The true nearest `RECALL_DEPTH` vectors of each question among all blocks added, by exhaustive comparison."""

    def __init__(self, questions: Vectors) -> None:
        self._questions = questions
        self._similarities = np.full((len(questions), DEPTH), -np.inf, dtype=np.float32)
        self.ids = np.full((len(questions), DEPTH), -1, dtype=np.int64)

    def see(self, ids: Ids, vectors: Vectors) -> None:
        """Compare the questions with one more block."""
        similarities = np.hstack([self._similarities, self._questions @ vectors.T])
        every = np.hstack([self.ids, np.broadcast_to(ids, (len(self._questions), len(ids)))])
        best = np.argpartition(-similarities, DEPTH - 1, axis=1)[:, :DEPTH]
        self._similarities = np.take_along_axis(similarities, best, axis=1)
        self.ids = np.take_along_axis(every, best, axis=1)


def _tune(index: Any, questions: Vectors, truth: Any, stop: Stop) -> Built:
    """Choose the smallest number of lists that reaches the target recall, or all lists if none does."""
    fewest, most = 1, int(index.nlist)
    while fewest < most:
        stop.check()
        middle = (fewest + most) // 2
        if measure_recall(index, middle, questions, truth) >= _RECALL:
            most = middle
        else:
            fewest = middle + 1
    return Built(index, most, measure_recall(index, most, questions, truth))


def measure_recall(index: Any, nprobe: int, questions: Vectors, truth: Any) -> float:
    """Return the share of the true nearest neighbours found when `nprobe` lists are searched.

    `OVERSAMPLING` times as many candidates are retrieved.
    """
    import faiss

    _, found = index.search(questions, SPARE * truth.shape[1], params=faiss.SearchParametersIVF(nprobe=nprobe))  # type: ignore[call-arg]
    wanted = [set(row) - {-1} for row in truth]
    hits = sum(len(row & set(ids)) for row, ids in zip(wanted, found.tolist(), strict=True))
    return hits / max(1, sum(map(len, wanted)))
