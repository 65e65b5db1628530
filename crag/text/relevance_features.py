"""Lexical features of passages and sentences for a question; `crag.text.relevance_scores` turns them into scores.

Agreement between passages is one of the features: an answer recurs in several passages, other content does not. Dumais
et al. (SIGIR 2002) use the same redundancy for question answering on the web. Only other documents count as votes,
because passages of one document share vocabulary whatever the question.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
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
    """Return for each passage the agreement of other sources with its two most shared candidates.

    Candidates are weighted by their rarity in the library, so that ubiquitous values count little. Only passages of
    other `sources` count. The result is 0 for all passages if there are few sources.
    """
    weights = _weigh_shared_terms(question, found)
    return _count_votes([dict.fromkeys(own, 1.0) for own in found], sources, weights, _TOP_CANDIDATES)


def score_term_agreement(
    question: AnalyzedQuestion, near: Sequence[TermWeights], sources: Sequence[str]
) -> list[float]:
    """Return the same for terms, given how close each one is to the question's words (0..1)."""
    return _count_votes(near, sources, _weigh_shared_terms(question, near), _TOP_TERMS)


def compare_with_mean(values: Sequence[float]) -> tuple[list[float], list[float], list[float]]:
    """Return the values, their differences from the mean, and the mean repeated for each value."""
    mean = sum(values) / max(1, len(values))
    return list(values), [value - mean for value in values], [mean] * len(values)


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

_PROXIMITY_TERMS = 12
_YEAR = re.compile(r"(?<!\d)(?:1[89]|20)\d\d(?!\d)")
CROSS_PASSAGE_FEATURES = 6  # number of final passage features that compare it with other passages; 0 if there are none
FEATURE_NAMES: dict[FeatureSet, tuple[str, ...]] = {
    "passage": (
        "cosine", "nearest", "coverage", "best", "answering", "proximity", "names", "phrases", "fitting", "years",
        "agreeing_candidates", "candidates_above_mean", "mean_candidates",
        "agreeing_terms", "terms_above_mean", "mean_terms",
    ),
    "sentence": ("coverage", "near", "cosine", "rarest", "phrases", "fitting", "novelty"),
}  # fmt: skip


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
    cosines: Sequence[float],
    nearest: Sequence[float],
    sources: Sequence[str],
) -> list[list[float]]:
    """Return the features of every passage of one question, in the order of `FEATURE_NAMES["passage"]`.

    `cosines` are the similarities of whole passages to the question, `nearest` those of their most similar sentences.
    `sources` names the document of each passage.
    """
    found = [[find_candidates(question, text) for text in tokenized.sentences] for tokenized in tokenized_texts]
    votes = score_candidate_agreement(question, [frozenset[str]().union(*units) for units in found], sources)
    recurring = score_term_agreement(
        question, [_measure_nearness(question, tokenized) for tokenized in tokenized_texts], sources
    )
    shared = zip(*compare_with_mean(votes), *compare_with_mean(recurring), strict=True)
    alone = (_measure_passage(question, tokenized) for tokenized in tokenized_texts)
    return [
        [cosine, near, *own, *agreement]
        for cosine, near, own, agreement in zip(cosines, nearest, alone, shared, strict=True)
    ]


def _measure_passage(question: AnalyzedQuestion, tokenized: TokenizedText) -> list[float]:
    """Return the features that need neither vectors nor other passages."""
    sequence = [term for unit in tokenized.terms for term in unit]
    windows = tokenized.windows()
    shares = [question.covered_share(window) for window in windows]
    at, best = find_best_window(question, tokenized)
    window = windows[at] if windows else tokenized.around
    fit = [matches_answer_type(question, text) for text in tokenized.sentences]
    answering = [share for index, share in enumerate(shares) if any(fit[index : index + 2])]
    return [
        question.covered_share(tokenized.around.union(sequence)),
        best,
        max(answering, default=0.0),
        _measure_proximity(question, sequence),
        len(question.names & window) / len(question.names) if question.names else 1.0,
        _measure_phrases(question, sequence),
        answer_type_score(question, "\n".join(tokenized.sentences[at : at + 2])),
        _compare_years(question, tokenized),
    ]


def find_best_window(question: AnalyzedQuestion, tokenized: TokenizedText) -> tuple[int, float]:
    """Return the start of the sentence pair that covers most of the question, and the share it covers."""
    shares = [question.covered_share(window) for window in tokenized.windows()]
    best = max(shares, default=0.0)
    return (shares.index(best) if shares else 0), best


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


def _measure_proximity(question: AnalyzedQuestion, sequence: Sequence[str]) -> float:
    """Return the largest share of the question covered by twelve consecutive terms."""
    starts = (place for place, term in enumerate(sequence) if term in question.weights)
    return max(
        (question.covered_share(set(sequence[place : place + _PROXIMITY_TERMS])) for place in starts), default=0.0
    )


def _compare_years(question: AnalyzedQuestion, tokenized: TokenizedText) -> float:
    """Return 1 if the text contains all years named in the question, -1 if it contains only other years, else 0."""
    asked = set(_YEAR.findall(question.text))
    held = {year for text in tokenized.sentences for year in _YEAR.findall(text)}
    if not asked or asked <= held:
        return float(bool(asked))
    return -1.0 if held and not asked & held else 0.0


def measure_sentences(
    question: AnalyzedQuestion, tokenized: TokenizedText, cosines: Sequence[float]
) -> list[list[float]]:
    """Return the features of every sentence, in the order of `FEATURE_NAMES["sentence"]`."""
    asked = question.weights.keys()
    rows = []
    for index, (text, own) in enumerate(zip(tokenized.sentences, tokenized.terms, strict=True)):
        near = set(own).union(*tokenized.terms[max(0, index - 1) : index + 2])
        rows.append(
            [
                question.covered_share(own),
                question.covered_share(near),
                cosines[index],
                float(question.rarest_term in own),
                _measure_phrases(question, own),
                answer_type_score(question, text),
                min(len(set(own) - asked), 8) / 8,
            ]
        )
    return rows


def _measure_phrases(question: AnalyzedQuestion, sequence: Sequence[str]) -> float:
    """Return the share of neighbouring term pairs of the question that are also neighbours in the text."""
    asked = list(pairwise(question.order))
    if not asked:
        return 0.5
    near = {*pairwise(sequence), *zip(sequence, sequence[2:], strict=False)}
    return sum(pair in near or pair[::-1] in near for pair in asked) / len(asked)
