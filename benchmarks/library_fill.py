"""Fill a library quickly through its storage functions, without files: a million passages in minutes."""

from __future__ import annotations

import hashlib
import time

from benchmarks.topics import make_passages
from crag.app.application import Application
from crag.retrieval.full_text import index_terms
from crag.storage.sources import NewPassages, NewSource, SourceDescription, SourceIdentity, SourceStore
from crag.types import DEFAULT_COLLECTION, Chunk

PASSAGES_OF_SOURCE = 1_000


def fill_library(application: Application, passages: int) -> float:
    """Add sources of `PASSAGES_OF_SOURCE` passages each; return the seconds this took."""
    began = time.perf_counter()
    for number in range(passages // PASSAGES_OF_SOURCE):
        _add(application, number)
        if number % 100 == 99:
            print(f"  {number + 1} sources, {time.perf_counter() - began:.0f} s", flush=True)
    return time.perf_counter() - began


def _add(application: Application, number: int) -> None:
    texts = make_passages(number, PASSAGES_OF_SOURCE)
    active, embedder = application.library.spaces.active_embedder.open_for_storing()
    content = NewPassages(
        [Chunk(text, None, "", place, place, place) for place, text in enumerate(texts)],
        [index_terms(text) for text in texts],
        embedder.embed_documents(texts),
        embedder.space,
        embedder.canary,
        active.number,
    )
    name = f"source {number}"
    digest = hashlib.sha256(name.encode()).hexdigest()
    identity = SourceIdentity(_collection(number), name, False, digest, sum(map(len, texts)))
    new = NewSource(identity, SourceDescription(name, "text", None, "benchmark"), content)
    SourceStore(application.database).put([new], lambda *_: None)


def _collection(number: int) -> str:
    if number % 10 == 3:
        return "A tenth"
    return DEFAULT_COLLECTION if number % 2 else "A half"
