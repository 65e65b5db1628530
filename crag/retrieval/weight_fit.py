"""Fit of the vector weight: probe questions sampled from the library, and sample queries for measuring recall.

A probe is a sentence cut from its passage and used as a question: the inverse cloze task (Lee, Chang and Toutanova
2019). Removing the sentence keeps literal copies from helping the full-text search.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Connection, func, select

from crag.cancellation import Cancellation
from crag.protocols import Embedder
from crag.retrieval.embedding_batches import embed_in_batches, passage_text
from crag.retrieval.full_text import FullTextIndex, PassageTerms, index_terms
from crag.retrieval.ranking import assign_ranks, fuse_scores, score_bm25, weigh_term_pairs, weigh_terms
from crag.storage.engine import Database
from crag.storage.passages import read_cosines
from crag.storage.tables import passages
from crag.text.language import extract_terms, extract_words, split_sentences
from crag.types import Progress, ProgressCallback, Vectors, ignore_progress

if TYPE_CHECKING:
    from crag.retrieval.vector_index import VectorIndex


CANDIDATE_SHARES = tuple(
    share / 20 for share in range(13)
)  # words keep at least 2/5: they find names that no model knows
_MAX_PROBES = 200
_MIN_PROBES = 40
_MIN_SENTENCE_TERMS = 4
_SEARCH_DEPTH = 40
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


def fit_vector_weight(
    database: Database,
    full_text: FullTextIndex,
    index: VectorIndex,
    embedder: Embedder,
    report: ProgressCallback,
    stop: Cancellation,
) -> float | None:
    """Return the smallest share in 0..1 with which probes find their passages about as well as with the best share.

    Returns None if the library is too small to tell. Takes about 10 ms per probe and embeds two texts for each of at
    most 200 probes. Raises `ModelFault`, `Stopped`.
    """
    probes = sample_probes(database)
    if len(probes) < _MIN_PROBES:
        return None
    rests = embed_in_batches(embedder, [probe.rest for probe in probes], ignore_progress, stop)
    rows = []
    for number, (probe, rest) in enumerate(zip(probes, rests, strict=True)):
        stop.check()
        report(Progress("Weighing words and meaning", number, len(probes)))
        rows.append(_score_probe(probe, rest, database, full_text, index, embedder))
    return CANDIDATE_SHARES[_smallest_near_best(rows)]


def _smallest_near_best(rows: Sequence[Sequence[float]]) -> int:
    """Return the first column whose mean is within one standard error of the best one's (Breiman et al. 1984)."""
    import numpy as np

    values = np.array(rows)
    best = values[:, int(values.mean(axis=0).argmax())]
    behind = best[:, None] - values
    error = behind.std(axis=0, ddof=1) / np.sqrt(len(values))
    return int(np.argmax(behind.mean(axis=0) <= error))


def sample_probes(database: Database, count: int = _MAX_PROBES) -> list[Probe]:
    """Sample at most `count` probes from the whole library; the same ones each time while it is unchanged."""
    with database.read() as connection:
        highest = connection.scalar(select(func.max(passages.c.id))) or 0
        rng = random.Random(_SEED)  # noqa: S311 — sampling, not security
        wanted = rng.sample(range(1, highest + 1), min(highest, 4 * count))
        query = select(passages.c.id, passages.c.heading, passages.c.text).where(passages.c.id.in_(wanted))
        rows = connection.execute(query.order_by(passages.c.id)).all()
    drawn = (_make_probe(row.id, row.heading, row.text, rng) for row in rng.sample(rows, len(rows)))
    return [probe for probe in drawn if probe][:count]


def _make_probe(id_: int, heading: str, text: str, rng: random.Random) -> Probe | None:
    """Return a probe with a random content-rich sentence; None if the passage is too short."""
    all_sentences = split_sentences(text)
    long_sentences = [sentence for sentence in all_sentences if len(extract_terms(sentence)) >= _MIN_SENTENCE_TERMS]
    if len(all_sentences) < 3 or not long_sentences:
        return None
    sentence = rng.choice(long_sentences)
    rest = " ".join(other for other in all_sentences if other != sentence)
    return Probe(sentence, id_, passage_text(heading, rest))


def _score_probe(
    probe: Probe, rest: Vectors, database: Database, full_text: FullTextIndex, index: VectorIndex, embedder: Embedder
) -> Sequence[float]:
    """Return for each share the reciprocal rank of the passage, searched without its sentence."""
    vector = embedder.embed_query(probe.sentence)
    near = index.search(vector, _SEARCH_DEPTH)
    ids = list(dict.fromkeys([probe.passage_id, *full_text.search(probe.sentence, _SEARCH_DEPTH), *near]))
    texts = full_text.read_terms(ids) | {probe.passage_id: PassageTerms((), index_terms(probe.rest).split())}
    weights = weigh_terms(probe.sentence, full_text)
    words = score_bm25(weights, weigh_term_pairs(probe.sentence, weights), texts)
    cosines = read_cosines(database, embedder.space, vector, ids)
    cosines[probe.passage_id] = float(rest @ vector)
    return [
        1 / assign_ranks(fuse_scores(words, cosines, share)).get(probe.passage_id, len(ids) + 1)
        for share in CANDIDATE_SHARES
    ]


_MIN_QUERY_WORDS, _MAX_QUERY_WORDS = 3, 8


def sample_query_vectors(database: Database, embed: Callable[[str], Vectors], number: int) -> Vectors:
    """Embed a few consecutive content words from random passages as likely queries, to measure the index's recall.

    Raises `ModelFault`.
    """
    import numpy as np

    rng = random.Random(1)  # noqa: S311 — sampling, not security
    with database.read() as connection:
        texts = _sample_texts(connection, rng, number)
    return np.stack([embed(_pick_words(text, rng)) for text in texts])


def _sample_texts(connection: Connection, rng: random.Random, number: int) -> list[str]:
    """Sample texts from the whole library. A passage after a gap in the ids is drawn more often, which is harmless."""
    highest = connection.scalar(select(func.max(passages.c.id))) or 0
    drawn = []
    for _ in range(number):
        following = select(passages.c.text).where(passages.c.id >= rng.randint(1, highest)).order_by(passages.c.id)
        drawn.append(connection.scalar(following.limit(1)) or "")
    return drawn


def _pick_words(text: str, rng: random.Random) -> str:
    content_words = [word for word, _ in extract_words(text)]
    length = rng.randint(_MIN_QUERY_WORDS, _MAX_QUERY_WORDS)
    start = rng.randrange(max(1, len(content_words) - length))
    return " ".join(content_words[start : start + length]) or text
