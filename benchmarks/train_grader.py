"""Fits the coefficients of the built-in scorer: `python benchmarks/train_grader.py EVAL_FOLDER [--write]`.

Reads `squad_a`, `korquad_a` and `drcd_a` (corpus.jsonl, questions.jsonl), retrieves ten passages for each question and
learns to tell the right one from the others, and the sentence that holds the answer from its neighbours. A second round
asks every question of a library without its topic, where nothing answers it. `grading_a.jsonl` is only reported on.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import wordllama
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, cross_val_predict

from crag.language import terms
from crag.questions import Question, read_question
from crag.scoring import (
    FEATURES,
    WEIGHTS,
    CountedTerms,
    Reading,
    measure_passage,
    measure_sentences,
    probability,
    read_text,
)

SETS = {"words": ("squad_a",), "characters": ("korquad_a", "drcd_a")}
FOUND = 10
SEED = 0
LOWER, UPPER = 0.3, 0.7  # where the thresholds lie on the scale that is shown
Floats = NDArray[np.float64]


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
        self.model = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
        self.terms = [Counter(terms(f"{p['title']} {p['text']}")) for p in self.passages]
        self.vectors = self.embed([p["text"] for p in self.passages])
        self.readings = [read_text(p["text"], p["title"]) for p in self.passages]
        self.sentence_vectors: dict[int, Any] = {}
        self.mean_length = sum(sum(bag.values()) for bag in self.terms) / len(self.terms)
        self.by_title: dict[str, list[int]] = defaultdict(list)
        for index, passage in enumerate(self.passages):
            self.by_title[passage["title"]].append(index)

    def embed(self, texts: list[str]) -> Any:
        """Unit vectors, one row for each text."""
        return self.model.embed(texts, norm=True)

    def nearest(self, index: int, vector: Any) -> float:
        """The cosine of a passage's nearest sentence."""
        if index not in self.sentence_vectors:
            self.sentence_vectors[index] = self.embed(list(self.readings[index].sentences))
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


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSON-lines file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def passage_rows(corpus: Corpus, name: str) -> Iterator[Row]:
    """Retrieved passages of every question: once with its topic in the library, once without."""
    titles = {p["id"]: p["title"] for p in corpus.passages}
    whole = corpus.statistics()
    without = {title: corpus.statistics(title) for title in corpus.by_title}
    for number, asked in enumerate(corpus.questions):
        vector = corpus.embed([asked["question"]])[0]
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
                measure_sentences(question, reading, sentence_cosines(corpus, question, reading)), held, strict=True
            )
        )


def sentence_cosines(corpus: Corpus, question: Question, reading: Reading) -> list[float]:
    """The nearness of every sentence to the question."""
    vectors = corpus.embed([question.text, *reading.sentences])
    return [float(value) for value in vectors[1:] @ vectors[0]]


def fit(rows: list[Row]) -> tuple[list[float], Floats]:
    """Bias and slopes, and the scores of the rows when fitted without their question (five folds)."""
    features = np.array([row.features for row in rows])
    right = np.array([row.right for row in rows])
    groups = np.array([row.group for row in rows])
    model = LogisticRegression(C=10.0, max_iter=2000, class_weight="balanced", random_state=SEED)
    crossed = cross_val_predict(model, features, right, groups=groups, cv=GroupKFold(5), method="predict_proba")[:, 1]
    model.fit(features, right)
    return [round(float(value), 4) for value in (model.intercept_[0], *model.coef_[0])], crossed


def choose_thresholds(rows: list[Row], scores: Floats) -> tuple[float, float]:
    """(lower, upper) from scores crossed by question, among the four nearest passages, as a run retrieves them.

    Upper: four of five passages at or above it say the answer, for questions that the library answers.
    Lower: the refused share of answered questions plus the share of absent topics not refused is smallest.
    """
    nearest = np.tile(np.arange(FOUND) < 4, len(rows) // FOUND)
    says = np.array([row.says for row in rows])
    known = np.array([row.held and row.answerable for row in rows]) & nearest
    grid = np.arange(0.05, 0.99, 0.01)
    precise = [t for t in grid if says[known & (scores >= t)].mean() >= 0.8]
    best = scores.reshape(-1, FOUND)[:, :4].max(axis=1)
    held, absent = known.reshape(-1, FOUND)[:, 0], ~np.array([row.held for row in rows[::FOUND]])
    costs = [np.mean(best[held] < t) + np.mean(best[absent] >= t) for t in grid]
    return round(float(grid[int(np.argmin(costs))]), 2), round(float(precise[0]), 2)


def rescale(weights: list[float], scores: Floats, bounds: tuple[float, float]) -> tuple[list[float], Floats]:
    """Weights and scores stretched in log-odds, so that `bounds` come to lie at `LOWER` and `UPPER`."""
    lower, upper, new_lower, new_upper = (math.log(p / (1 - p)) for p in (*bounds, LOWER, UPPER))
    stretch = (new_upper - new_lower) / (upper - lower)
    shift = new_lower - stretch * lower
    bias, *slopes = (stretch * weight for weight in weights)
    odds = stretch * np.log(scores / (1 - scores)) + shift
    return [round(value, 4) for value in (bias + shift, *slopes)], 1 / (1 + np.exp(-odds))


def report(name: str, rows: list[Row], scores: Floats, lower: float, upper: float) -> None:
    """Prints how the scores of one script do, passage by passage and question by question."""
    right = np.array([row.right for row in rows])
    held = np.array([row.held for row in rows])
    best = scores.reshape(-1, FOUND)[:, :4].max(axis=1)
    groups = {
        "answered here": [row.held and row.answerable for row in rows[::FOUND]],
        "not answered, same topic": [row.held and not row.answerable for row in rows[::FOUND]],
        "topic not in the library": [not row.held for row in rows[::FOUND]],
    }
    print(f"{name}: AUC {roc_auc_score(right[held], scores[held]):.3f}, thresholds {lower} and {upper}, "
          f"recall above {(scores[right] >= lower).mean():.3f} and {(scores[right] >= upper).mean():.3f}")  # fmt: skip
    for label, chosen in groups.items():
        if any(chosen):
            of = best[np.array(chosen)]
            print(f"  {label}: correct {np.mean(of >= upper):.3f}, refused {np.mean(of < lower):.3f} (n={len(of)})")


def report_grading(path: Path) -> None:
    """Prints accuracy and AUC on rows that were never trained on, by source; each question's passages are a library."""
    model = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    rows = read_lines(path)
    statistics = {row["lang"]: CountedTerms(r["passage"] for r in rows if r["lang"] == row["lang"]) for row in rows}
    found: dict[str, list[tuple[bool, float]]] = defaultdict(list)
    for row in rows:
        question = read_question(row["question"], statistics[row["lang"]])
        reading = read_text(row["passage"])
        vectors = model.embed([row["question"], row["passage"], *reading.sentences], norm=True)
        cosine, *inner = (float(value) for value in vectors[1:] @ vectors[0])
        features = measure_passage(question, reading, cosine, max(inner))
        found[row["source"].split("/")[0] + "/" + row["lang"]].append(
            (row["relevant"], probability("passage", question, features))
        )
    for source, pairs in found.items():
        right, scores = (np.array(column) for column in zip(*pairs, strict=True))
        print(f"  {source}: n={len(pairs)} AUC {roc_auc_score(right, scores):.3f} "
              f"accuracy {np.mean((scores >= 0.5) == right):.3f}, always the commoner "
              f"{max(right.mean(), 1 - right.mean()):.3f}")  # fmt: skip


def main() -> None:
    """Fits both scripts, prints the report and, with --write, replaces the data file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true", help="replace the coefficients of the application")
    arguments = parser.parse_args()
    data: dict[str, Any] = {
        "features": FEATURES,
        "thresholds": {"lower": LOWER, "upper": UPPER},
        "models": {"passage": {}, "sentence": {}},
    }
    for script, names in SETS.items():
        corpora = {name: Corpus(arguments.folder / name) for name in names}
        rows = [row for name, corpus in corpora.items() for row in passage_rows(corpus, name)]
        data["models"]["passage"][script], scores = fit(rows)
        print(
            f"passages, {script}: thresholds {choose_thresholds(rows, scores)} before both scripts are put on one scale"
        )
        data["models"]["passage"][script], scores = rescale(
            data["models"]["passage"][script], scores, choose_thresholds(rows, scores)
        )
        report(f"passages, {script}", rows, scores, LOWER, UPPER)
        lines = [row for name, corpus in corpora.items() for row in sentence_rows(corpus, name)]
        data["models"]["sentence"][script], scores = fit(lines)
        print(f"sentences, {script}: AUC {roc_auc_score([row.right for row in lines], scores):.3f} (n={len(lines)})")
    if arguments.write:
        WEIGHTS.write_text(json.dumps(data, indent=1) + "\n", "utf-8")
    print("held-out grading, with the coefficients in use:")
    report_grading(arguments.folder / "grading_a.jsonl")


if __name__ == "__main__":
    main()
