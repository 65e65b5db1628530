"""Statistics: bootstrap intervals, the area under the ROC curve, Cohen's kappa, histograms."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Statistic = Callable[[Array], Array]


_MIN_RESAMPLES, _MAX_RESAMPLES, _DRAW_BUDGET = (
    1_000,
    4_000,
    500_000,
)  # resamples; few examples get more of them at the same cost
_INTERVAL_PERCENTILES = (2.5, 97.5)  # percentiles
_SEED = 7
_MAX_WEIGHTS_IN_MEMORY = 200_000  # weights; figures over passages need a multiple of this


class Interval(NamedTuple):
    """A figure and the ends of the range that holds 95 % of its resamples."""

    value: float
    low: float
    high: float


def bootstrap_interval(statistic: Statistic, n: int, bounds: tuple[float, float] | None = None) -> Interval:
    """Return the figure of `n` examples with its interval; deterministic. `bounds` are its possible extremes.

    Uses Rubin's Bayesian bootstrap (1981): each resample weights the examples by exponential draws instead of drawing
    whole ones, so that no resample lacks the few examples a figure depends on. With `bounds`, half an example at either
    bound is added to each resample; otherwise five right answers of five would seem certain. For shares of yes and no
    this equals Jeffreys' interval, which keeps its coverage near 0 and 1 (Brown, Cai and DasGupta 2001). Without
    bounds, one example has no interval (both ends are its value), and the interval of a handful is too narrow.
    """
    import numpy as np

    resamples, size = min(_MAX_RESAMPLES, max(_MIN_RESAMPLES, _DRAW_BUDGET // n)), max(1, _MAX_WEIGHTS_IN_MEMORY // n)
    figures = []
    for begun in range(0, resamples, size):
        draws = _draw_resamples(begun, min(size, resamples - begun), n)
        figured = statistic(draws.weights)
        figures.append(_pull_towards_bounds(figured, draws, bounds) if bounds else figured)
    value = compute_statistic(statistic, n)
    low, high = (float(end) for end in np.percentile(np.concatenate(figures), _INTERVAL_PERCENTILES))
    return Interval(value, min(low, value), max(high, value))


def compute_statistic(statistic: Statistic, n: int) -> float:
    """Compute the figure of the `n` examples themselves."""
    import numpy as np

    return float(statistic(np.ones((1, n)))[0])


class _Resamples(NamedTuple):
    """Some resamples: example weights, their sums, and the weights of half an example at either bound."""

    weights: Array
    totals: Array
    ends: Array


@lru_cache(maxsize=12)  # most figures of an evaluation have the same n; 20 MB at most
def _draw_resamples(begun: int, resamples: int, n: int) -> _Resamples:
    import numpy as np

    chance = np.random.default_rng((_SEED, begun))
    weights = chance.standard_exponential((resamples, n))
    weights.flags.writeable = False  # shared by the cache
    return _Resamples(weights, weights.sum(axis=1), chance.standard_gamma(0.5, (2, resamples)))


def _pull_towards_bounds(values: Array, draws: _Resamples, bounds: tuple[float, float]) -> Array:
    """Return the figures of resamples after adding half an example at either bound to each."""
    low, high = draws.ends
    pulled: Array = (draws.totals * values + low * bounds[0] + high * bounds[1]) / (draws.totals + low + high)
    return pulled


def ratio_statistic(parts: Sequence[float], wholes: Sequence[float]) -> Statistic:
    """Return the statistic: sum of parts over sum of wholes, one of each per example; with wholes of 1, the mean."""
    import numpy as np

    part, whole = np.array(parts, dtype=float), np.array(wholes, dtype=float)
    return lambda weights: (weights @ part) / (weights @ whole)


def auc_statistic(scores: Sequence[float], labels: Sequence[bool], groups: Sequence[int]) -> Statistic:
    """Return the statistic: area under the ROC curve of items; `groups` maps each item to the example it weighs with.

    It is the probability that a true item scores above a false one, ties counted half (Mann and Whitney 1947). Both
    labels must occur.
    """
    import numpy as np

    order = np.argsort(np.array(scores, dtype=float), kind="stable")
    score, true, group = (np.array(column)[order] for column in (scores, labels, groups))
    below = np.searchsorted(score[~true], score[true], side="left")
    up_to = np.searchsorted(score[~true], score[true], side="right")

    def figure(weights: Array) -> Array:
        of_true = weights[:, group[true]]
        of_false = np.zeros((len(weights), int((~true).sum()) + 1))
        np.cumsum(weights[:, group[~true]], axis=1, out=of_false[:, 1:])
        won = (of_true * (of_false[:, below] + of_false[:, up_to])).sum(axis=1) / 2
        share: Array = won / (of_true.sum(axis=1) * of_false[:, -1])
        return share

    return figure


def auc(scores: Sequence[float], labels: Sequence[bool]) -> float | None:
    """Return the area under the ROC curve, ties counted half; None unless both labels occur."""
    if len(set(labels)) < 2:
        return None
    return compute_statistic(auc_statistic(scores, labels, range(len(labels))), len(labels))


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """Return the agreement of two raters beyond chance (Cohen 1960): 1 is full agreement, 0 chance level.

    None if undefined: no items, or both raters gave all items the same rating. Raises `ValueError` if the lengths
    differ.
    """
    n = len(first)
    agreed = sum(left == right for left, right in zip(first, second, strict=True))
    of_one, of_other = Counter(first), Counter(second)
    by_chance = sum(count * of_other[word] for word, count in of_one.items())
    if by_chance == n * n:  # also true if there are no items
        return None
    return (n * agreed - by_chance) / (n * n - by_chance)


def expected_calibration_error(predicted: Sequence[float], actual: Sequence[bool]) -> float:
    """Return how far predicted probabilities are from what happened, on average (ECE; Naeini et al. 2015).

    Predictions are grouped in ten equal parts of 0..1, weighted by size. Raises `ValueError` without any.
    """
    groups: dict[int, list[tuple[float, bool]]] = defaultdict(list)
    for probability, happened in zip(predicted, actual, strict=True):
        groups[min(int(probability * 10), 9)].append((probability, happened))
    if not groups:
        raise ValueError("no predictions")
    gaps = (abs(sum(probability - happened for probability, happened in group)) for group in groups.values())
    return sum(gaps) / len(predicted)


def histogram(scores: Iterable[float], bins: int) -> list[int]:
    """Count the scores, in 0..1, in each of `bins` equal parts; 1 belongs to the last."""
    counts = [0] * bins
    for score in scores:
        counts[min(int(score * bins), bins - 1)] += 1
    return counts
