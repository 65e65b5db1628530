"""Ranking of candidates: BM25, fusion with vector similarity, vector weights and near-duplicates."""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice, pairwise
from pathlib import Path
from statistics import median
from typing import Literal

from sqlalchemy import select, update

from crag.retrieval.full_text import BM25_SATURATION, FullTextIndex, PassageTerms, fold_accents
from crag.storage.engine import Database
from crag.storage.passages import read_cosines, read_passages
from crag.storage.tables import spaces
from crag.text.language import extract_terms, extract_words
from crag.text.questions import TermStatistics, find_name_terms
from crag.text.word_forms import index_other_forms
from crag.translation import N_
from crag.types import EmbeddingSpace, Passage, SearchHit, Vectors

# The usual BM25 parameters k1 and b (Robertson and Zaragoza 2009): term frequency saturation, and the strength of
# length normalization.
_LENGTH_NORMALIZATION = 0.75
_COVERAGE_EXPONENT = 0.25
"""Of the share of the query's weight that a passage holds: repeated words count less than words of all kinds."""
_MAX_QUERY_TERMS = 64


def weigh_terms(query: str, statistics: TermStatistics) -> dict[str, float]:
    """Return the weight of each query term: its rarity, reduced if the term is only part of a word.

    Other forms and synonyms of a term count as occurrences of it. Chinese and Korean words are split into pairs of
    characters. A word of n pairs weighs √n times as much as a single pair, not n times: its pairs mostly occur together
    and mean one thing.
    """
    shares: dict[str, float] = {}
    for _, found in extract_words(fold_accents(query)):
        for term in found:
            shares[term] = max(shares.get(term, 0.0), len(found) ** -0.5)
    shares = dict(islice(shares.items(), _MAX_QUERY_TERMS))
    forms = index_other_forms(shares)
    rarity = statistics.idf([*shares, *forms])
    for form, term in forms.items():  # a term is as common as the most common of its forms
        rarity[term] = min(rarity[term], rarity[form])
    return {term: share * rarity[term] for term, share in shares.items()}


def weigh_term_pairs(query: str, weights: Mapping[str, float]) -> dict[tuple[str, str], float]:
    """Return weights for adjacent words of the query: each pair counts as one more word of their mean weight.

    Ranks passages with the exact phrase above those on the same topic: the ordered pairs of Metzler and Croft, "A
    Markov Random Field Model for Term Dependencies" (SIGIR 2005). A key holds the last term of one word and the first
    of the next.
    """
    cut = [found for _, found in extract_words(fold_accents(query))]
    pairs = {(before[-1], after[0]) for before, after in pairwise(cut)}
    return {(a, b): (weights[a] + weights[b]) / 2 for a, b in pairs if a != b and a in weights and b in weights}


def score_bm25(
    weights: Mapping[str, float], neighbours: Mapping[tuple[str, str], float], texts: Mapping[int, PassageTerms]
) -> dict[int, float]:
    """Return the BM25 score of each passage by id, plus once the weight of each adjacent pair in its own text.

    The sum is reduced for a passage that lacks terms. Lengths are normalized by the mean length of these passages. Sums
    are exact, so that no order of terms changes a score.
    """
    mean = sum(map(len, texts.values())) / max(1, len(texts))
    whole = math.fsum(weights.values())
    scores = {}
    for id_, terms in texts.items():
        counts = Counter(term for part in (terms.above, terms.text) for term in part if term in weights)
        length = 1 - _LENGTH_NORMALIZATION + _LENGTH_NORMALIZATION * len(terms) / max(1.0, mean)
        single = math.fsum(
            weights[term] * count * (BM25_SATURATION + 1) / (count + BM25_SATURATION * length)
            for term, count in counts.items()
        )
        together = math.fsum(neighbours[pair] for pair in neighbours.keys() & pairwise(terms.text))
        share = math.fsum(map(weights.__getitem__, counts)) / whole if counts else 0.0
        scores[id_] = (single + together) * share**_COVERAGE_EXPONENT
    return scores


def fuse_scores(words: Mapping[int, float], cosines: Mapping[int, float], weight: float) -> dict[int, float]:
    """Return a score in 0..1 for each id in `words`; `weight` in 0..1 is the share of the cosines.

    A weighted mean of both scores, each scaled to 0..1 among the candidates. Unlike ranks, a mean preserves the
    distance between candidates: Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval" (ACM TOIS
    2023).

    An id without a cosine has no vector yet and gets the median. Without any cosine, the word scores alone decide.
    """
    most = max(words.values(), default=0.0) or 1.0
    if not cosines:
        return {id_: value / most for id_, value in words.items()}
    lowest, highest = min(cosines.values()), max(cosines.values())
    unknown, spread = median(cosines.values()), highest - lowest

    def nearness(id_: int) -> float:
        return (cosines.get(id_, unknown) - lowest) / spread if spread else 1.0

    return {id_: (1 - weight) * value / most + weight * nearness(id_) for id_, value in words.items()}


def assign_ranks(scores: Mapping[int, float]) -> dict[int, int]:
    """Return the rank of each id from 1, highest score first; scores of 0 get no rank."""
    best = sorted((id_ for id_, score in scores.items() if score), key=lambda id_: (-scores[id_], id_))
    return {id_: rank for rank, id_ in enumerate(best, start=1)}


_SHINGLE_TERMS = 3  # terms
_DUPLICATE_SIMILARITY = 0.85
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Features that identify a text: its three-term shingles, its numbers, and the query terms in it."""

    shingles: frozenset[tuple[str, ...]]
    numbers: frozenset[str]
    matched: frozenset[str]


def make_fingerprint(text: str, matched: frozenset[str]) -> Fingerprint:
    """Return the fingerprint of a text that contains the query terms `matched`."""
    cut = extract_terms(text)
    runs = (
        zip(*(cut[start:] for start in range(_SHINGLE_TERMS)), strict=False)
        if len(cut) >= _SHINGLE_TERMS
        else [tuple(cut)]
    )
    return Fingerprint(frozenset(runs), frozenset(_NUMBER.findall(text)), matched)


def are_duplicates(first: Fingerprint, second: Fingerprint) -> bool:
    """Return whether two texts are interchangeable for this query: nearly equal (Broder 1997), with the same numbers.

    Texts from one template of which only one contains the query terms are not duplicates.
    """
    if first.numbers != second.numbers or first.matched != second.matched:
        return False
    together = len(first.shingles | second.shingles)
    return len(first.shingles & second.shingles) >= _DUPLICATE_SIMILARITY * together


_DEFAULT_SHARE = 0.5  # for an unknown model, words and vectors are trusted equally
_MEASURED_SHARES_FILE = Path(__file__).with_name("vector_weights.json")


@dataclass(frozen=True, slots=True)
class VectorWeight:
    """Share in 0..1 of vector similarity in a passage's score, and its origin.

    It is fitted on this library, measured in advance for this model, or a default.
    """

    share: float
    origin: Literal["fitted", "measured", "default"]


WEIGHT_ORIGINS = {
    "fitted": N_("fitted to your documents"),
    "measured": N_("as measured for these embeddings"),
    "default": N_("by default"),
}


def read_vector_weight(database: Database, space: EmbeddingSpace) -> VectorWeight:
    """Return the weight of this space, which may have no vectors yet."""
    with database.read() as connection:
        fitted = connection.scalar(select(spaces.c.vector_weight).where(spaces.c.id == space.id))
    if fitted is not None:
        return VectorWeight(float(fitted), "fitted")
    measured = _load_measured_shares().get(space.label)
    return VectorWeight(_DEFAULT_SHARE, "default") if measured is None else VectorWeight(measured, "measured")


def write_vector_weight(database: Database, space: EmbeddingSpace, share: float) -> None:
    """Store a fitted share with the space."""
    with database.write() as connection:
        connection.execute(update(spaces).where(spaces.c.id == space.id).values(vector_weight=share))


@cache
def _load_measured_shares() -> dict[str, float]:
    """Load the shares by space label, fitted on questions with known answers (docs/measurements.md)."""
    shares: dict[str, float] = json.loads(_MEASURED_SHARES_FILE.read_text("utf-8"))
    return shares


# Similarities differ between processors beyond this digit; equal scores are ordered by word score, then by id.
_SCORE_DIGITS = 6
_READ_AT_ONCE = 8  # passages: most searches need only the first ones


@dataclass(slots=True)
class _KeptHit:
    """A distinct hit, and the titles of documents with duplicates of it."""

    hit: SearchHit
    fingerprint: Fingerprint
    also_in: dict[str, None]


def rank_candidates(
    database: Database,
    full_text: FullTextIndex,
    query: str,
    embedded: tuple[EmbeddingSpace, Vectors] | None,
    ids: Sequence[int],
    *,
    vector_weight: float | None = None,
) -> Iterator[SearchHit]:
    """Yield the candidates `ids` as hits, best first; passages that no longer exist are skipped.

    `embedded` is the query's vector and its space, or None if no embedder is available. `vector_weight` in 0..1
    replaces that of the space.
    """
    weights = weigh_terms(query, full_text)
    forms = index_other_forms(weights)
    terms = {id_: found.replace_forms(forms) for id_, found in full_text.read_terms(ids).items()}
    words = score_bm25(weights, weigh_term_pairs(query, weights), terms)
    cosines = read_cosines(database, *embedded, list(words)) if embedded else {}
    weight = 0.0
    if embedded:
        weight = read_vector_weight(database, embedded[0]).share if vector_weight is None else vector_weight
    scores = fuse_scores(words, cosines, weight)
    by_words, by_meaning = assign_ranks(words), assign_ranks(cosines)
    order = sorted(scores, key=lambda id_: (-round(scores[id_], _SCORE_DIGITS), -words[id_], id_))
    for passage in _read_passages_in_order(database, order):
        id_ = passage.id
        yield SearchHit(
            replace(passage, score=scores[id_]),
            words[id_],
            by_words.get(id_),
            cosines.get(id_),
            by_meaning.get(id_),
            frozenset(weights.keys() & {*terms[id_].above, *terms[id_].text}),
        )


_AS_ASKED_WEIGHT = 0.5


def fuse_rankings(ranked: Iterator[SearchHit], as_asked: Iterator[SearchHit], depth: int) -> Iterator[SearchHit]:
    """Yield the hits of a rewritten follow-up, best first; the first `depth` get a weighted sum of both scores.

    Added words then weigh less than words that the user asked with. See Fox and Shaw, "Combination of Multiple
    Searches" (TREC-2, 1994).
    """
    first, second = list(islice(ranked, depth)), list(islice(as_asked, depth))
    scores: defaultdict[int, float] = defaultdict(float)
    for hits, weight in ((first, 1.0), (second, _AS_ASKED_WEIGHT)):
        for hit in hits:
            scores[hit.passage.id] += weight * hit.passage.score / (1.0 + _AS_ASKED_WEIGHT)
    found = {hit.passage.id: hit for hit in (*second, *first)}
    order = sorted(found, key=lambda id_: (-round(scores[id_], _SCORE_DIGITS), id_))
    yield from (replace(found[id_], passage=replace(found[id_].passage, score=scores[id_])) for id_ in order)
    yield from (hit for hit in ranked if hit.passage.id not in found)


def merge_duplicates(hits: Iterator[SearchHit], k: int) -> list[SearchHit]:
    """Return the first `k` distinct hits, each naming the documents of the duplicates it represents."""
    kept: list[_KeptHit] = []
    while len(kept) < k and (hit := next(hits, None)):
        fingerprint = make_fingerprint(hit.passage.text, hit.matched)
        original = next((other for other in kept if are_duplicates(other.fingerprint, fingerprint)), None)
        if original is None:
            kept.append(_KeptHit(hit, fingerprint, {}))
        else:
            original.also_in[hit.passage.title] = None
    return [replace(one.hit, passage=replace(one.hit.passage, also_in=tuple(one.also_in))) for one in kept]


def keep_rarest_name(
    query: str, hits: list[SearchHit], others: Iterator[SearchHit], statistics: TermStatistics
) -> None:
    """Let the best of `others` with the rarest name of the query replace the last of `hits` if none of these has it."""
    names = find_name_terms(query)
    weights = {term: weight for term, weight in weigh_terms(query, statistics).items() if term in names}
    rarest = max(weights, key=weights.__getitem__, default="")
    if hits and rarest and not any(rarest in hit.matched for hit in hits):
        hits[-1] = next((other for other in others if rarest in other.matched), hits[-1])


def _read_passages_in_order(database: Database, ids: Sequence[int]) -> Iterator[Passage]:
    """Read the passages that still exist, in order, a few at a time."""
    left = iter(ids)
    while some := list(islice(left, _READ_AT_ONCE)):
        found = read_passages(database, some, None)  # candidates, which the user may read
        yield from (found[id_] for id_ in some if id_ in found)
