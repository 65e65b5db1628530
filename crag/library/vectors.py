"""Gives passages that were embedded by another model the vectors of the present one, a batch at a time."""

from __future__ import annotations

from crag.library.ingest import embed_in_batches, passage_text
from crag.library.passages import count_unembedded, read_unembedded
from crag.library.reading import Report
from crag.library.store import Store
from crag.protocols import Embedder
from crag.stopping import Stop
from crag.types import Progress

_AT_ONCE = 256


def fill_vectors(store: Store, embedder: Embedder, report: Report, stop: Stop) -> int:
    """How many passages got a vector. What is done stays done when it is stopped. Raises `ModelFault`, `Stopped`."""
    total = count_unembedded(store.database, embedder.space.id)
    done = 0
    while rows := read_unembedded(store.database, embedder.space.id, _AT_ONCE):
        stop.check()
        report(Progress("Embedding passages", done, max(total, done)))
        texts = [passage_text(heading, body) for _, heading, body in rows]
        vectors = embed_in_batches(embedder, texts, lambda _: None, stop)
        done += store.add_vectors([id_ for id_, _, _ in rows], vectors, embedder.space)
    return done
