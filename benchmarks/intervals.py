"""Coverage of confidence intervals: `python -m benchmarks.intervals`.

Examples with a known true value are drawn 1,000 times; a 95 % interval should contain it 95 times of 100. For
comparison, the percentile bootstrap, which resamples whole examples, is printed next to ours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from crag.evaluation.statistics import bootstrap_interval, ratio_statistic

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]


_TRIALS = 1000
_RESAMPLES = 1000
_SIZES = (5, 20, 100)
_SHARE, _DIFFERENCE = (0.0, 1.0), (-1.0, 1.0)


def main() -> None:
    """Print coverage and mean width for each kind of figure and number of examples."""
    print(f"{'':38}{'n':>5}{'ours':>8}{'width':>8}{'percentile':>12}{'width':>8}")
    for right in (0.5, 0.9, 0.98):
        _measure(f"share of yes and no, truth {right}", _binary_draw(right), right, _SHARE)
    _measure("word overlap, half of them 0", _overlap_scores, 0.3, _SHARE)
    _measure("difference, 10 % broken, 10 % mended", _change_draw(0.1), 0.0, _DIFFERENCE)
    _measure("seconds, log-normal", lambda chance, n: chance.lognormal(0, 0.5, n), 1.1331, None)


def _binary_draw(right: float) -> Draw:
    return lambda chance, n: (chance.random(n) < right).astype(float)


def _overlap_scores(chance: np.random.Generator, n: int) -> NDArray[np.float64]:
    return (chance.random(n) < 0.5) * chance.beta(3, 2, n)


def _change_draw(share: float) -> Draw:
    return lambda chance, n: chance.choice([-1.0, 0.0, 1.0], n, p=[share, 1 - 2 * share, share])


def _measure(label: str, draw: Draw, truth: float, bounds: tuple[float, float] | None) -> None:
    import numpy as np

    chance = np.random.default_rng(3)
    for n in _SIZES:
        ours, percentile = [], []
        for _ in range(_TRIALS):
            values = draw(chance, n)
            ours.append(bootstrap_interval(ratio_statistic(values.tolist(), [1.0] * n), n, bounds)[1:])
            drawn = values[chance.integers(0, n, (_RESAMPLES, n))].mean(axis=1)
            percentile.append(tuple(np.percentile(drawn, (2.5, 97.5))))
        cells = (f"{_coverage(found, truth):>8.3f}{_mean_width(found):>8.2f}" for found in (ours, percentile))
        print(f"{label:38}{n:>5}" + "    ".join(cells), flush=True)


def _coverage(intervals: list[tuple[float, float]], truth: float) -> float:
    return sum(low <= truth <= high for low, high in intervals) / len(intervals)


def _mean_width(intervals: list[tuple[float, float]]) -> float:
    return sum(high - low for low, high in intervals) / len(intervals)


if __name__ == "__main__":
    main()
