"""Agreement between the passages of one question: an answer recurs in several passages, other content does not.

Dumais et al. (SIGIR 2002) use the same redundancy for question answering on the web. Only other documents count as
votes, because passages of one document share vocabulary whatever the question.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain

from crag.questions import Question

_BEST_CANDIDATES = 2  # such as first and last name
_BEST_TERMS = 3
_FEWEST_SOURCES = 3  # two sources may agree by chance
Weighted = Mapping[str, float]


def agreeing_candidates(question: Question, found: Sequence[frozenset[str]], sources: Sequence[str]) -> list[float]:
    """Return for each passage the agreement of other sources with its two most shared candidates.

    Candidates are weighted by their rarity in the library, so that ubiquitous values count little. Only passages of
    other `sources` count. The result is 0 for all passages if there are few sources.
    """
    weights = _rarity(question, found)
    return _votes([dict.fromkeys(own, 1.0) for own in found], sources, weights, _BEST_CANDIDATES)


def agreeing_terms(question: Question, near: Sequence[Weighted], sources: Sequence[str]) -> list[float]:
    """Return the same for terms, given how close each one is to the question's words (0..1)."""
    return _votes(near, sources, _rarity(question, near), _BEST_TERMS)


def compared(values: Sequence[float]) -> tuple[list[float], list[float], list[float]]:
    """Return the values, their differences from the mean, and the mean repeated for each value."""
    mean = sum(values) / max(1, len(values))
    return list(values), [value - mean for value in values], [mean] * len(values)


def _rarity(question: Question, held: Sequence[frozenset[str] | Weighted]) -> dict[str, float]:
    """Return the inverse document frequency, relative to the maximum, of everything found in at least two passages."""
    counts = Counter(chain.from_iterable(held))
    shared = [term for term, count in counts.items() if count > 1]
    return {term: weight / question.unseen for term, weight in question.statistics.idf(shared).items()}


def _votes(held: Sequence[Weighted], sources: Sequence[str], weights: Weighted, most: int) -> list[float]:
    """Return the mean of the `most` largest products: own nearness × mean nearness in other sources × weight."""
    passages = Counter(sources)
    if len(passages) < _FEWEST_SOURCES:
        return [0.0] * len(held)
    everywhere: dict[str, float] = defaultdict(float)
    within: dict[tuple[str, str], float] = defaultdict(float)
    for own, source in zip(held, sources, strict=True):
        for term in own.keys() & weights.keys():
            everywhere[term] += own[term]
            within[source, term] += own[term]
    votes = []
    for own, source in zip(held, sources, strict=True):
        others = len(held) - passages[source]
        strong = sorted(
            (
                own[term] * (everywhere[term] - within[source, term]) / others * weights[term]
                for term in own.keys() & weights.keys()
            ),
            reverse=True,
        )
        votes.append(sum(strong[:most]) / most)
    return votes
