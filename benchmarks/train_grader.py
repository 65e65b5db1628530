"""Fit the built-in scorer and report it on sources left out: `python -m benchmarks.train_grader EVAL TRAIN [--write]`.

The scorer is one logistic regression for all languages. Every figure is of a source that neither its weights nor its
thresholds were fitted to: English SQuAD, Natural Questions and RGB, Korean KorQuAD, Chinese DRCD and RGB. For the sets
of questions four passages are retrieved, once from the whole library and once from the library without the question's
topic. The weights that are written are fitted to all data sets; each counts the same, and so do its right and wrong
rows.

EVAL (`squad_a`, `korquad_a`, `drcd_a`, `grading_a.jsonl`) and TRAIN (`natural_questions.jsonl`) are not part of the
project: they are samples of SQuAD 2.0, DRCD and Natural Questions (CC BY-SA), KorQuAD and RGB (CC BY-NC-SA). Only the
fitted numbers are kept, in `crag/text/relevance_weights.json`.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from benchmarks.grader_data import (
    FOUND,
    Row,
    graded_rows,
    neighbour_rows,
    passage_rows,
    read_annotated_passages,
    read_corpus,
    sentence_rows,
)
from crag.text.relevance_features import CROSS_PASSAGE_FEATURES, FEATURE_NAMES
from crag.text.relevance_scores import WEIGHTS_FILE

LOWER, UPPER = 0.3, 0.7  # positions of the thresholds on the displayed scale
DECLINED = 0.08  # share of answerable questions below the lower threshold, in the mean of the sources
PRECISE = 0.75  # share of passages at or above the upper threshold that contain the answer
ALONE = 0.5  # weight of the rows judged one at a time
Floats = NDArray[np.float64]
Model = tuple[float, Floats]  # bias and slopes
Rows = dict[str, list[Row]]


def fit(sources: Rows, left_out: str = "") -> Model:
    """Fit a logistic regression to all sources but one, each of the same weight; passages also as judged alone."""
    features, right, weights = [], [], []
    for name, rows in sources.items():
        if name == left_out:
            continue
        measured, holds = _features(rows), np.array([row.contains_answer for row in rows])
        alone = measured.copy()
        alone[:, -CROSS_PASSAGE_FEATURES:] = 0.0
        is_passage = measured.shape[1] == len(FEATURE_NAMES["passage"])
        share = 0.5 if name.startswith("RGB") else 1.0  # one data set in two languages
        for given, weight in ((measured, share), (alone, ALONE * share))[: 1 + is_passage]:
            features.append(given)
            right.append(holds)
            weights.append(weight * np.where(holds, 0.5 / holds.sum(), 0.5 / (~holds).sum()))
    joined, weight = np.concatenate(features), np.concatenate(weights)
    mean, spread = joined.mean(axis=0), joined.std(axis=0)
    model = LogisticRegression(max_iter=1000)
    model.fit((joined - mean) / spread, np.concatenate(right), sample_weight=weight * len(weight) / weight.sum())
    slopes: Floats = model.coef_[0] / spread
    return float(model.intercept_[0] - slopes @ mean), slopes


def _features(rows: Sequence[Row]) -> Floats:
    return np.array([row.features for row in rows])


def score(model: Model, rows: Sequence[Row]) -> Floats:
    """Return the log-odds of rows."""
    return model[0] + _features(rows) @ model[1]


def choose_thresholds(model: Model, sources: Rows, left_out: str = "") -> tuple[float, float]:
    """Return the log-odds (lower, upper), each the mean of those of the sources of questions but one.

    Below lower the best passage of `DECLINED` of the answerable questions scores; from upper on `PRECISE` of the
    passages contain the answer.
    """
    bounds = []
    for name, rows in sources.items():
        if name == left_out or name.startswith("RGB"):
            continue
        known = [row for row in rows if row.is_covered and row.is_answerable]
        scores, holds = score(model, known), np.array([row.contains_answer for row in known])
        lower = np.quantile(scores.reshape(-1, FOUND).max(axis=1), DECLINED)
        order = np.argsort(-scores)
        precision = np.cumsum(holds[order]) / np.arange(1, len(order) + 1)
        bounds.append((lower, scores[order][np.nonzero(precision >= PRECISE)[0].max()]))
    lower, upper = np.mean(bounds, axis=0)
    return float(lower), float(upper)


def report_passages(sources: Rows, neighbours: Rows) -> None:
    """Print the figures of each source by a scorer and thresholds that were fitted to the others."""
    columns = ("AUC", "accuracy", "commoner", "alone AUC", "neighbours")
    actions = ("right", "partly", "declined", "absent", "unanswerable")
    print(f"{'passages of a source left out':30}{'n':>6}" + "".join(f"{name:>13}" for name in columns + actions))
    for name, rows in sources.items():
        model = fit(sources, name)
        lower, upper = choose_thresholds(model, sources, name)
        covered = [row for row in rows if row.is_covered]
        scores, holds = score(model, covered), np.array([row.contains_answer for row in covered])
        alone = _features(covered)
        alone[:, -CROSS_PASSAGE_FEATURES:] = 0.0
        figures = [
            roc_auc_score(holds, scores),
            np.mean((scores >= (lower + upper) / 2) == holds),
            max(holds.mean(), 1 - holds.mean()),
            roc_auc_score(holds, alone @ model[1]),
        ]
        if name in neighbours:
            pairs = neighbours[name]
            figures.append(roc_auc_score([row.contains_answer for row in pairs], score(model, pairs)))
            figures += _actions(model, rows, lower, upper)
        print(f"{name:30}{len(covered):>6}" + "".join(f"{value:>13.3f}" for value in figures))


def _actions(model: Model, rows: Sequence[Row], lower: float, upper: float) -> list[float]:
    """Return the shares of answerable questions by action, and of others declined: topic absent, unanswerable."""
    best, firsts = score(model, rows).reshape(-1, FOUND).max(axis=1), rows[::FOUND]
    known, absent, unanswerable = (
        best[[row.is_covered == held and (answerable is None or row.is_answerable == answerable) for row in firsts]]
        for held, answerable in ((True, True), (False, None), (True, False))
    )
    right, declined = float(np.mean(known >= upper)), float(np.mean(known < lower))
    shares = [right, 1 - right - declined, declined, float(np.mean(absent < lower))]
    return [*shares, float(np.mean(unanswerable < lower))] if len(unanswerable) else shares


def report_sentences(sources: Rows) -> None:
    """Print the AUC of the sentences of each source by a scorer that was fitted to the others."""
    for name, rows in sources.items():
        auc = roc_auc_score([row.contains_answer for row in rows], score(fit(sources, name), rows))
        print(f"sentences of {name:17}{len(rows):>6}{auc:>13.3f}")


def write_weights(passages: Rows, sentences: Rows) -> None:
    """Write the weights fitted to all sources, with log-odds stretched so that the thresholds are `LOWER`, `UPPER`."""
    bias, slopes = fit(passages)
    lower, upper = choose_thresholds((bias, slopes), passages)
    new_lower, new_upper = (math.log(p / (1 - p)) for p in (LOWER, UPPER))
    stretch = (new_upper - new_lower) / (upper - lower)
    scaled = [new_lower + stretch * (bias - lower), *(stretch * slopes)]
    sentence_bias, sentence_slopes = fit(sentences)
    data = {
        "features": FEATURE_NAMES,
        "thresholds": {"lower": LOWER, "upper": UPPER},
        "passage": [round(float(value), 4) for value in scaled],
        "sentence": [round(float(value), 4) for value in (sentence_bias, *sentence_slopes)],
    }
    WEIGHTS_FILE.write_text(json.dumps(data, indent=1) + "\n", "utf-8")


def main() -> None:
    """Print the report; with --write, replace the numbers of the application."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("evaluation", type=Path)
    parser.add_argument("training", type=Path)
    parser.add_argument("--write", action="store_true", help="replace the numbers of the application")
    arguments = parser.parse_args()
    folders = {"SQuAD": "squad_a", "KorQuAD": "korquad_a", "DRCD": "drcd_a"}
    corpora = {name: read_corpus(arguments.evaluation / folder) for name, folder in folders.items()}
    corpora["Natural Questions"] = read_annotated_passages(arguments.training / "natural_questions.jsonl")
    passages = {name: list(passage_rows(corpus, name)) for name, corpus in corpora.items()}
    for language in ("en", "zh"):
        passages[f"RGB {language}"] = list(graded_rows(arguments.evaluation / "grading_a.jsonl", language))
    sentences = {name: list(sentence_rows(corpus, name)) for name, corpus in corpora.items()}
    report_passages(passages, {name: list(neighbour_rows(corpus, name)) for name, corpus in corpora.items()})
    report_sentences(sentences)
    if arguments.write:
        write_weights(passages, sentences)


if __name__ == "__main__":
    main()
