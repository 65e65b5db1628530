"""Printed tables of measurements."""

from __future__ import annotations

import statistics
from collections.abc import Sequence


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value at this quantile, from 0 to 1."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))]


def print_milliseconds(title: str, rows: dict[str, Sequence[float]]) -> None:
    """Print name, median and 95th percentile of each row; values are in seconds, the output in milliseconds."""
    print(f"\n{title}\n{'':28}{'median ms':>12}{'p95 ms':>12}{'n':>6}")
    for name, values in rows.items():
        middle, high = 1000 * statistics.median(values), 1000 * percentile(values, 0.95)
        print(f"{name:28}{middle:>12.1f}{high:>12.1f}{len(values):>6}")
