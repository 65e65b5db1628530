"""Pairs of question and text to fit the built-in scorer to: what its features measure of each, and what was right."""

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

from crag.language import terms
from crag.questions import Question, read_question
from crag.scoring import CountedTerms, Reading, measure_passage, measure_sentences, read_text

FOUND = 10  # passages that are retrieved for each question


@dataclass
class Row:
    """One (question, text) pair. `right` is what it is fitted to; `says` also counts another text with the answer.

    `held` says whether the library held the topic of the question.
    """

    group: str
    features: list[float]
    right: bool
    says: bool
    held: bool
    answerable: bool


class Corpus:
    """Passages with what retrieval and scoring need of them."""

    def __init__(self, folder: Path) -> None:
        self.passages = read_lines(folder / "corpus.jsonl")
        self.questions = read_lines(folder / "questions.jsonl")
        self.terms = [Counter(terms(f"{p['title']} {p['text']}")) for p in self.passages]
        self.vectors = embed([p["text"] for p in self.passages])
        self.readings = [read_text(p["text"], p["title"]) for p in self.passages]
        self.sentence_vectors: dict[int, Any] = {}
        self.mean_length = sum(sum(bag.values()) for bag in self.terms) / len(self.terms)
        self.by_title: dict[str, list[int]] = defaultdict(list)
        for index, passage in enumerate(self.passages):
            self.by_title[passage["title"]].append(index)

    def nearest(self, index: int, vector: Any) -> float:
        """The cosine of a passage's nearest sentence."""
        if index not in self.sentence_vectors:
            self.sentence_vectors[index] = embed(list(self.readings[index].sentences))
        return float((self.sentence_vectors[index] @ vector).max())

    def statistics(self, without: str = "") -> CountedTerms:
        """Document frequencies of the corpus, less those of one article."""
        counted = CountedTerms()
        kept = [bag for bag, p in zip(self.terms, self.passages, strict=True) if p["title"] != without]
        counted.documents = len(kept)
        counted.counts = Counter(term for bag in kept for term in bag)
        return counted

    def retrieve(self, question: Question, vector: Any, without: str = "") -> list[tuple[int, float]]:
        """The nearest passages as (index, cosine): BM25 and cosine, joined by rank with weights 1 and 0.3."""
        cosines = self.vectors @ vector
        lexical = np.array([self._bm25(question, bag) for bag in self.terms])
        ranks = [np.argsort(np.argsort(-scores, kind="stable")) for scores in (lexical, cosines)]
        fused = 1 / (60 + ranks[0]) + 0.3 / (60 + ranks[1])
        for index in self.by_title.get(without, []):
            fused[index] = -1
        return [(int(index), float(cosines[index])) for index in np.argsort(-fused)[:FOUND]]

    def _bm25(self, question: Question, bag: Counter[str]) -> float:
        length = 0.25 + 0.75 * sum(bag.values()) / self.mean_length
        return sum(w * bag[t] * 2.2 / (bag[t] + 1.2 * length) for t, w in question.weights.items() if t in bag)


def embed(texts: list[str]) -> Any:
    """Unit vectors, one row for each text."""
    return _model().embed(texts, norm=True)


@cache
def _model() -> Any:
    return wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSON-lines file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def passage_rows(corpus: Corpus, name: str) -> Iterator[Row]:
    """Retrieved passages of every question: once with its topic in the library, once without."""
    titles = {p["id"]: p["title"] for p in corpus.passages}
    whole = corpus.statistics()
    without = {title: corpus.statistics(title) for title in corpus.by_title}
    for number, asked in enumerate(corpus.questions):
        vector = embed([asked["question"]])[0]
        title = titles[asked["passage_id"]]
        for held, statistics in ((True, whole), (False, without[title])):
            question = read_question(asked["question"], statistics)
            for index, cosine in corpus.retrieve(question, vector, "" if held else title):
                passage = corpus.passages[index]
                right = asked["answerable"] and passage["id"] == asked["passage_id"]
                says = right or (held and holds(passage["text"], asked["answers"]))
                features = measure_passage(question, corpus.readings[index], cosine, corpus.nearest(index, vector))
                yield Row(f"{name}-{number}", features, right, says, held, asked["answerable"])


def holds(text: str, answers: list[str]) -> bool:
    """Whether another passage says the answer too; short answers such as a number may stand anywhere."""
    return any(len(answer) >= (4 if answer.isascii() else 3) and answer in text for answer in answers)


def sentence_rows(corpus: Corpus, name: str) -> Iterator[Row]:
    """The sentences of the right passage; right are those that hold a gold answer."""
    statistics = corpus.statistics()
    index_of = {p["id"]: i for i, p in enumerate(corpus.passages)}
    for number, asked in enumerate(corpus.questions):
        reading = corpus.readings[index_of[asked["passage_id"]]]
        held = [any(answer in text for answer in asked["answers"]) for text in reading.sentences]
        if not any(held) or all(held):
            continue
        question = read_question(asked["question"], statistics)
        yield from (
            Row(f"{name}-{number}", features, right, right, True, True)
            for features, right in zip(
                measure_sentences(question, reading, sentence_cosines(question, reading)), held, strict=True
            )
        )


def sentence_cosines(question: Question, reading: Reading) -> list[float]:
    """The nearness of every sentence to the question."""
    vectors = embed([question.text, *reading.sentences])
    return [float(value) for value in vectors[1:] @ vectors[0]]
