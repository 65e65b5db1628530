"""How well a text answers a question, from cheap features; shared by the built-in grader, refiner and writer.

The numbers in `scoring_weights.json` were fitted by `benchmarks/train_grader.py`, which says to what.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from crag.features import Reading, measure_passages, measure_sentences
from crag.language import terms
from crag.options import Thresholds
from crag.protocols import Embedder
from crag.questions import Question

_OPENING = 0.75
WEIGHTS = Path(__file__).with_name("scoring_weights.json")


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


def passage_probability(question: Question, features: Sequence[float]) -> float:
    """The score of a passage with these features in 0..1, by boosted trees; words and characters have their own."""
    model = _data()["passage"][_script(question)]
    return _logistic(model["bias"] + sum(_leaf(tree, features) for tree in model["trees"]))


def _leaf(tree: Any, features: Sequence[float]) -> float:
    """A tree is a number, or [feature, most, tree up to `most`, tree above it]."""
    while isinstance(tree, list):
        feature, most, below, above = tree
        tree = below if features[feature] <= most else above
    return float(tree)


def sentence_probability(question: Question, features: Sequence[float]) -> float:
    """The logistic score of a sentence with these features in 0..1."""
    bias, *slopes = _data()["sentence"][_script(question)]
    return _logistic(bias + sum(slope * value for slope, value in zip(slopes, features, strict=True)))


def _script(question: Question) -> str:
    return "characters" if question.foreign else "words"


def _logistic(odds: float) -> float:
    return 1 / (1 + math.exp(-odds))


def score_passages(
    question: Question, passages: Sequence[tuple[str, Reading]], embedder: Embedder, sources: Sequence[str] = ()
) -> list[float]:
    """How likely each passage, as (text, reading), is to hold the answer, in 0..1. Raises `ModelFault`.

    They are judged together: what several documents say next to the question's words is likely the answer. `sources`
    names the document of each passage; without it all are of one.
    """
    readings = [reading for _, reading in passages]
    wholes = _cosines(question, [text for text, _ in passages], embedder)
    inner = iter(_cosines(question, [text for reading in readings for text in reading.sentences], embedder))
    nearest = [max([next(inner) for _ in reading.sentences], default=0.0) for reading in readings]
    of_one = [""] * len(readings)
    rows = measure_passages(question, readings, wholes, nearest, sources or of_one)
    return [passage_probability(question, row) for row in rows]


def score_sentences(question: Question, reading: Reading, embedder: Embedder) -> list[float]:
    """How likely each sentence is to hold the answer, in 0..1. Raises `ModelFault` when they cannot be embedded."""
    rows = measure_sentences(question, reading, _cosines(question, reading.sentences, embedder))
    scores = [sentence_probability(question, row) for row in rows]
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
