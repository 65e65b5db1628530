"""Fit the built-in scorer and report its accuracy: `python -m benchmarks.train_grader FOLDER [--write]`.

Passages come from `squad_a`, `korquad_a` and `drcd_a` (corpus.jsonl, questions.jsonl) and from `grading_a.jsonl`. In
the first three sets, four passages are retrieved for each question, once from the whole library and once from the
library without the question's topic; the scorer learns to recognize the right one. `grading_a.jsonl` holds pairs that
are labelled by whether the passage contains the answer. All sets have equal weight except small ones, and within a set
right and wrong pairs have equal weight. Sentences are labelled by whether they contain the answer, each among the
sentences of its passage.

FOLDER is not part of the project: its sets are samples of SQuAD 2.0 (CC BY-SA 4.0), KorQuAD, DRCD (CC BY-SA 3.0), RGB
(CC BY-NC-SA 4.0), ARES and Korean data sets. Only the fitted numbers are kept, in `crag/text/relevance_weights.json`.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, cross_val_predict

from benchmarks.boosting import SEED, Floats, export_trees, fit_trees
from benchmarks.grader_data import FOUND, Corpus, Row, graded_rows, passage_rows, sentence_rows
from crag.text.relevance_features import CROSS_PASSAGE_FEATURES, FEATURE_NAMES
from crag.text.relevance_scores import WEIGHTS_FILE

SETS = ("squad_a", "korquad_a", "drcd_a")
SCRIPTS = {"words": False, "characters": True}
FOLDS = 5
FULL_WEIGHT = 200  # rows from which a set has full weight
RETRIEVED = 1.5  # weight of a set of retrieved passages, the grader's usual input, relative to a graded set
ALONE = 0.5  # weight of the same rows judged one at a time
LOWER, UPPER = 0.3, 0.7  # positions of the thresholds on the displayed scale
LEAST_BETWEEN = 0.15
COLUMNS = ("n", "commoner", "accuracy", "AUC", "alone: acc.", "alone: AUC")
PRECISE = 0.75
FLAT = 0.01  # smaller differences in cost are ignored
EASY = 0.1
FREE = ("mean_candidates", "mean_terms")  # context for reading the other features; neither good nor bad as such


def balance(rows: list[Row]) -> Floats:
    """Return a weight for each row, so that no set dominates and right and wrong have equal weight; the mean is 1.

    Wrong rows of a graded set that come from another question have a tenth of the weight, since they are easy.
    """
    source = np.array([row.source for row in rows])
    right = np.array([row.right for row in rows])
    easy = np.array([not row.is_covered and row.source not in SETS for row in rows])
    weights = np.zeros(len(rows))
    for name in set(source):
        of_set = source == name
        of_full = min(1.0, of_set.sum() / FULL_WEIGHT) * (RETRIEVED if name in SETS else 1.0)
        for side, share in ((right, 1.0), (~right & ~easy, 1.0 - EASY), (easy, EASY)):
            weights[of_set & side] = of_full * share / max(1, (of_set & side).sum())
    balanced: Floats = weights * len(rows) / weights.sum()
    return balanced


def fit_passages(rows: list[Row], chosen: Any) -> Any:
    """Fit boosted trees to the chosen rows, each judged both among others and alone."""
    picked = [row for row, take in zip(rows, chosen, strict=True) if take]
    features = np.array([row.features for row in picked])
    alone = features.copy()
    alone[:, -CROSS_PASSAGE_FEATURES:] = 0.0
    right = np.array([row.right for row in picked])
    weights = balance(picked)
    directions = [int(name not in FREE) for name in FEATURE_NAMES["passage"]]
    return fit_trees(
        np.concatenate([features, alone]),
        np.concatenate([right, right]),
        np.concatenate([weights, ALONE * weights]),
        directions,
    )


def cross_validate(rows: list[Row]) -> tuple[Floats, Floats]:
    """Return scores of every row, judged among others and alone, by trees not trained on its question."""
    features = np.array([row.features for row in rows])
    alone = features.copy()
    alone[:, -CROSS_PASSAGE_FEATURES:] = 0.0
    scores, scores_alone = np.zeros(len(rows)), np.zeros(len(rows))
    groups = [row.question for row in rows]
    for _, held_out in GroupKFold(FOLDS, shuffle=True, random_state=SEED).split(features, groups=groups):
        chosen = np.ones(len(rows), dtype=bool)
        chosen[held_out] = False
        model = fit_passages(rows, chosen)
        scores[held_out] = model.predict_proba(features[held_out])[:, 1]
        scores_alone[held_out] = model.predict_proba(alone[held_out])[:, 1]
    return scores, scores_alone


def choose_thresholds(rows: list[Row], scores: Floats) -> tuple[float, float]:
    """Return (lower, upper) from the cross-validated scores of retrieved passages.

    Lower minimizes the share of answerable questions refused plus the share of missing topics not refused; of nearly
    equal values, the smallest is taken. At or above upper, three of four passages contain the answer, for questions
    that the library answers.
    """
    grid = np.arange(0.05, 0.99, 0.01)
    retrieved = np.array([row.source in SETS for row in rows])
    held, answerable, contains_answer = (
        np.array(c)[retrieved]
        for c in zip(*((r.is_covered, r.answerable, r.contains_answer) for r in rows), strict=True)
    )
    found = scores[retrieved]
    best, known = found.reshape(-1, FOUND).max(axis=1), held & answerable
    costs = [np.mean(best[known[::FOUND]] < t) + np.mean(best[~held[::FOUND]] >= t) for t in grid]
    precise = [t for t in grid if contains_answer[known & (found >= t)].mean() >= PRECISE]
    lower = next(t for t, cost in zip(grid, costs, strict=True) if cost <= min(costs) + FLAT)
    return float(lower), float(next(t for t in precise if t > lower + LEAST_BETWEEN))


def scale(bounds: tuple[float, float]) -> tuple[float, float]:
    """Return (stretch, shift) of log-odds that map `bounds` to `LOWER` and `UPPER`."""
    lower, upper, new_lower, new_upper = (math.log(p / (1 - p)) for p in (*bounds, LOWER, UPPER))
    stretch = (new_upper - new_lower) / (upper - lower)
    return stretch, new_lower - stretch * lower


def rescale(scores: Floats, stretch: float, shift: float) -> Floats:
    """Return the scores with log-odds stretched and shifted."""
    odds: Floats = stretch * np.log(scores / (1 - scores)) + shift
    return 1 / (1 + np.exp(-odds))


def fit_sentences(rows: list[Row]) -> tuple[list[float], float]:
    """Fit the sentence scorer; return its bias and slopes, and the cross-validated AUC."""
    features = np.array([row.features for row in rows])
    right = np.array([row.right for row in rows])
    groups = np.array([row.question for row in rows])
    model = LogisticRegression(C=10.0, max_iter=2000, class_weight="balanced", random_state=SEED)
    crossed = cross_val_predict(model, features, right, groups=groups, cv=GroupKFold(FOLDS), method="predict_proba")
    model.fit(features, right)
    weights = [round(float(value), 4) for value in (model.intercept_[0], *model.coef_[0])]
    return weights, float(roc_auc_score(right, crossed[:, 1]))


def report(rows: list[Row], scores: Floats, alone: Floats) -> None:
    """Print the cross-validated table by source."""
    print(f"{'cross-validated by question':30}" + "".join(f"{name:>12}" for name in COLUMNS))
    sources = np.array([row.source for row in rows])
    right = np.array([row.right for row in rows])
    held = np.array([row.is_covered for row in rows])
    for name in dict.fromkeys(sources):
        of = (sources == name) & held
        common = max(right[of].mean(), 1 - right[of].mean())
        columns = [
            figure
            for given in (scores, alone)
            for figure in (np.mean((given[of] >= 0.5) == right[of]), roc_auc_score(right[of], given[of]))
        ]
        print(f"{name:30}{of.sum():>12}" + "".join(f"{value:>12.3f}" for value in (common, *columns)))


def report_routes(rows: list[Row], scores: Floats) -> None:
    """Print the shares of questions whose best retrieved passage is relevant or irrelevant."""
    retrieved = [index for index, row in enumerate(rows) if row.source in SETS]
    firsts = [rows[index] for index in retrieved[::FOUND]]
    best = scores[retrieved].reshape(-1, FOUND).max(axis=1)
    print(f"\n{'routes at ' + f'{LOWER} and {UPPER}':46}{'n':>6}{'correct':>10}{'ambiguous':>10}{'refused':>10}")
    for name in SETS:
        for label, held, answerable in (
            ("answered here", True, True),
            ("not answered, same topic", True, False),
            ("topic not in the library", False, None),
        ):
            chosen = np.array(
                [r.source == name and r.is_covered == held and answerable in (None, r.answerable) for r in firsts]
            )
            if chosen.any():
                correct, refused = (best[chosen] >= UPPER).mean(), (best[chosen] < LOWER).mean()
                shares = "".join(f"{share:>10.3f}" for share in (correct, 1 - correct - refused, refused))
                print(f"{f'{name}: {label}':46}{chosen.sum():>6}{shares}")


def main() -> None:
    """Fit the scorers of both scripts and print the report; with --write, replace the data file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true", help="replace the numbers of the application")
    arguments = parser.parse_args()
    corpora = {name: Corpus(arguments.folder / name) for name in SETS}
    rows = list(graded_rows(arguments.folder / "grading_a.jsonl"))
    rows += [row for name, corpus in corpora.items() for row in passage_rows(corpus, name)]
    sentences = [row for name, corpus in corpora.items() for row in sentence_rows(corpus, name)]
    data: dict[str, Any] = {"features": FEATURE_NAMES, "thresholds": {"lower": LOWER, "upper": UPPER}}
    data |= {"passage": {}, "sentence": {}}
    scores, alone = np.zeros(len(rows)), np.zeros(len(rows))
    for script, is_cjk in SCRIPTS.items():
        chosen = np.array([row.is_cjk == is_cjk for row in rows])
        of_script = [row for row in rows if row.is_cjk == is_cjk]
        crossed = cross_validate(of_script)
        bounds = choose_thresholds(of_script, crossed[0])
        stretch, shift = scale(bounds)
        scores[chosen], alone[chosen] = (rescale(given, stretch, shift) for given in crossed)
        data["passage"][script] = export_trees(
            fit_passages(of_script, np.ones(len(of_script), dtype=bool)), stretch, shift
        )
        data["sentence"][script], auc = fit_sentences([row for row in sentences if row.is_cjk == is_cjk])
        print(f"{script}: thresholds {bounds[0]:.2f} and {bounds[1]:.2f} before scaling; sentences: AUC {auc:.3f}")
    report(rows, scores, alone)
    report_routes(rows, scores)
    if arguments.write:
        WEIGHTS_FILE.write_text(json.dumps(data) + "\n", "utf-8")


if __name__ == "__main__":
    main()
