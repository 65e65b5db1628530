"""Embedding in batches: passages are embedded a few at a time, so that a slow model can still be cancelled."""

from __future__ import annotations

import time
from collections.abc import Sequence

from crag.cancellation import Cancellation
from crag.protocols import Embedder
from crag.retrieval.active_embedder import VerifiedEmbedder
from crag.storage.passages import count_unembedded, read_unembedded
from crag.storage.sources import SourceStore
from crag.types import HEADING_SEPARATOR, Progress, ProgressCallback, Vectors

_MIN_BATCH, _MAX_BATCH = 4, 32
_TARGET_BATCH_SECONDS = 1.0


def embed_in_batches(embedder: Embedder, texts: Sequence[str], report: ProgressCallback, stop: Cancellation) -> Vectors:
    """Embed texts in batches whose size adapts to the model's speed; return one row per text.

    Raises `ModelFault`, `Stopped`.
    """
    import numpy as np

    rows: list[Vectors] = []
    done, size = 0, _MIN_BATCH
    while done < len(texts):
        stop.check()
        report(Progress("Embedding passages", done, len(texts)))
        began = time.monotonic()
        rows.append(embedder.embed_documents(texts[done : done + size]))
        done += size
        size = _next_batch_size(size, time.monotonic() - began)
    return np.concatenate(rows)


def _next_batch_size(size: int, seconds: float) -> int:
    """Return how many texts to embed next. Slow models get few, because a running batch cannot be cancelled."""
    if seconds > _TARGET_BATCH_SECONDS:
        return max(size // 2, _MIN_BATCH)
    return min(size * 2, _MAX_BATCH) if seconds < _TARGET_BATCH_SECONDS / 2 else size


def passage_text(heading: str, body: str) -> str:
    """Return the text of a passage that is embedded and searched: its body under the nearest heading.

    Higher headings are left out: they cover most of a document, so their words would lose all discriminating power.
    """
    nearest = heading.rpartition(HEADING_SEPARATOR)[2]
    return body if nearest in body[: 2 * len(nearest)] else f"{nearest}\n{body}"


_PASSAGES_PER_READ = 256


def fill_vectors(store: SourceStore, embedder: VerifiedEmbedder, report: ProgressCallback, stop: Cancellation) -> int:
    """Embed every passage that has no vector in the embedder's space; return how many got one.

    Work done before a cancellation is kept. Raises `ModelFault`, `Stopped`.
    """
    total = count_unembedded(store.database, embedder.space.id)
    done = last = 0

    def report_total(batch: Progress) -> None:
        report(Progress(batch.stage, done + batch.done, max(total, done + batch.total)))

    while rows := read_unembedded(store.database, embedder.space.id, _PASSAGES_PER_READ, after=last):
        stop.check()
        texts = [passage_text(heading, body) for _, heading, body in rows]
        vectors = embed_in_batches(embedder, texts, report_total, stop)
        done += store.add_vectors([id_ for id_, _, _ in rows], vectors, embedder.space, embedder.canary)
        last = rows[-1][0]
    return done
