"""The nearest passages of one owner among many: the application's index beside HNSW of pgvector.

Run with `python -m benchmarks.owners 100000`; with `--keep FOLDER` the filled library is kept there and found again.
Owners hold whole documents of a thousand passages, and the questions are about theirs. The ways take turns question by
question, so that other work on the machine slows all of them.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
import psycopg

from benchmarks.library_fill import PASSAGES_OF_SOURCE, fill_library
from benchmarks.tables import percentile
from benchmarks.topics import make_passages, make_queries
from crag.app.application import Application, open_application
from crag.retrieval.index_layers import IdSet
from crag.settings import Settings
from crag.storage.passages import read_vector_ids, stream_vectors
from tests.doubles.postgres import postgres_server

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from crag.types import Vectors

NEAREST = 10
QUERIES = 200
OWNERS = {"one": 0.01, "ten": 0.10, "": 1.0}  # no name: everybody
HNSW = ("enable_seqscan = off", "enable_bitmapscan = off", "enable_sort = off")
LARGEST = ("hnsw.iterative_scan = strict_order", "hnsw.ef_search = 1000", "hnsw.max_scan_tuples = 1000000")
SETTINGS: dict[str, tuple[str, ...]] = {
    "hnsw": HNSW,
    "hnsw, ef_search 200": (*HNSW, "hnsw.ef_search = 200"),
    "hnsw, relaxed_order": (*HNSW, "hnsw.iterative_scan = relaxed_order"),
    "hnsw, strict_order": (*HNSW, "hnsw.iterative_scan = strict_order"),
    "hnsw, strict_order, ef_search 200": (*HNSW, "hnsw.iterative_scan = strict_order", "hnsw.ef_search = 200"),
    "hnsw, strict_order, ef_search 1000": (*HNSW, *LARGEST),
    "exact": ("enable_indexscan = off",),
    "as planned, strict_order, ef 1000": LARGEST,
}
OF_ALL = "SELECT id FROM held ORDER BY v <#> %(vector)s::halfvec LIMIT %(nearest)s"
OF_OWNER = OF_ALL.replace("held", "held WHERE owner = %(owner)s")
Search = Callable[["Vectors", str], Sequence[int]]


def main(arguments: Sequence[str] = ()) -> None:
    """Fill a library and a table with the same vectors, and search both."""
    parser = argparse.ArgumentParser(description="Search for owners")
    parser.add_argument("passages", nargs="?", type=int, default=100_000)
    parser.add_argument("--keep", type=Path, help="a folder to keep the library in, and to find it again")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        settings = Settings(home=(chosen.keep or Path(folder)) / "home", chat_model="builtin", embedder="builtin")
        application = stack.enter_context(closing(open_application(settings)))
        if not application.library.counts()[1]:
            print(f"filled in {fill_library(application, chosen.passages):.0f} s", flush=True)
        ids, vectors = _read_vectors(application)
        searches = {"application": _application_search(application, ids)}
        server = stack.enter_context(postgres_server(Path(folder) / "postgres"))
        _fill_table(server, ids, vectors)
        for name, settings_ in SETTINGS.items():
            searches[name] = _table_search(stack.enter_context(_connect(server, settings_)))
        for owner, share in OWNERS.items():
            _measure(application, searches, owner, share, ids, vectors)


def _measure(
    application: Application,
    searches: dict[str, Search],
    owner: str,
    share: float,
    ids: NDArray[np.int64],
    vectors: Vectors,
) -> None:
    held = _of_owner(ids, owner)
    seconds, found = {name: list[float]() for name in searches}, dict.fromkeys(searches, 0)
    for question in _questions(application, owner, len(ids)):
        truth = {*ids[held][np.argsort(-(vectors[held] @ question), kind="stable")[:NEAREST]].tolist()}
        for name, search in searches.items():
            began = time.perf_counter()
            nearest = search(question, owner)
            seconds[name].append(time.perf_counter() - began)
            found[name] += len(truth & set(nearest))
    print(f"\n{share:.0%}, {np.count_nonzero(held):,} of {len(ids):,} passages")
    print(f"{'':36}{'recall@10':>10}{'median ms':>11}{'p95 ms':>9}{'x':>7}")
    base = median(seconds["application"])
    for name, taken in seconds.items():
        middle, high = median(taken), percentile(taken, 0.95)
        recall = found[name] / (QUERIES * NEAREST)
        print(f"{name:36}{recall:>10.3f}{1000 * middle:>11.1f}{1000 * high:>9.1f}{middle / base:>7.2f}", flush=True)


def _of_owner(ids: NDArray[np.int64], owner: str) -> NDArray[np.bool_]:
    """Return which passages belong to an owner: those of one document, of ten others, or all."""
    first = {"one": 0, "ten": len(ids) // 100, "": 0}[owner]
    held = np.zeros(len(ids), dtype=bool)
    held[first : first + round(OWNERS[owner] * len(ids))] = True
    return held


def _questions(application: Application, owner: str, passages: int) -> Vectors:
    """Embed questions about documents of the owner."""
    sources = np.unique(np.flatnonzero(_of_owner(np.arange(passages), owner)) // PASSAGES_OF_SOURCE)
    texts = [text for number in sources[:20] for text in make_passages(int(number), PASSAGES_OF_SOURCE)]
    embed = application.library.spaces.active_embedder.embed_query
    embedded = [embed(query)[0] for query in make_queries(texts, QUERIES)]
    return np.stack([found[1] for found in embedded if found])


def _read_vectors(application: Application) -> tuple[NDArray[np.int64], Vectors]:
    space = application.library.space()
    with application.database.read() as connection:
        ids = read_vector_ids(connection, space.id, 0, 2**62)
        return ids, np.concatenate([block for _, block in stream_vectors(connection, space.id, space.dimension, ids)])


def _application_search(application: Application, ids: NDArray[np.int64]) -> Search:
    index = application.library.retriever.open_index(application.library.space())
    index.search(np.zeros(application.library.space().dimension, dtype=np.float32), 1)
    while index.state().building:
        time.sleep(0.2)
    print(f"application: {index.state().kind} index", flush=True)
    allowed = {owner: IdSet(ids[_of_owner(ids, owner)]) if owner else None for owner in OWNERS}
    return lambda vector, owner: index.search(vector, NEAREST, allowed[owner])


@contextmanager
def _connect(server: str, settings: Sequence[str]) -> Iterator[psycopg.Connection]:
    with psycopg.connect(server, autocommit=True) as connection:
        for setting in settings:
            connection.execute(f"SET {setting}".encode())
        yield connection


def _fill_table(server: str, ids: NDArray[np.int64], vectors: Vectors) -> None:
    began = time.perf_counter()
    with _connect(server, ("maintenance_work_mem = '1GB'",)) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute(f"CREATE TABLE held (id bigint, owner text, v halfvec({vectors.shape[1]}))".encode())
        named = np.full(len(ids), "other", dtype=object)
        for owner in ("one", "ten"):
            named[_of_owner(ids, owner)] = owner
        with connection.cursor().copy("COPY held FROM STDIN") as copy:
            for id_, owner, vector in zip(ids.tolist(), named, vectors, strict=True):
                copy.write_row((id_, owner, _literal(vector)))
        connection.execute("CREATE INDEX ON held (owner)")
        filled = time.perf_counter()
        connection.execute("CREATE INDEX ON held USING hnsw (v halfvec_ip_ops)")
        connection.execute("ANALYZE held")
        size = connection.execute("SELECT pg_relation_size('held_v_idx')").fetchone()
    seconds = time.perf_counter() - filled
    print(
        f"table in {filled - began:.0f} s, HNSW in {seconds:.0f} s, {size[0] / 1e6 if size else 0:,.0f} MB", flush=True
    )


def _table_search(connection: psycopg.Connection) -> Search:
    def search(vector: Vectors, owner: str) -> Sequence[int]:
        query = OF_OWNER if owner else OF_ALL
        found = connection.execute(query, {"owner": owner, "vector": _literal(vector), "nearest": NEAREST})
        return [row[0] for row in found.fetchall()]

    return search


def _literal(vector: Vectors) -> str:
    return "[" + ",".join(f"{value:.4g}" for value in vector.tolist()) + "]"


if __name__ == "__main__":
    main(sys.argv[1:])
