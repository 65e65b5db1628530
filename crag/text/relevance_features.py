"""Lexical features of passages and sentences for a question; `crag.text.relevance_scores` turns them into scores.

Agreement between passages is one of the features: an answer recurs in several passages, other content does not. Dumais
et al. (SIGIR 2002) use the same redundancy for question answering on the web. Only other documents count as votes,
because passages of one document share vocabulary whatever the question.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from crag.text.language import extract_terms, split_sentences
from crag.text.opening_hours import name_hours_asked_for
from crag.text.questions import AnalyzedQuestion, answer_type_score, find_candidates, matches_answer_type

_TOP_CANDIDATES = 2  # such as first and last name
_TOP_TERMS = 3
_MIN_SOURCES = 3  # two sources may agree by chance
TermWeights = Mapping[str, float]


def score_candidate_agreement(
    question: AnalyzedQuestion, found: Sequence[frozenset[str]], sources: Sequence[str]
) -> list[float]:
    """Return for each passage the agreement of other sources with its two most shared candidates, above the mean.

    Candidates are weighted by their rarity in the library, so that ubiquitous values count little. Only passages of
    other `sources` count. The result is 0 for all passages if there are few sources.
    """
    weights = _weigh_shared_terms(question, found)
    return _above_mean(_count_votes([dict.fromkeys(own, 1.0) for own in found], sources, weights, _TOP_CANDIDATES))


def score_term_agreement(
    question: AnalyzedQuestion, near: Sequence[TermWeights], sources: Sequence[str]
) -> list[float]:
    """Return the same for terms, given how close each one is to the question's words (0..1)."""
    return _above_mean(_count_votes(near, sources, _weigh_shared_terms(question, near), _TOP_TERMS))


def _above_mean(values: Sequence[float]) -> list[float]:
    mean = sum(values) / max(1, len(values))
    return [value - mean for value in values]


def _weigh_shared_terms(question: AnalyzedQuestion, held: Sequence[frozenset[str] | TermWeights]) -> dict[str, float]:
    """Return the inverse document frequency, relative to the maximum, of everything found in at least two passages."""
    counts = Counter(chain.from_iterable(held))
    shared = [term for term, count in counts.items() if count > 1]
    return {term: weight / question.unseen_weight for term, weight in question.statistics.idf(shared).items()}


def _count_votes(held: Sequence[TermWeights], sources: Sequence[str], weights: TermWeights, most: int) -> list[float]:
    """Return the mean of the `most` largest products: own nearness × mean nearness in other sources × weight."""
    passages = Counter(sources)
    if len(passages) < _MIN_SOURCES:
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


FeatureSet = Literal["passage", "sentence"]

CROSS_PASSAGE_FEATURES = 2  # number of final passage features that compare it with other passages; 0 if there are none
FEATURE_NAMES: dict[FeatureSet, tuple[str, ...]] = {
    "passage": ("nearest", "coverage", "answering", "candidates", "terms"),
    "sentence": ("coverage", "cosine", "fitting"),
}


@dataclass(frozen=True, slots=True)
class TokenizedText:
    """A text split into sentences, with the terms of each and of its `title`, which includes the heading (`around`)."""

    sentences: tuple[str, ...]
    terms: tuple[tuple[str, ...], ...]
    around: frozenset[str]
    title: str = ""

    def windows(self) -> list[frozenset[str]]:
        """Return the terms of each pair of neighbouring sentences, including those of title and heading."""
        return [self.around.union(unit, *self.terms[at + 1 : at + 2]) for at, unit in enumerate(self.terms)]


def tokenize_text(text: str, around: str = "", question: str = "") -> TokenizedText:
    """Split a text into sentences and terms. `around` is its title and heading.

    A sentence also has the terms of days and openings that the `question` names and that it speaks of in other words.
    """
    return tokenize_sentences(split_sentences(text), around, question)


def tokenize_sentences(units: Iterable[str], around: str = "", question: str = "") -> TokenizedText:
    """Extract the terms of sentences that are already split, as `tokenize_text` does."""
    held = tuple(units)
    terms = tuple(tuple(extract_terms(name_hours_asked_for(question, unit))) for unit in held)
    return TokenizedText(held, terms, frozenset(extract_terms(around)), around)


def measure_passages(
    question: AnalyzedQuestion,
    tokenized_texts: Sequence[TokenizedText],
    nearest: Sequence[float],
    sources: Sequence[str],
) -> list[list[float]]:
    """Return the features of every passage of one question, in the order of `FEATURE_NAMES["passage"]`.

    `nearest` are the similarities of their most similar sentences to the question, `sources` names the document of each
    passage.
    """
    found = [[find_candidates(question, text) for text in tokenized.sentences] for tokenized in tokenized_texts]
    votes = score_candidate_agreement(question, [frozenset[str]().union(*units) for units in found], sources)
    recurring = score_term_agreement(
        question, [_measure_nearness(question, tokenized) for tokenized in tokenized_texts], sources
    )
    return [
        [near, _measure_coverage(question, tokenized), _measure_answering(question, tokenized), vote, again]
        for near, tokenized, vote, again in zip(nearest, tokenized_texts, votes, recurring, strict=True)
    ]


def _measure_coverage(question: AnalyzedQuestion, tokenized: TokenizedText) -> float:
    """Return the share of the question that the passage covers, title and heading included."""
    return question.covered_share(tokenized.around.union(*tokenized.terms))


def _measure_answering(question: AnalyzedQuestion, tokenized: TokenizedText) -> float:
    """Return the largest share that a pair of sentences with a value of the kind asked for covers."""
    fit = [matches_answer_type(question, text) for text in tokenized.sentences]
    return max(
        (question.covered_share(own) for at, own in enumerate(tokenized.windows()) if any(fit[at : at + 2])),
        default=0.0,
    )


def _measure_nearness(question: AnalyzedQuestion, tokenized: TokenizedText) -> dict[str, float]:
    """Return how close each term outside the question is to the question's words.

    The value is the share of the question covered by the term's sentence and its neighbours.
    """
    near: dict[str, float] = {}
    for index, unit in enumerate(tokenized.terms):
        share = question.covered_share(tokenized.around.union(*tokenized.terms[max(0, index - 1) : index + 2]))
        for term in set(unit) - question.weights.keys():
            near[term] = max(share, near.get(term, 0.0))
    return near


def measure_sentences(
    question: AnalyzedQuestion, tokenized: TokenizedText, cosines: Sequence[float]
) -> list[list[float]]:
    """Return the features of every sentence, in the order of `FEATURE_NAMES["sentence"]`."""
    return [
        [question.covered_share(own), cosine, answer_type_score(question, text)]
        for text, own, cosine in zip(tokenized.sentences, tokenized.terms, cosines, strict=True)
    ]
