"""Training data of the built-in scorer: features and labels of (question, text) pairs."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import wordllama

from crag.text.language import extract_terms
from crag.text.questions import AnalyzedQuestion, analyze_question
from crag.text.relevance_features import (
    TokenizedText,
    measure_passages,
    measure_sentences,
    tokenize_sentences,
    tokenize_text,
)
from crag.text.relevance_scores import CountedTermStatistics

FOUND = 4  # passages retrieved for each question and judged together


@dataclass(frozen=True, slots=True)
class Row:
    """One (question, text) pair of a data set; `right` is the training label.

    `contains_answer` is also true for another text with the answer.
    `is_cjk` is true for a question in Chinese or Korean; `is_covered` is true if the library contains its topic.
    """

    source: str
    question: str
    is_cjk: bool
    features: list[float]
    right: bool
    is_covered: bool = True
    answerable: bool = True
    contains_answer: bool = False


class Corpus:
    """Passages with the terms, vectors and features that retrieval and scoring need."""

    def __init__(self, folder: Path) -> None:
        self.passages = read_lines(folder / "corpus.jsonl")
        self.questions = read_lines(folder / "questions.jsonl")
        self.terms = [Counter(extract_terms(f"{p['title']} {p['text']}")) for p in self.passages]
        self.vectors = embed([p["text"] for p in self.passages])
        self.readings = [tokenize_text(p["text"], p["title"]) for p in self.passages]
        self.sentence_vectors: dict[int, Any] = {}
        self.mean_length = sum(sum(bag.values()) for bag in self.terms) / len(self.terms)
        self.by_title: dict[str, list[int]] = defaultdict(list)
        for index, passage in enumerate(self.passages):
            self.by_title[passage["title"]].append(index)

    def nearest(self, index: int, vector: Any) -> float:
        """Return the cosine of the passage's nearest sentence."""
        if index not in self.sentence_vectors:
            self.sentence_vectors[index] = embed(list(self.readings[index].sentences))
        return float((self.sentence_vectors[index] @ vector).max())

    def statistics(self, without: str = "") -> CountedTermStatistics:
        """Return document frequencies of the corpus, without one article."""
        counted = CountedTermStatistics()
        kept = [bag for bag, p in zip(self.terms, self.passages, strict=True) if p["title"] != without]
        counted.documents = len(kept)
        counted.counts = Counter(term for bag in kept for term in bag)
        return counted

    def retrieve(self, question: AnalyzedQuestion, vector: Any, without: str = "") -> list[tuple[int, float]]:
        """Return the best passages as (index, cosine) by reciprocal rank fusion of BM25 and cosine (weights 1, 0.3)."""
        cosines = self.vectors @ vector
        lexical = np.array([self._bm25(question, bag) for bag in self.terms])
        ranks = [np.argsort(np.argsort(-scores, kind="stable")) for scores in (lexical, cosines)]
        fused = 1 / (60 + ranks[0]) + 0.3 / (60 + ranks[1])
        for index in self.by_title.get(without, []):
            fused[index] = -1
        return [(int(index), float(cosines[index])) for index in np.argsort(-fused)[:FOUND]]

    def _bm25(self, question: AnalyzedQuestion, bag: Counter[str]) -> float:
        length = 0.25 + 0.75 * sum(bag.values()) / self.mean_length
        return sum(w * bag[t] * 2.2 / (bag[t] + 1.2 * length) for t, w in question.weights.items() if t in bag)


def embed(texts: list[str]) -> Any:
    """Return unit vectors, one row for each text."""
    return _model().embed(texts, norm=True)


@cache
def _model() -> Any:
    return wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def passage_rows(corpus: Corpus, name: str) -> Iterator[Row]:
    """Yield the retrieved passages of every question, once with its topic in the library and once without.

    The right passage is the one the question was written for. Rows of one question are consecutive.
    """
    titles = {p["id"]: p["title"] for p in corpus.passages}
    whole = corpus.statistics()
    without = {title: corpus.statistics(title) for title in corpus.by_title}
    for number, asked in enumerate(corpus.questions):
        vector = embed([asked["question"]])[0]
        title = titles[asked["passage_id"]]
        for held, statistics in ((True, whole), (False, without[title])):
            question = analyze_question(asked["question"], statistics)
            found = corpus.retrieve(question, vector, "" if held else title)
            features = measure_passages(
                question,
                [corpus.readings[index] for index, _ in found],
                [cosine for _, cosine in found],
                [corpus.nearest(index, vector) for index, _ in found],
                [str(index) for index, _ in found],
            )
            for (index, _), measured in zip(found, features, strict=True):
                right = asked["answerable"] and corpus.passages[index]["id"] == asked["passage_id"]
                contains_answer = right or (held and contains_any(corpus.passages[index]["text"], asked["answers"]))
                yield Row(
                    name,
                    f"{name} {number}",
                    question.is_cjk,
                    measured,
                    right,
                    held,
                    asked["answerable"],
                    contains_answer,
                )


def contains_any(text: str, answers: list[str]) -> bool:
    """Return whether the text contains an answer; short ones such as numbers may occur anywhere and are ignored."""
    return any(len(answer) >= (4 if answer.isascii() else 3) and answer in text for answer in answers)


def graded_rows(path: Path) -> Iterator[Row]:
    """Yield the rows of a file of (question, passage, relevant); passages of one question are judged together.

    Each question is repeated with the passages of a distant question, as one about a missing topic.
    """
    rows = read_lines(path)
    statistics = CountedTermStatistics(row["passage"] for row in rows)
    asked: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        asked[f"{row['source'].split('/')[0]} {row['lang']}", row["question"]].append(row)
    for number, ((source, text), given) in enumerate(asked.items()):
        question = analyze_question(text, statistics)
        yield from _rows_judged_together(source, question, given, held=True)
        of_source = [other for (name, _), other in asked.items() if name == source]
        yield from _rows_judged_together(
            source, question, of_source[(number + len(of_source) // 2) % len(of_source)], held=False
        )


def _rows_judged_together(
    source: str, question: AnalyzedQuestion, given: list[dict[str, Any]], *, held: bool
) -> Iterator[Row]:
    """Yield passages judged together; unless `held`, they belong to another question and none is right."""
    readings = [tokenize_text(row["passage"]) for row in given]
    nearest = [max(sentence_cosines(question, tokenized), default=0.0) for tokenized in readings]
    wholes = sentence_cosines(question, tokenize_sentences(row["passage"] for row in given))
    sources = [str(number) for number, _ in enumerate(given)]
    features = measure_passages(question, readings, wholes, nearest, sources)
    for row, measured in zip(given, features, strict=True):
        right = held and row["relevant"]
        yield Row(source, f"{source} {question.text}", question.is_cjk, measured, right, held, answerable=held)


def sentence_rows(corpus: Corpus, name: str) -> Iterator[Row]:
    """Yield the sentences of the right passage; the right ones contain a gold answer."""
    statistics = corpus.statistics()
    index_of = {p["id"]: i for i, p in enumerate(corpus.passages)}
    for number, asked in enumerate(corpus.questions):
        tokenized = corpus.readings[index_of[asked["passage_id"]]]
        held = [any(answer in text for answer in asked["answers"]) for text in tokenized.sentences]
        if not any(held) or all(held):
            continue
        question = analyze_question(asked["question"], statistics)
        yield from (
            Row(name, f"{name} {number}", question.is_cjk, features, right)
            for features, right in zip(
                measure_sentences(question, tokenized, sentence_cosines(question, tokenized)), held, strict=True
            )
        )


def sentence_cosines(question: AnalyzedQuestion, tokenized: TokenizedText) -> list[float]:
    """Return the cosine of every sentence to the question."""
    vectors = embed([question.text, *tokenized.sentences])
    return [float(value) for value in vectors[1:] @ vectors[0]]
