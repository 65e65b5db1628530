"""Ranking of candidates by words and by vectors, with duplicates merged into one hit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from crag.database import Database
from crag.library.passages import read_cosines, read_passages
from crag.library.search.bm25 import score_words, weigh_neighbours, weigh_terms
from crag.library.search.duplicates import Fingerprint, are_duplicates, take_fingerprint
from crag.library.search.fulltext import FullText
from crag.library.search.fusion import fuse, ranks
from crag.library.search.weights import read_weight
from crag.protocols import Vectors
from crag.types import Hit, Passage, Space

# Similarities differ between processors beyond this digit; equal scores are ordered by word score, then by id.
_SCORE_DIGITS = 6


@dataclass(slots=True)
class _Kept:
    """A distinct hit, and the titles of documents with duplicates of it."""

    hit: Hit
    fingerprint: Fingerprint
    also_in: dict[str, None]


def rank(
    database: Database, full_text: FullText, query: str, embedded: tuple[Space, Vectors] | None, ids: Sequence[int]
) -> Iterator[Hit]:
    """Yield the candidates `ids` as hits, best first; passages that no longer exist are skipped.

    `embedded` is the query's vector and its space, or None if no embedder is available.
    """
    weights = weigh_terms(query, full_text)
    terms = full_text.read_terms(ids)
    words = score_words(weights, weigh_neighbours(query, weights), terms)
    cosines = read_cosines(database, *embedded, list(words)) if embedded else {}
    scores = fuse(words, cosines, read_weight(database, embedded[0]).share if embedded else 0.0)
    by_words, by_meaning = ranks(words), ranks(cosines)
    order = sorted(scores, key=lambda id_: (-round(scores[id_], _SCORE_DIGITS), -words[id_], id_))
    for passage in _read_in_order(database, order):
        id_ = passage.id
        yield Hit(
            replace(passage, score=scores[id_]),
            words[id_],
            by_words.get(id_),
            cosines.get(id_),
            by_meaning.get(id_),
            frozenset(weights.keys() & {*terms[id_].above, *terms[id_].text}),
        )


def merge_duplicates(hits: Iterator[Hit], k: int) -> list[Hit]:
    """Return the first `k` distinct hits, each naming the documents of the duplicates it represents."""
    kept: list[_Kept] = []
    while len(kept) < k and (hit := next(hits, None)):
        fingerprint = take_fingerprint(hit.passage.text, hit.matched)
        twin = next((other for other in kept if are_duplicates(other.fingerprint, fingerprint)), None)
        if twin is None:
            kept.append(_Kept(hit, fingerprint, {}))
        else:
            twin.also_in[hit.passage.title] = None
    return [replace(one.hit, passage=replace(one.hit.passage, also_in=tuple(one.also_in))) for one in kept]


def _read_in_order(database: Database, ids: Sequence[int], at_once: int = 8) -> Iterator[Passage]:
    """Read the passages that still exist, a few at a time: most searches need only the first ones."""
    left = iter(ids)
    while some := list(islice(left, at_once)):
        found = read_passages(database, some)
        yield from (found[id_] for id_ in some if id_ in found)
