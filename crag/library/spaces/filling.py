"""Embedding of passages without a vector in a space, in batches."""

from __future__ import annotations

from crag.library.adding.ingest import embed_in_batches, passage_text
from crag.library.passages import count_unembedded, read_unembedded
from crag.library.spaces.embedders import KnownEmbedder
from crag.library.store import Store
from crag.progress import Report
from crag.stopping import Stop
from crag.types import Progress

_AT_ONCE = 256


def fill_vectors(store: Store, embedder: KnownEmbedder, report: Report, stop: Stop) -> int:
    """Embed every passage that has no vector in the embedder's space; return how many got one.

    Work done before a cancellation is kept. Raises `ModelFault`, `Stopped`.
    """
    total = count_unembedded(store.database, embedder.space.id)
    done = last = 0

    def tell(batch: Progress) -> None:
        report(Progress(batch.stage, done + batch.done, max(total, done + batch.total)))

    while rows := read_unembedded(store.database, embedder.space.id, _AT_ONCE, after=last):
        stop.check()
        texts = [passage_text(heading, body) for _, heading, body in rows]
        vectors = embed_in_batches(embedder, texts, tell, stop)
        done += store.add_vectors([id_ for id_, _, _ in rows], vectors, embedder.space, embedder.canary)
        last = rows[-1][0]
    return done
