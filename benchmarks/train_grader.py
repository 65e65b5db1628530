"""Fits the coefficients of the built-in scorer: `python -m benchmarks.train_grader FOLDER [--write]`.

Reads `squad_a`, `korquad_a` and `drcd_a` (corpus.jsonl, questions.jsonl), retrieves ten passages for each question and
learns to tell the right one from the others, and the sentence that holds the answer from its neighbours. A second round
asks every question of a library without its topic, where nothing answers it. `grading_a.jsonl` is only reported on.

The folder is none of the project's: its sets are samples of SQuAD 2.0 (CC BY-SA 4.0), KorQuAD, DRCD (CC BY-SA 3.0), and
for the report RGB (CC BY-NC-SA 4.0). Nothing of them is kept but the coefficients in `crag/scoring_weights.json`.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, cross_val_predict

from benchmarks.grader_data import FOUND, Corpus, Row, embed, passage_rows, read_lines, sentence_rows
from crag.questions import read_question
from crag.scoring import FEATURES, WEIGHTS, CountedTerms, measure_passage, probability, read_text

SETS = {"words": ("squad_a",), "characters": ("korquad_a", "drcd_a")}
SEED = 0
LOWER, UPPER = 0.3, 0.7  # where the thresholds lie on the scale that is shown
Floats = NDArray[np.float64]


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
    rows = read_lines(path)
    statistics = {row["lang"]: CountedTerms(r["passage"] for r in rows if r["lang"] == row["lang"]) for row in rows}
    found: dict[str, list[tuple[bool, float]]] = defaultdict(list)
    for row in rows:
        question = read_question(row["question"], statistics[row["lang"]])
        reading = read_text(row["passage"])
        vectors = embed([row["question"], row["passage"], *reading.sentences])
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
