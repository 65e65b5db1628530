"""What the passages of one question say alike: an answer recurs in several of them, other things do not.

The same votes of redundant passages decide in question answering over the web (Dumais et al., SIGIR 2002). Only what
other documents say is a vote: the passages of one document share its words whatever is asked.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain

from crag.questions import Question

_BEST_CANDIDATES = 2  # such as first and last name
_BEST_TERMS = 3
_FEWEST_SOURCES = 3  # two may say the same by chance
Weighted = Mapping[str, float]


def agreeing_candidates(question: Question, found: Sequence[frozenset[str]], sources: Sequence[str]) -> list[float]:
    """For each passage, given its candidates: the share of the others that also hold the two they agree on most.

    Weighted by rarity in the library, so that what stands everywhere counts little. Others are those of other
    `sources`; 0 for all where there are few.
    """
    weights = _rarity(question, found)
    return _votes([dict.fromkeys(own, 1.0) for own in found], sources, weights, _BEST_CANDIDATES)


def agreeing_terms(question: Question, near: Sequence[Weighted], sources: Sequence[str]) -> list[float]:
    """For each passage, given its terms and how near the question's words each stands (0..1): the same for terms."""
    return _votes(near, sources, _rarity(question, near), _BEST_TERMS)


def compared(values: Sequence[float]) -> tuple[list[float], list[float], list[float]]:
    """The values, by how much each exceeds their mean, and the mean, once for each."""
    mean = sum(values) / max(1, len(values))
    return list(values), [value - mean for value in values], [mean] * len(values)


def _rarity(question: Question, held: Sequence[frozenset[str] | Weighted]) -> dict[str, float]:
    """Of all that stands in two passages or more, the inverse document frequency as a share of the greatest."""
    counts = Counter(chain.from_iterable(held))
    shared = [term for term, count in counts.items() if count > 1]
    return {term: weight / question.unseen for term, weight in question.statistics.idf(shared).items()}


def _votes(held: Sequence[Weighted], sources: Sequence[str], weights: Weighted, most: int) -> list[float]:
    """The mean over the `most` strongest of: own nearness × mean nearness in the other sources × weight."""
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
