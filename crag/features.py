"""Features of a text for a question, from which `crag/scoring.py` computes scores."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from crag.agreement import agreeing_candidates, agreeing_terms, compared
from crag.candidates import candidates, fits, fitting
from crag.language import sentences, terms
from crag.questions import Question

Model = Literal["passage", "sentence"]

_ROW = 12
_YEAR = re.compile(r"(?<!\d)(?:1[89]|20)\d\d(?!\d)")
OF_OTHERS = 6  # number of final passage features that compare it with other passages; 0 if there are none
FEATURES: dict[Model, tuple[str, ...]] = {
    "passage": (
        "cosine", "nearest", "coverage", "best", "answering", "proximity", "names", "phrases", "fitting", "years",
        "agreeing_candidates", "candidates_above_mean", "mean_candidates",
        "agreeing_terms", "terms_above_mean", "mean_terms",
    ),
    "sentence": ("coverage", "near", "cosine", "rarest", "phrases", "fitting", "novelty"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reading:
    """A text split into sentences, with the terms of each and of its title and heading (`around`)."""

    sentences: tuple[str, ...]
    terms: tuple[tuple[str, ...], ...]
    around: frozenset[str]

    def windows(self) -> list[frozenset[str]]:
        """Return the terms of each pair of neighbouring sentences, including those of title and heading."""
        return [self.around.union(unit, *self.terms[at + 1 : at + 2]) for at, unit in enumerate(self.terms)]


def read_text(text: str, around: str = "") -> Reading:
    """Split a text into sentences and terms. `around` is its title and heading."""
    return read_units(sentences(text), around)


def read_units(units: Iterable[str], around: str = "") -> Reading:
    """Extract the terms of sentences that are already split."""
    held = tuple(units)
    return Reading(held, tuple(tuple(terms(unit)) for unit in held), frozenset(terms(around)))


def measure_passages(
    question: Question,
    readings: Sequence[Reading],
    cosines: Sequence[float],
    nearest: Sequence[float],
    sources: Sequence[str],
) -> list[list[float]]:
    """Return the features of every passage of one question, in the order of `FEATURE_NAMES["passage"]`.

    `cosines` are the similarities of whole passages to the question, `nearest` those of their most similar sentences.
    `sources` names the document of each passage.
    """
    found = [[candidates(question, text) for text in reading.sentences] for reading in readings]
    votes = agreeing_candidates(question, [frozenset[str]().union(*units) for units in found], sources)
    recurring = agreeing_terms(question, [_nearness(question, reading) for reading in readings], sources)
    shared = zip(*compared(votes), *compared(recurring), strict=True)
    alone = (_measure_alone(question, reading) for reading in readings)
    return [
        [cosine, near, *own, *agreement]
        for cosine, near, own, agreement in zip(cosines, nearest, alone, shared, strict=True)
    ]


def _measure_alone(question: Question, reading: Reading) -> list[float]:
    """Return the features that need neither vectors nor other passages."""
    sequence = [term for unit in reading.terms for term in unit]
    windows = reading.windows()
    shares = [question.covered(window) for window in windows]
    at, best = best_window(question, reading)
    window = windows[at] if windows else reading.around
    fit = [fits(question, text) for text in reading.sentences]
    answering = [share for index, share in enumerate(shares) if any(fit[index : index + 2])]
    return [
        question.covered(reading.around.union(sequence)),
        best,
        max(answering, default=0.0),
        _proximity(question, sequence),
        len(question.names & window) / len(question.names) if question.names else 1.0,
        _phrases(question, sequence),
        fitting(question, "\n".join(reading.sentences[at : at + 2])),
        _years(question, reading),
    ]


def best_window(question: Question, reading: Reading) -> tuple[int, float]:
    """Return the start of the sentence pair that covers most of the question, and the share it covers."""
    shares = [question.covered(window) for window in reading.windows()]
    best = max(shares, default=0.0)
    return (shares.index(best) if shares else 0), best


def _nearness(question: Question, reading: Reading) -> dict[str, float]:
    """Return how close each term outside the question is to the question's words.

    The value is the share of the question covered by the term's sentence and its neighbours.
    """
    near: dict[str, float] = {}
    for index, unit in enumerate(reading.terms):
        share = question.covered(reading.around.union(*reading.terms[max(0, index - 1) : index + 2]))
        for term in set(unit) - question.weights.keys():
            near[term] = max(share, near.get(term, 0.0))
    return near


def _proximity(question: Question, sequence: Sequence[str]) -> float:
    """Return the largest share of the question covered by twelve consecutive terms."""
    starts = (place for place, term in enumerate(sequence) if term in question.weights)
    return max((question.covered(set(sequence[place : place + _ROW])) for place in starts), default=0.0)


def _years(question: Question, reading: Reading) -> float:
    """Return 1 if the text contains all years named in the question, -1 if it contains only other years, else 0."""
    asked = set(_YEAR.findall(question.text))
    held = {year for text in reading.sentences for year in _YEAR.findall(text)}
    if not asked or asked <= held:
        return float(bool(asked))
    return -1.0 if held and not asked & held else 0.0


def measure_sentences(question: Question, reading: Reading, cosines: Sequence[float]) -> list[list[float]]:
    """Return the features of every sentence, in the order of `FEATURE_NAMES["sentence"]`."""
    asked = question.weights.keys()
    rows = []
    for index, (text, own) in enumerate(zip(reading.sentences, reading.terms, strict=True)):
        near = set(own).union(*reading.terms[max(0, index - 1) : index + 2])
        rows.append(
            [
                question.covered(own),
                question.covered(near),
                cosines[index],
                float(question.rarest in own),
                _phrases(question, own),
                fitting(question, text),
                min(len(set(own) - asked), 8) / 8,
            ]
        )
    return rows


def _phrases(question: Question, sequence: Sequence[str]) -> float:
    """Return the share of neighbouring term pairs of the question that are also neighbours in the text."""
    asked = list(pairwise(question.order))
    if not asked:
        return 0.5
    near = {*pairwise(sequence), *zip(sequence, sequence[2:], strict=False)}
    return sum(pair in near or pair[::-1] in near for pair in asked) / len(asked)
