"""Figures of an evaluation formatted with their unit, interval and n."""

from __future__ import annotations

from typing import Literal

from crag.amounts import duration
from crag.evaluate.figures.metrics import METRICS
from crag.evaluate.values import Difference, Evaluation, Figure

UNJUDGED = "The judge's word is left aside: the same model did not judge both. Texts are compared instead."
Meaning = Literal["better", "worse", "no clear difference"]


def value_in_words(metric: str, value: float) -> str:
    """Format a value in the unit of its metric: 84.2%, 1.9 s, 1,284."""
    match METRICS[metric].unit:
        case "seconds":
            return duration(value)
        case "tokens":
            return f"{value:,.0f}"
    return f"{value:.1%}"


def interval_in_words(figure: Figure) -> str:
    """Format the interval alone: 71.4%–93.1%."""
    return f"{value_in_words(figure.metric, figure.low)}–{value_in_words(figure.metric, figure.high)}"


def brief_in_words(figure: Figure) -> str:
    """Format a figure for a narrow cell: 84.2%  71.4%–93.1%, n = 38."""
    return f"{value_in_words(figure.metric, figure.value)}  {interval_in_words(figure)}, n = {figure.n:,}"


def figure_in_words(figure: Figure) -> str:
    """Format a figure with its interval: 84.2% (95%: 71.4%–93.1%, n=38)."""
    return f"{value_in_words(figure.metric, figure.value)} (95%: {interval_in_words(figure)}, n={figure.n:,})"


def change_in_words(difference: Difference) -> str:
    """Format a change with its sign; shares in percentage points, such as +3.1 points."""
    return _signed(difference.metric, difference.after - difference.before)


def change_interval_in_words(difference: Difference) -> str:
    """Format the interval of a change: −1.0 to +7.2 points."""
    metric = difference.metric
    if METRICS[metric].unit == "share":
        return f"{_points(difference.low)} to {_points(difference.high)} points"
    return f"{_signed(metric, difference.low)} to {_signed(metric, difference.high)}"


def meaning(difference: Difference) -> Meaning:
    """Return whether a change is an improvement; it is clear only if its interval excludes 0."""
    if not difference.is_clear:
        return "no clear difference"
    more = difference.after > difference.before
    return "better" if more == (METRICS[difference.metric].better == "higher") else "worse"


def progress_in_words(evaluation: Evaluation) -> str:
    """Format the progress of an evaluation: 120 of 800 answers, 3 failed."""
    failed = f", {evaluation.failed:,} failed" if evaluation.failed else ""
    return f"{evaluation.done:,} of {evaluation.total:,} {'answer' if evaluation.total == 1 else 'answers'}{failed}"


def _signed(metric: str, value: float) -> str:
    if METRICS[metric].unit == "share":
        return f"{_points(value)} points"
    return f"{_sign(value)}{value_in_words(metric, abs(value)) if value else '0'}"


def _points(value: float) -> str:
    decimals = 2 if 0 < abs(value) < 0.0005 else 1  # keep the sign of a bound close to 0 visible
    return f"{_sign(round(value, decimals + 2))}{abs(100 * value):.{decimals}f}"


def _sign(value: float) -> str:
    return "+" if value > 0 else "−" if value < 0 else "±"
