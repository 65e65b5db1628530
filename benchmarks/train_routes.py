"""Fit the classifier of routes and report it: `python -m benchmarks.train_routes EVAL TRAIN [--write]`.

The questions of `route_questions.txt` were written for it. Those of EVAL (`squad_a`, `korquad_a`, `drcd_a`) and TRAIN
(`natural_questions.jsonl`, `squad.jsonl`), which are not part of the project, are more examples of facts, with a small
weight. Only the fitted numbers are kept, in `crag/text/route_weights.tsv`. The figures are of lines left out.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from opencc import OpenCC
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from benchmarks.grader_data import read_lines
from crag.text.language import detect_language, find_tokens
from crag.text.route_classifier import DIGITS, LIMIT, UNIT, WEIGHTS_FILE, extract_features, known_words

QUESTIONS_FILE = Path(__file__).with_name("route_questions.txt")
FACTS = 2000  # of each data set
_FACT_WEIGHT, _FACT_SHARE = 0.7, 0.3
KEPT = {"route": 24_000, "talk": 1200}  # features
ROUTES = ("fact", "document", "list", "table", "steps", "talk")
_FOLDS = 4
_STRETCH = 9.0  # of the features, so that the penalty weighs less


@dataclass(frozen=True, slots=True)
class Example:
    """A question with its label and the number of the line that it comes from."""

    question: str
    label: str
    line: int
    weight: float


def read_examples(path: Path = QUESTIONS_FILE) -> Iterator[Example]:
    """Yield the questions of all lines, Chinese ones in traditional characters too."""
    to_traditional, label = OpenCC("s2t"), ""
    for number, line in enumerate(path.read_text("utf-8").splitlines()):
        if found := re.match(r"\[([a-z ]+)\]", line):
            label = found[1]
        elif line and not line.startswith("#"):
            yield Example(line, label, number, 1.0)
            if detect_language(line) == "zh":
                yield Example(to_traditional.convert(line), label, number, 0.5)


def read_facts(evaluation: Path, training: Path) -> Iterator[Example]:
    """Yield questions for facts of other data sets."""
    for number, path in enumerate((evaluation / "squad_a", evaluation / "korquad_a", evaluation / "drcd_a")):
        rows = read_lines(path / "questions.jsonl")
        yield from _sample([row["question"] for row in rows], number)
    for number, name in enumerate(("natural_questions", "squad"), start=3):
        rows = read_lines(training / f"{name}.jsonl")
        yield from _sample([asked["question"] for row in rows for asked in row["questions"]], number)


def _sample(questions: Sequence[str], number: int) -> Iterator[Example]:
    chosen = random.Random(number).sample(sorted(set(questions)), min(FACTS, len(set(questions))))
    yield from (Example(question, "fact", -1 - number * FACTS - at, _FACT_WEIGHT) for at, question in enumerate(chosen))


class Classifier:
    """Multinomial logistic regression over the features that weigh most."""

    def __init__(self, examples: Sequence[Example], kept: int, words: frozenset[str] | None = None) -> None:
        features = [extract_features(one.question, words) for one in examples]
        if words is None:  # a word of fewer than three lines is a subject
            lines = _count_lines(features, examples)
            words = known_words(frozenset(name for name in features_of(lines, 3) if name[0] not in "@#&"))
            features = [extract_features(one.question, words) for one in examples]
        names = features_of(_count_lines(features, examples), 3)
        self.words = words
        self._fit(examples, features, sorted(names))
        if len(names) > kept:
            strength = np.abs(self.slopes).max(axis=0)
            best = [self.names[at] for at in np.argsort(-strength, kind="stable")[:kept]]
            self.words = known_words(frozenset(best))
            features = [extract_features(one.question, self.words) for one in examples]
            self._fit(examples, features, sorted(best))

    def _fit(self, examples: Sequence[Example], features: Sequence[set[str]], names: Sequence[str]) -> None:
        self.names, self._at = names, {name: at for at, name in enumerate(names)}
        model = LogisticRegression(C=1, max_iter=150, tol=1e-3)
        model.fit(
            self._matrix(features), [one.label for one in examples], sample_weight=[one.weight for one in examples]
        )
        self.labels, self.bias = list(map(str, model.classes_)), model.intercept_
        self.slopes = np.clip(np.round(model.coef_ * _STRETCH / UNIT), -LIMIT, LIMIT)

    def _matrix(self, features: Sequence[set[str]]) -> csr_matrix:
        held = [sorted(self._at[name] for name in names if name in self._at) for names in features]
        values = [_STRETCH / np.sqrt(max(len(columns), 1)) for columns in held for _ in columns]
        starts = np.cumsum([0, *map(len, held)])
        return csr_matrix((values, [at for columns in held for at in columns], starts), (len(held), len(self.names)))

    def probabilities(self, questions: Sequence[str]) -> NDArray[np.float64]:
        """Return the probability of each label, with the rounded weights."""
        features = [extract_features(question, self.words) for question in questions]
        odds = self._matrix(features) @ (self.slopes.T * UNIT / _STRETCH) + self.bias
        shares = np.exp(odds - odds.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def describe(self) -> dict[str, Any]:
        """Return the labels and how likely each is without any feature."""
        return {"labels": self.labels, "bias": [round(float(value), 3) for value in self.bias]}

    def rows(self) -> dict[str, str]:
        """Return the weights of each feature for all labels, as the application reads them."""
        columns = {name: self.slopes[:, at] for at, name in enumerate(self.names)}
        return {
            name: "".join(DIGITS[int(value) + LIMIT] for value in column)
            for name, column in columns.items()
            if column.any()
        }


def _count_lines(features: Sequence[set[str]], examples: Sequence[Example]) -> dict[str, set[int]]:
    lines: defaultdict[str, set[int]] = defaultdict(set)
    for names, one in zip(features, examples, strict=True):
        for name in names:
            lines[name].add(one.line)
    return lines


def features_of(lines: dict[str, set[int]], least: int) -> frozenset[str]:
    """Return the features that occur in at least so many lines."""
    return frozenset(name for name, found in lines.items() if len(found) >= least)


def without_kinds(examples: Sequence[Example]) -> list[Example]:
    """Return the examples with all kinds of small talk as one label."""
    return [replace(one, label=one.label.split()[0]) for one in examples]


def balance(examples: Sequence[Example]) -> list[Example]:
    """Return the examples with weights by which all kinds count the same, but facts twice as much."""
    total = dict.fromkeys(ROUTES, 0.0)
    for one in examples:
        total[one.label] += one.weight
    rest = (1 - _FACT_SHARE) / (len(ROUTES) - 1)
    share = {label: _FACT_SHARE if label == "fact" else rest for label in ROUTES}
    lines = len({one.line for one in examples if one.line >= 0})
    return [replace(one, weight=one.weight * share[one.label] * lines / total[one.label]) for one in examples]


def cross_validate(examples: Sequence[Example]) -> NDArray[np.float64]:
    """Return the probabilities of each example by a classifier that was fitted without its line."""
    shuffled = sorted({one.line for one in examples})
    random.Random(1).shuffle(shuffled)
    fold = {line: number % _FOLDS for number, line in enumerate(shuffled)}
    found = np.zeros((len(examples), len(ROUTES)))
    for number in range(_FOLDS):
        model = Classifier(balance([one for one in examples if fold[one.line] != number]), KEPT["route"])
        left_out = [at for at, one in enumerate(examples) if fold[one.line] == number]
        order = [model.labels.index(route) for route in ROUTES]
        found[left_out] = model.probabilities([examples[at].question for at in left_out])[:, order]
    return found


def report(examples: Sequence[Example], found: NDArray[np.float64]) -> None:
    """Print the shares that are right, and precision and recall of each route by the probability required."""
    own = [at for at, one in enumerate(examples) if one.line >= 0]
    weights = np.array([examples[at].weight for at in own])
    best = found[own].argmax(axis=1)
    wanted = np.array([ROUTES.index(examples[at].label) for at in own])
    for language in ("en", "ko", "zh"):
        there = np.array([detect_language(examples[at].question) == language for at in own])
        print(language, f"{np.average((best == wanted)[there], weights=weights[there]):.3f}")
    facts = found[[at for at, one in enumerate(examples) if one.line < 0]]
    print(
        f"{'':10}"
        + "".join(f"{least:>18}" for least in (0.5, 0.6, 0.7, 0.8, 0.9))
        + "  (precision, recall, other facts)"
    )
    for number, route in enumerate(ROUTES):
        cells = []
        for least in (0.5, 0.6, 0.7, 0.8, 0.9):
            chosen, right = found[own][:, number] >= least, wanted == number
            both = weights[chosen & right].sum()
            others = np.mean(facts[:, number] >= least)
            cells.append(f"{both / weights[chosen].sum():>6.3f}{both / weights[right].sum():>6.3f}{others:>6.3f}")
        print(f"{route:10}" + "".join(cells))


def fit_models(written: Sequence[Example], examples: Sequence[Example]) -> str:
    """Return the file of weights: a line that describes both models, then one for each feature."""
    route = Classifier(balance(examples), KEPT["route"])
    talk = [replace(one, label=one.label.removeprefix("talk ")) for one in written if one.label.startswith("talk")]
    kinds = Classifier(talk, KEPT["talk"], route.words)
    rows, kind_rows = route.rows(), kinds.rows()
    said = {token for one in talk for _, token in find_tokens(one.question.casefold()) if token.isascii()}
    head = json.dumps([route.describe(), kinds.describe() | {"words": sorted(filter(str.isalpha, said))}])
    lines = ["\t".join((name, *filter(None, (rows[name], kind_rows.get(name))))) for name in sorted(rows)]
    return "\n".join((head, *lines)) + "\n"


def main() -> None:
    """Print the report; with --write, replace the numbers of the application."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("evaluation", type=Path)
    parser.add_argument("training", type=Path)
    parser.add_argument("--write", action="store_true", help="replace the numbers of the application")
    arguments = parser.parse_args()
    written = list(read_examples())
    examples = without_kinds([*written, *read_facts(arguments.evaluation, arguments.training)])
    print(f"{len(examples)} questions", dict(Counter(one.label for one in examples)))
    if arguments.write:
        WEIGHTS_FILE.write_text(fit_models(written, examples), "utf-8")
    report(examples, cross_validate(examples))


if __name__ == "__main__":
    main()
