"""Trained lexical scorer shared by the built-in grader, refiner and writer.

`relevance_weights.json` is fitted by `benchmarks/train_grader.py`, which documents the training data.
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

from crag.protocols import Embedder
from crag.text.language import extract_terms
from crag.text.questions import AnalyzedQuestion
from crag.text.relevance_features import FeatureSet, TokenizedText, measure_passages, measure_sentences
from crag.types import Thresholds

_MIN_DEFINITION_SCORE = 0.75
WEIGHTS_FILE = Path(__file__).with_name("relevance_weights.json")


@cache
def weights_fingerprint() -> str:
    """Return the hash of the coefficients. Thresholds fitted to other coefficients do not apply."""
    return hashlib.sha256(WEIGHTS_FILE.read_bytes()).hexdigest()[:8]


@cache
def _load_weights() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(WEIGHTS_FILE.read_text("utf-8"))
    return data


def fitted_thresholds() -> Thresholds:
    """Return the fitted thresholds for passage scores."""
    return Thresholds(**_load_weights()["thresholds"])


def _weigh(kind: FeatureSet, features: Sequence[float]) -> float:
    bias, *slopes = _load_weights()[kind]
    return _logistic(bias + sum(slope * value for slope, value in zip(slopes, features, strict=True)))


def _logistic(odds: float) -> float:
    return 1 / (1 + math.exp(-odds))


def score_passages(
    question: AnalyzedQuestion,
    passages: Sequence[TokenizedText],
    embedder: Embedder,
    sources: Sequence[str] = (),
) -> list[float]:
    """Return the probability, in 0..1, that each passage contains the answer.

    Passages are scored together: what several documents say next to the question's words is probably the answer.
    `sources` names the document of each passage; without it all are treated as one document. Raises `ModelFault`.
    """
    sentences = [text for passage in passages for text in passage.sentences]
    cosines = iter(_compute_cosines(question, sentences, embedder))
    nearest = [max([next(cosines) for _ in passage.sentences], default=0.0) for passage in passages]
    rows = measure_passages(question, passages, nearest, sources or [""] * len(passages))
    return [_weigh("passage", row) for row in rows]


def score_sentences(question: AnalyzedQuestion, tokenized: TokenizedText, embedder: Embedder) -> list[float]:
    """Return the probability, in 0..1, that each sentence contains the answer.

    Raises `ModelFault` if embedding fails.
    """
    rows = measure_sentences(question, tokenized, _compute_cosines(question, tokenized.sentences, embedder))
    scores = [_weigh("sentence", row) for row in rows]
    if question.answer_type != "explanation":
        return scores
    # A sentence that starts with the name in question usually defines it without repeating the rest of the question.
    opens = [bool(question.names.intersection(own[:1])) for own in tokenized.terms]
    return [max(score, _MIN_DEFINITION_SCORE) if first else score for score, first in zip(scores, opens, strict=True)]


def _compute_cosines(question: AnalyzedQuestion, texts: Sequence[str], embedder: Embedder) -> list[float]:
    """Return the cosine of each text and the question, to six digits: processors differ in later ones."""
    if not texts:
        return []
    asked = embedder.embed_query(question.text).astype("float64")
    cosines: list[float] = (embedder.embed_documents(texts) @ asked).round(6).tolist()
    return cosines


class CountedTermStatistics:
    """Term statistics computed from texts: the number of `documents` that contain each term."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self.counts: Counter[str] = Counter()
        self.documents = 0
        for text in texts:
            self.counts.update(set(extract_terms(text)))
            self.documents += 1

    def idf(self, terms: Sequence[str]) -> dict[str, float]:
        """Return the inverse document frequency of each term; an absent term gets the maximum."""
        return {term: inverse_document_frequency(self.counts[term], self.documents) for term in terms}


def inverse_document_frequency(passages_with_term: int, passages: int) -> float:
    """Return ln(1 + (N − n + ½) / (n + ½)) for a term in n of N passages.

    This is always above 0. Source: BM25 (Robertson and Zaragoza 2009).
    """
    return math.log(1 + (passages - passages_with_term + 0.5) / (passages_with_term + 0.5))
