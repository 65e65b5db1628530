"""Boosted trees, small enough for a data file, fitted and exported as nested lists."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

TREES = 120
DEPTH = 3
LEARNING_RATE = 0.08
SMALLEST_LEAF = 30  # rows
SEED = 0
Floats = NDArray[np.float64]


def fit_trees(
    features: Floats, right: NDArray[np.bool_], weights: Floats, directions: list[int]
) -> HistGradientBoostingClassifier:
    """Fit trees whose score never falls as a feature of direction 1 grows; direction 0 is unconstrained."""
    model = HistGradientBoostingClassifier(
        max_iter=TREES,
        max_depth=DEPTH,
        learning_rate=LEARNING_RATE,
        min_samples_leaf=SMALLEST_LEAF,
        l2_regularization=1.0,
        monotonic_cst=directions,
        early_stopping=False,
        random_state=SEED,
    )
    return model.fit(features, right, sample_weight=weights)


def export_trees(model: HistGradientBoostingClassifier, stretch: float, shift: float) -> dict[str, Any]:
    """Export the model in the format of the built-in scorer, with log-odds scaled by `stretch` plus `shift`.

    The result has a bias, and trees that are numbers or [feature, limit, tree up to `limit`, tree above it].
    """
    trees = [_subtree(predictor.nodes, 0, stretch) for (predictor,) in model._predictors]  # noqa: SLF001 — no public API
    return {"bias": round(stretch * float(model._baseline_prediction.item()) + shift, 4), "trees": trees}  # noqa: SLF001


def _subtree(nodes: Any, at: int, stretch: float) -> Any:
    node = nodes[at]
    if node["is_leaf"]:
        return round(stretch * float(node["value"]), 4)
    most = float(f"{node['num_threshold']:.5g}")
    below, above = (_subtree(nodes, int(node[side]), stretch) for side in ("left", "right"))
    return [int(node["feature_idx"]), most, below, above]
