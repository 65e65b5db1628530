"""BM25 in which a word has one weight, however many terms it was split into."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import islice, pairwise

from crag.language import words
from crag.library.search.fulltext import PassageTerms, fold_accents
from crag.protocols import TermStatistics

# The usual BM25 parameters k1 and b (Robertson and Zaragoza 2009): term frequency saturation, and the strength of
# length normalization.
_SATURATION = 1.2
_LENGTH_SHARE = 0.75
_MOST_TERMS = 64


def weigh_terms(query: str, statistics: TermStatistics) -> dict[str, float]:
    """Return the weight of each query term: its rarity, reduced if the term is only part of a word.

    Chinese and Korean words are split into pairs of characters. A word of n pairs weighs √n times as much as a single
    pair, not n times: its pairs mostly occur together and mean one thing.
    """
    shares: dict[str, float] = {}
    for _, found in words(fold_accents(query)):
        for term in found:
            shares[term] = max(shares.get(term, 0.0), len(found) ** -0.5)
    shares = dict(islice(shares.items(), _MOST_TERMS))
    rarity = statistics.idf(list(shares))
    return {term: share * rarity[term] for term, share in shares.items()}


def weigh_neighbours(query: str, weights: Mapping[str, float]) -> dict[tuple[str, str], float]:
    """Return weights for adjacent words of the query: each pair counts as one more word of their mean weight.

    Ranks passages with the exact phrase above those on the same topic: the ordered pairs of Metzler and Croft, "A
    Markov Random Field Model for Term Dependencies" (SIGIR 2005). A key holds the last term of one word and the first
    of the next.
    """
    cut = [found for _, found in words(fold_accents(query))]
    pairs = {(before[-1], after[0]) for before, after in pairwise(cut)}
    return {(a, b): (weights[a] + weights[b]) / 2 for a, b in pairs if a != b and a in weights and b in weights}


def score_words(
    weights: Mapping[str, float], neighbours: Mapping[tuple[str, str], float], texts: Mapping[int, PassageTerms]
) -> dict[int, float]:
    """Return the BM25 score of each passage by id, plus once the weight of each adjacent pair in its own text.

    Lengths are normalized by the mean length of these passages.
    """
    mean = sum(map(len, texts.values())) / max(1, len(texts))
    scores = {}
    for id_, terms in texts.items():
        counts = Counter(term for part in (terms.above, terms.text) for term in part if term in weights)
        length = 1 - _LENGTH_SHARE + _LENGTH_SHARE * len(terms) / max(1.0, mean)
        said = sum(
            weights[term] * count * (_SATURATION + 1) / (count + _SATURATION * length) for term, count in counts.items()
        )
        scores[id_] = said + sum(neighbours[pair] for pair in neighbours.keys() & pairwise(terms.text))
    return scores
