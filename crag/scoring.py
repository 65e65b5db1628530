"""How well a text answers a question, from cheap features; shared by the built-in grader, refiner and writer.

The coefficients in `scoring_weights.json` were fitted by `benchmarks/train_grader.py`, which says to what.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from crag.language import sentences, terms
from crag.protocols import Embedder
from crag.questions import Question, fitting
from crag.types import Thresholds

Model = Literal["passage", "sentence"]

_OPENING = 0.75
WEIGHTS = Path(__file__).with_name("scoring_weights.json")
FEATURES: dict[Model, tuple[str, ...]] = {
    "passage": (
        "coverage", "best", "best_squared", "cosine", "nearest", "rarest", "names", "phrases", "fitting", "shortness",
    ),
    "sentence": ("coverage", "near", "cosine", "rarest", "phrases", "fitting", "novelty"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reading:
    """A passage taken apart: its sentences, their terms, and the terms of its title and heading."""

    sentences: tuple[str, ...]
    terms: tuple[tuple[str, ...], ...]
    around: frozenset[str]


def read_text(text: str, around: str = "") -> Reading:
    """The text taken apart; `around` is what stands over it, such as title and heading."""
    return read_units(sentences(text), around)


def read_units(units: Iterable[str], around: str = "") -> Reading:
    """Sentences that were taken apart before."""
    held = tuple(units)
    return Reading(held, tuple(tuple(terms(unit)) for unit in held), frozenset(terms(around)))


def measure_passage(question: Question, reading: Reading, cosine: float, nearest: float) -> list[float]:
    """The features of a passage, in the order of `FEATURES["passage"]`.

    `cosine` is the nearness of the whole passage to the question, `nearest` that of its nearest sentence.
    """
    sequence = [term for unit in reading.terms for term in unit]
    every = reading.around.union(sequence)
    at, best = best_window(question, reading)
    return [
        question.covered(every),
        best,
        best * best,
        cosine,
        nearest,
        float(question.rarest in every),
        len(question.names & every) / len(question.names) if question.names else 1.0,
        _phrases(question, sequence),
        fitting(question, "\n".join(reading.sentences[at : at + 2])),
        1 / (1 + len(sequence) / 50),
    ]


def best_window(question: Question, reading: Reading) -> tuple[int, float]:
    """Where the two neighbouring sentences begin that cover most of the question, and the share they cover."""
    windows = (set(unit).union(*reading.terms[index + 1 : index + 2]) for index, unit in enumerate(reading.terms))
    shares = [question.covered(window) for window in windows]
    best = max(shares, default=0.0)
    return (shares.index(best) if shares else 0), best


def measure_sentences(question: Question, reading: Reading, cosines: Sequence[float]) -> list[list[float]]:
    """The features of every sentence, in the order of `FEATURES["sentence"]`."""
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
    """The share of neighbouring terms of the question that stand as near in the text."""
    asked = list(pairwise(question.order))
    if not asked:
        return 0.5
    near = {*pairwise(sequence), *zip(sequence, sequence[2:], strict=False)}
    return sum(pair in near or pair[::-1] in near for pair in asked) / len(asked)


@cache
def fingerprint() -> str:
    """Of the coefficients: by others the same text scores otherwise, and thresholds fitted to these do not hold."""
    return hashlib.sha256(WEIGHTS.read_bytes()).hexdigest()[:8]


@cache
def _data() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(WEIGHTS.read_text("utf-8"))
    return data


def thresholds() -> Thresholds:
    """Where scores of passages turn into words, as fitted; the same for words and characters."""
    return Thresholds(**_data()["thresholds"])


def probability(model: Model, question: Question, features: Sequence[float]) -> float:
    """The logistic score of the features in 0..1; words and characters have coefficients of their own."""
    bias, *slopes = _data()["models"][model]["characters" if question.foreign else "words"]
    return 1 / (1 + math.exp(-bias - sum(slope * value for slope, value in zip(slopes, features, strict=True))))


def score_passages(question: Question, passages: Sequence[tuple[str, Reading]], embedder: Embedder) -> list[float]:
    """How likely each passage, as (text, reading), is to hold the answer, in 0..1. Raises `ModelFault`."""
    wholes = _cosines(question, [text for text, _ in passages], embedder)
    inner = iter(_cosines(question, [text for _, reading in passages for text in reading.sentences], embedder))
    scores = []
    for (_, reading), cosine in zip(passages, wholes, strict=True):
        nearest = max([next(inner) for _ in reading.sentences], default=0.0)
        scores.append(probability("passage", question, measure_passage(question, reading, cosine, nearest)))
    return scores


def score_sentences(question: Question, reading: Reading, embedder: Embedder) -> list[float]:
    """How likely each sentence is to hold the answer, in 0..1. Raises `ModelFault` when they cannot be embedded."""
    rows = measure_sentences(question, reading, _cosines(question, reading.sentences, embedder))
    scores = [probability("sentence", question, row) for row in rows]
    if question.kind != "explanation":
        return scores
    # What opens with the name asked about says what it is, though it seldom repeats the rest of the question.
    opens = [bool(question.names.intersection(own[:1])) for own in reading.terms]
    return [max(score, _OPENING) if first else score for score, first in zip(scores, opens, strict=True)]


def _cosines(question: Question, texts: Sequence[str], embedder: Embedder) -> list[float]:
    if not texts:
        return []
    return [float(value) for value in embedder.embed_documents(texts) @ embedder.embed_query(question.text)]


class CountedTerms:
    """Term statistics from counts: in how many of `documents` passages each term occurs."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self.counts: Counter[str] = Counter()
        self.documents = 0
        for text in texts:
            self.counts.update(set(terms(text)))
            self.documents += 1

    def idf(self, terms: Sequence[str]) -> dict[str, float]:
        """Inverse document frequency of each term; one that never occurs gets the maximum."""
        return {term: inverse_frequency(self.counts[term], self.documents) for term in terms}


def inverse_frequency(passages_with_term: int, passages: int) -> float:
    """ln(1 + (N − n + ½) / (n + ½)) for a term in n of N passages, above 0: BM25 (Robertson and Zaragoza 2009)."""
    return math.log(1 + (passages - passages_with_term + 0.5) / (passages_with_term + 0.5))
