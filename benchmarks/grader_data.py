"""Training data of the built-in scorer: features and labels of passages and sentences, by source."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import wordllama

from crag.text.language import extract_terms
from crag.text.questions import AnalyzedQuestion, analyze_question
from crag.text.relevance_features import TokenizedText, measure_passages, measure_sentences, tokenize_text
from crag.text.relevance_scores import CountedTermStatistics

FOUND = 4  # passages retrieved for each question and judged together
QUESTIONS = 600  # of each source, drawn at random
NEIGHBOURS = 3
_CANDIDATES = 12
_SEED = 0


@dataclass(frozen=True, slots=True)
class Row:
    """One passage or sentence with a question of a source.

    `is_covered` is true if the library contains the question's topic, `is_neighbour` for the pairs of
    `neighbour_rows`. The rows of one question are consecutive.
    """

    source: str
    question: str
    features: list[float]
    contains_answer: bool
    is_covered: bool = True
    is_answerable: bool = True
    is_neighbour: bool = False


class Corpus:
    """Passages and questions with the terms, vectors and features that retrieval and scoring need."""

    def __init__(self, passages: list[dict[str, Any]], questions: list[dict[str, Any]]) -> None:
        self.passages = passages
        self.questions = random.Random(_SEED).sample(questions, min(QUESTIONS, len(questions)))
        self.terms = [Counter(extract_terms(f"{p['title']} {p['text']}")) for p in passages]
        self.vectors = embed([p["text"] for p in passages])
        self.readings = [tokenize_text(p["text"], p["title"]) for p in passages]
        self.index_of = {passage["id"]: at for at, passage in enumerate(passages)}
        self.by_title: dict[str, list[int]] = defaultdict(list)
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for index, (passage, bag) in enumerate(zip(passages, self.terms, strict=True)):
            self.by_title[passage["title"]].append(index)
            for term, count in bag.items():
                self._postings[term].append((index, count))
        lengths = np.array([sum(bag.values()) for bag in self.terms])
        self._norms = 1.2 * (0.25 + 0.75 * lengths / lengths.mean())

    def statistics(self, without: str = "") -> CountedTermStatistics:
        """Return document frequencies of the corpus, without one article."""
        counted = CountedTermStatistics()
        left_out = self.by_title.get(without, [])
        counted.documents = len(self.passages) - len(left_out)
        counted.counts = Counter({term: len(found) for term, found in self._postings.items()})
        counted.counts.subtract(term for index in left_out for term in self.terms[index])
        return counted

    def retrieve(self, question: AnalyzedQuestion, vector: Any, without: str = "", most: int = FOUND) -> list[int]:
        """Return the best passages by reciprocal rank fusion of BM25 and cosine (weights 1, 0.3)."""
        lexical = np.zeros(len(self.passages))
        for term, weight in question.weights.items():
            for index, count in self._postings.get(term, ()):
                lexical[index] += weight * count * 2.2 / (count + self._norms[index])
        ranks = [np.argsort(np.argsort(-scores, kind="stable")) for scores in (lexical, self.vectors @ vector)]
        fused = 1 / (60 + ranks[0]) + 0.3 / (60 + ranks[1])
        fused[self.by_title.get(without, [])] = -1
        return [int(index) for index in np.argsort(-fused)[:most]]

    def measure(self, question: AnalyzedQuestion, found: Sequence[int]) -> list[list[float]]:
        """Return the features of passages that are judged together, each from a document of its own."""
        return _measure(question, [self.readings[index] for index in found])


def read_corpus(folder: Path) -> Corpus:
    """Read `corpus.jsonl` and `questions.jsonl`."""
    return Corpus(read_lines(folder / "corpus.jsonl"), read_lines(folder / "questions.jsonl"))


def read_annotated_passages(path: Path) -> Corpus:
    """Read lines of `{"article", "passage", "questions": [{"question", "answerable", "answers": [{"text"}]}]}`."""
    rows = read_lines(path)
    passages = [{"id": at, "title": row["article"], "text": row["passage"]} for at, row in enumerate(rows)]
    questions = [
        {
            "question": asked["question"],
            "answerable": asked["answerable"],
            "answers": [answer["text"] for answer in asked["answers"]],
            "passage_id": at,
        }
        for at, row in enumerate(rows)
        for asked in row["questions"]
    ]
    return Corpus(passages, questions)


def passage_rows(corpus: Corpus, source: str) -> Iterator[Row]:
    """Yield the retrieved passages of every question, once with its topic in the library and once without."""
    whole = corpus.statistics()
    for number, asked in enumerate(corpus.questions):
        vector = embed([asked["question"]])[0]
        title = corpus.passages[corpus.index_of[asked["passage_id"]]]["title"]
        for is_covered, statistics in ((True, whole), (False, corpus.statistics(title))):
            question = analyze_question(asked["question"], statistics)
            found = corpus.retrieve(question, vector, "" if is_covered else title)
            for index, features in zip(found, corpus.measure(question, found), strict=True):
                holds = is_covered and asked["answerable"] and _holds_answer(corpus.passages[index], asked)
                yield Row(source, f"{source} {number}", features, holds, is_covered, asked["answerable"])


def neighbour_rows(corpus: Corpus, source: str) -> Iterator[Row]:
    """Yield the right passage of each question and the three nearest others without its answer, each judged alone.

    They belong to the same article or to one about a similar thing.
    """
    statistics = corpus.statistics()
    for number, asked in enumerate(corpus.questions):
        if not asked["answerable"]:
            continue
        question = analyze_question(asked["question"], statistics)
        right = corpus.index_of[asked["passage_id"]]
        near = corpus.retrieve(question, embed([asked["question"]])[0], most=_CANDIDATES)
        others = [index for index in near if index != right and not _contains(corpus.passages[index], asked["answers"])]
        for index in (right, *others[:NEIGHBOURS]):
            (features,) = corpus.measure(question, [index])
            yield Row(source, f"{source} {number}", features, index == right, is_neighbour=True)


def _holds_answer(passage: dict[str, Any], asked: dict[str, Any]) -> bool:
    """Return whether a passage is the right one or holds an answer; a short one such as a number may be anywhere."""
    certain = [answer for answer in asked["answers"] if len(answer) >= (4 if answer.isascii() else 3)]
    return bool(passage["id"] == asked["passage_id"]) or _contains(passage, certain)


def _contains(passage: dict[str, Any], answers: Sequence[str]) -> bool:
    return any(answer.casefold() in passage["text"].casefold() for answer in answers)


def graded_rows(path: Path, language: str) -> Iterator[Row]:
    """Yield RGB's (question, passage, relevant) of a language; passages of one question are judged together."""
    rows = [row for row in read_lines(path) if row["source"].startswith("rgb") and row["lang"] == language]
    statistics = CountedTermStatistics(row["passage"] for row in rows)
    asked: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        asked[row["question"]].append(row)
    for text, given in asked.items():
        question = analyze_question(text, statistics)
        features = _measure(question, [tokenize_text(row["passage"]) for row in given])
        for row, measured in zip(given, features, strict=True):
            yield Row(f"RGB {language}", text, measured, row["relevant"])


def sentence_rows(corpus: Corpus, source: str) -> Iterator[Row]:
    """Yield the sentences of the right passages; the right ones contain an answer."""
    statistics = corpus.statistics()
    for number, asked in enumerate(corpus.questions):
        tokenized = corpus.readings[corpus.index_of[asked["passage_id"]]]
        held = [any(answer in text for answer in asked["answers"]) for text in tokenized.sentences]
        if not any(held) or all(held):
            continue
        question = analyze_question(asked["question"], statistics)
        features = measure_sentences(question, tokenized, _sentence_cosines(question, tokenized))
        for measured, right in zip(features, held, strict=True):
            yield Row(source, f"{source} {number}", measured, right)


def _measure(question: AnalyzedQuestion, readings: Sequence[TokenizedText]) -> list[list[float]]:
    nearest = [max(_sentence_cosines(question, tokenized), default=0.0) for tokenized in readings]
    return measure_passages(question, readings, nearest, [str(number) for number, _ in enumerate(readings)])


def _sentence_cosines(question: AnalyzedQuestion, tokenized: TokenizedText) -> list[float]:
    vectors = embed([question.text, *tokenized.sentences])
    return [float(value) for value in vectors[1:] @ vectors[0]]


def embed(texts: list[str]) -> Any:
    """Return unit vectors, one row for each text."""
    return _model().embed(texts, norm=True)


@cache
def _model() -> Any:
    return wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
