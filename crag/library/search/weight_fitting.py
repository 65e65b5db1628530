"""Fit of a space's vector weight on the library itself, with probes sampled from it.

A probe is a sentence used as a question; the passage it was cut from should be found: the inverse cloze task (Lee,
Chang and Toutanova 2019). Removing the sentence from its passage keeps literal copies from helping the word search.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from crag.database import Database
from crag.database.tables import passages
from crag.language import sentences, terms
from crag.library.adding.ingest import embed_in_batches, passage_text
from crag.library.passages import read_cosines
from crag.library.search.bm25 import score_words, weigh_neighbours, weigh_terms
from crag.library.search.fulltext import FullText, PassageTerms, index_terms
from crag.library.search.fusion import fuse, ranks
from crag.progress import Report, silent
from crag.protocols import Embedder, Vectors
from crag.stopping import Stop
from crag.types import Progress

if TYPE_CHECKING:
    from crag.library.index.vector_index import VectorIndex

SHARES = tuple(share / 20 for share in range(13))  # words keep at least 2/5: they find names that no model knows
_PROBES = 200
_LEAST_PROBES = 40
_LEAST_TERMS = 4
_DEPTH = 40
_SEED = 0


@dataclass(frozen=True, slots=True)
class Probe:
    """A sentence, the passage it was taken from, and the rest of that passage under its heading.

    Full-text search keeps a small advantage: writers repeat words, much as people repeat the words they read when they
    ask.
    """

    sentence: str
    passage_id: int
    rest: str


def fit_weight(
    database: Database, full_text: FullText, index: VectorIndex, embedder: Embedder, report: Report, stop: Stop
) -> float | None:
    """Return the smallest share in 0..1 with which probes find their passages about as well as with the best share.

    Returns None if the library is too small to tell. Takes about 10 ms per probe and embeds two texts for each of at
    most 200 probes. Raises `ModelFault`, `Stopped`.
    """
    probes = draw_probes(database)
    if len(probes) < _LEAST_PROBES:
        return None
    rests = embed_in_batches(embedder, [probe.rest for probe in probes], silent, stop)
    rows = []
    for number, (probe, rest) in enumerate(zip(probes, rests, strict=True)):
        stop.check()
        report(Progress("Weighing words and meaning", number, len(probes)))
        rows.append(_try(probe, rest, database, full_text, index, embedder))
    return SHARES[_least_as_good(rows)]


def _least_as_good(rows: Sequence[Sequence[float]]) -> int:
    """Return the first column whose mean is within one standard error of the best one's (Breiman et al. 1984)."""
    import numpy as np

    values = np.array(rows)
    best = values[:, int(values.mean(axis=0).argmax())]
    behind = best[:, None] - values
    error = behind.std(axis=0, ddof=1) / np.sqrt(len(values))
    return int(np.argmax(behind.mean(axis=0) <= error))


def draw_probes(database: Database, count: int = _PROBES) -> list[Probe]:
    """Sample at most `count` probes from the whole library; the same ones each time while it is unchanged."""
    with database.read() as connection:
        highest = connection.scalar(select(func.max(passages.c.id))) or 0
        rng = random.Random(_SEED)  # noqa: S311 — sampling, not security
        wanted = rng.sample(range(1, highest + 1), min(highest, 4 * count))
        query = select(passages.c.id, passages.c.heading, passages.c.text).where(passages.c.id.in_(wanted))
        rows = connection.execute(query.order_by(passages.c.id)).all()
    drawn = (_probe(row.id, row.heading, row.text, rng) for row in rng.sample(rows, len(rows)))
    return [probe for probe in drawn if probe][:count]


def _probe(id_: int, heading: str, text: str, rng: random.Random) -> Probe | None:
    """Return a probe with a random content-rich sentence; None if the passage is too short."""
    all_sentences = sentences(text)
    long_sentences = [sentence for sentence in all_sentences if len(terms(sentence)) >= _LEAST_TERMS]
    if len(all_sentences) < 3 or not long_sentences:
        return None
    sentence = rng.choice(long_sentences)
    rest = " ".join(other for other in all_sentences if other != sentence)
    return Probe(sentence, id_, passage_text(heading, rest))


def _try(
    probe: Probe, rest: Vectors, database: Database, full_text: FullText, index: VectorIndex, embedder: Embedder
) -> Sequence[float]:
    """Return for each share the reciprocal rank of the passage, searched without its sentence."""
    vector = embedder.embed_query(probe.sentence)
    near = index.search(vector, _DEPTH)
    ids = list(dict.fromkeys([probe.passage_id, *full_text.search(probe.sentence, _DEPTH), *near]))
    texts = full_text.read_terms(ids) | {probe.passage_id: PassageTerms((), index_terms(probe.rest).split())}
    weights = weigh_terms(probe.sentence, full_text)
    words = score_words(weights, weigh_neighbours(probe.sentence, weights), texts)
    cosines = read_cosines(database, embedder.space, vector, ids)
    cosines[probe.passage_id] = float(rest @ vector)
    return [1 / ranks(fuse(words, cosines, share)).get(probe.passage_id, len(ids) + 1) for share in SHARES]
