"""Search over 10,000, 100,000 and a million passages: time, memory, disk and recall.

Run with `python -m benchmarks.search 10k 100k 1m`. With `--keep FOLDER` the filled libraries are kept there and reused.
Every stage runs in a process of its own, so that its memory can be measured separately. Processor time is printed as
well, because it is more reliable than elapsed time on a busy machine.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil
from sqlalchemy import text

from benchmarks.library_fill import fill_library
from benchmarks.tables import percentile
from benchmarks.topics import make_passages, make_queries
from crag.app.application import Application, open_application
from crag.errors import ModelFault
from crag.retrieval.full_text import FullTextIndex
from crag.retrieval.vector_index import VectorIndex
from crag.settings import Settings
from crag.storage.passages import read_vector_ids, stream_vectors
from crag.text.language import extract_terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from crag.types import Vectors


SIZES = {"10k": 10_000, "100k": 100_000, "1m": 1_000_000}
QUERIES = 300
WARM_UP = 30
DEPTHS = (10, 40)


def main(arguments: Sequence[str] = ()) -> None:
    """Measure each named size, by default the two smaller ones."""
    parser = argparse.ArgumentParser(description="Search at size")
    parser.add_argument("sizes", nargs="*", help=f"of {', '.join(SIZES)}")
    parser.add_argument("--keep", type=Path, help="a folder to keep the libraries in, and to find them again")
    chosen = parser.parse_args(arguments)
    for name in chosen.sizes or ["10k", "100k"]:
        with tempfile.TemporaryDirectory() as folder:
            home = (chosen.keep or Path(folder)) / name
            print(f"\n{name}", flush=True)
            _run_in_process(_fill, home, SIZES[name])
            _run_in_process(_build, home)
            _run_in_process(_measure, home)


def _run_in_process(stage: Callable[..., None], *arguments: Any) -> None:
    with ProcessPoolExecutor(1, get_context("spawn")) as processes:
        processes.submit(stage, *arguments).result()


def _fill(home: Path, passages: int) -> None:
    with closing(_open(home)) as application:
        present = application.library.counts()[1]
        if not present:
            seconds = fill_library(application, passages)
            print(f"filled in {seconds:.0f} s, peak memory {_peak_mb()} MB")
        elif present != passages:
            raise SystemExit(f"{home} holds {present:,} passages.")
    for path in sorted(path for path in home.rglob("*") if path.is_file()):
        print(f"  {path.relative_to(home)}: {path.stat().st_size / 1e6:,.0f} MB")


def _build(home: Path) -> None:
    """Delete the snapshot, then measure the first search, which is exhaustive, and the background index build."""
    for path in (home / "index").glob("*.faiss"):
        path.unlink()
    with closing(_open(home)) as application:
        began = time.perf_counter()
        application.library.search("anything at all")
        print(f"first search without a snapshot {time.perf_counter() - began:.1f} s, memory {_memory()}")
        while (state := application.library.index_state()).building:
            time.sleep(0.2)
        print(f"{state.kind} index after {time.perf_counter() - began:.0f} s, peak memory {_peak_mb()} MB")
        print(f"  recall@10 measured when it was built: {state.recall:.4f}")
    for path in (home / "index").glob("*.faiss"):
        print(f"  {path.relative_to(home)}: {path.stat().st_size / 1e6:,.0f} MB")


def _measure(home: Path) -> None:
    queries = [query for number in range(10) for query in make_queries(make_passages(number, 1_000), QUERIES // 10)]
    before = _memory()
    began = time.perf_counter()
    with closing(_open(home)) as application:
        library = application.library
        library.search(queries[0])
        print(f"after a restart the first search is answered in {time.perf_counter() - began:.2f} s")
        words, index = FullTextIndex(application.database), _index_of(application)
        searches: dict[str, Callable[[str], object]] = {
            "words": lambda query: words.search(query, max(DEPTHS)),
            "vectors": lambda query: index.search(_embed(application, query), max(DEPTHS)),
            "hybrid, k = 4": library.search,
            "hybrid in a tenth": lambda query: library.search(query, collection="A tenth"),
            "hybrid in a half": lambda query: library.search(query, collection="A half"),
        }
        print(f"{'':22}{'p50 ms':>10}{'p95 ms':>10}{'CPU p50':>10}{'CPU p95':>10}")
        for name, search in searches.items():
            _time(name, search, queries)
        print(f"memory before {before}, after searching {_memory()}")
        vectors = np.stack([_embed(application, query) for query in queries])
        truth = _nearest(application, vectors)
        found = [index.search(vector, max(DEPTHS)) for vector in vectors]
        for depth in DEPTHS:
            shares = [len(set(ids[:depth]) & set(near[:depth])) / depth for ids, near in zip(found, truth, strict=True)]
            print(f"recall@{depth} of the {library.index_state().kind} index: {np.mean(shares):.4f}")
        print(f"of the ten best by FTS5's BM25 among the {max(DEPTHS)} by words: {_compare_words(application):.4f}")


def _time(name: str, search: Callable[[str], object], queries: Sequence[str]) -> None:
    walls, works = [], []
    for number, query in enumerate(queries):
        wall, work = time.perf_counter(), time.thread_time()
        search(query)
        if number >= WARM_UP:
            walls.append(1000 * (time.perf_counter() - wall))
            works.append(1000 * (time.thread_time() - work))
    shown = (percentile(values, share) for values in (walls, works) for share in (0.5, 0.95))
    print(f"{name:22}" + "".join(f"{value:>10.1f}" for value in shown))


def _nearest(application: Application, vectors: Vectors) -> NDArray[np.int64]:
    """Return the ids of the nearest passages of each question, by exhaustive search."""
    space = application.library.space()
    best = np.full((len(vectors), max(DEPTHS)), -np.inf, dtype=np.float32)
    ids = np.zeros(best.shape, dtype=np.int64)
    with application.database.read() as connection:
        every = read_vector_ids(connection, space.id, 0, 2**62)
        for block, matrix in stream_vectors(connection, space.id, space.dimension, every):
            similarities = np.hstack([best, vectors @ matrix.T])
            both = np.hstack([ids, np.broadcast_to(block, (len(vectors), len(block)))])
            order = np.argsort(-similarities, axis=1)[:, : max(DEPTHS)]
            best, ids = np.take_along_axis(similarities, order, 1), np.take_along_axis(both, order, 1)
    return ids


def _compare_words(application: Application) -> float:
    """Return the share of the ten best FTS5 hits, found by scoring all passages, among the word candidates."""
    words, shares = FullTextIndex(application.database), []
    ranked = text("SELECT rowid FROM passage_terms WHERE passage_terms MATCH :query ORDER BY rank LIMIT 10")
    for query in make_queries(make_passages(11, 1_000), QUERIES // 5):
        anything = " OR ".join(f'"{term}"' for term in dict.fromkeys(extract_terms(query)))
        with application.database.read() as connection:
            best = set(connection.scalars(ranked, {"query": anything}))
        shares.append(len(best & set(words.search(query, max(DEPTHS)))) / max(1, len(best)))
    return float(np.mean(shares))


def _open(home: Path) -> Application:
    return open_application(Settings(home=home, chat_model="builtin", embedder="builtin"))


def _index_of(application: Application) -> VectorIndex:
    """Open the index a second time; memory-mapped pages of its file are shared."""
    space = application.library.space()
    return VectorIndex(application.database, space, application.library.home / "index", _no_sample)


def _no_sample(_number: int) -> Vectors:
    raise ModelFault("unreachable", "Nothing is built while it is measured.")


def _embed(application: Application, query: str) -> Vectors:
    embedded, _ = application.library.spaces.active_embedder.embed_query(query)
    if embedded is None:
        raise SystemExit("Nothing embeds questions.")
    return embedded[1]


def _memory() -> str:
    """Return resident memory of this process: its own, and pages of files, which the system can reclaim."""
    memory = psutil.Process().memory_info()
    return f"{(memory.rss - memory.shared) / 1e6:,.0f} MB own + {memory.shared / 1e6:,.0f} MB mapped"


def _peak_mb() -> str:
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f}"


if __name__ == "__main__":
    main(sys.argv[1:])
