"""Plots of an evaluation: score distributions, routes, threshold costs, and accuracy against time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import streamlit as st

from crag.errors import NotFound
from crag.evaluate.figures.metrics import METRICS
from crag.evaluate.pictures import distributions, routes, trade_offs
from crag.evaluate.pictures.distributions import Spread
from crag.evaluate.pictures.threshold_costs import threshold_costs
from crag.evaluate.values import Cutoffs, Evaluation, Result
from crag.histograms import histogram
from crag.options import Thresholds
from pages.evaluate.charts import cost_curves, heat_map, trade_off
from pages.evaluate.grids import ranking
from pages.parts import markdown, score_bars
from pages.parts.resources import application

_NO_ACTION = "no decision"


class Plot(NamedTuple):
    """A chart with its title and a caption that states its sample sizes."""

    title: str
    facts: str
    draw: Callable[[], None]


def draw(evaluation: Evaluation, variant: int, results: Sequence[Result], cutoffs: Cutoffs) -> None:
    """Draw the plots of one variant; `results` must hold all variants, for the plot that compares them."""
    own = [one for one in results if one.variant == variant and one.state == "done"]
    thresholds = _thresholds(own)
    found = [
        _of_questions(own, thresholds),
        _of_passages(own, thresholds),
        _of_routes(own),
        _of_thresholds(own, evaluation, variant, cutoffs, thresholds),
        of_variants(evaluation, results, cutoffs),
    ]
    if not any(found):
        st.caption("There is nothing to draw: no passage was graded, or nothing is known of what would be right.")
    columns = st.columns(2, gap="medium")
    for number, plot in enumerate(plot for plot in found if plot):
        with columns[number % 2]:
            draw_plot(plot)


def draw_plot(plot: Plot) -> None:
    """Draw title, caption and chart."""
    st.header(plot.title, anchor=False)
    st.caption(plot.facts)
    plot.draw()


def of_variants(evaluation: Evaluation, results: Sequence[Result], cutoffs: Cutoffs) -> Plot | None:
    """Return accuracy against time; None with fewer than two comparable variants."""
    figures = {
        one.number: one.summary.figures for one in ranking.ranked(evaluation, results, cutoffs) if one.summary.figures
    }
    metric = trade_offs.accuracy([*figures.values()])
    points = trade_offs.points(figures, metric) if metric else []
    if len(points) < 2:
        return None
    places = {number: str(place) for place, number in enumerate(figures, start=1)}
    named = [number for number in places if number in trade_off.named(points)]
    listed = (f"**{places[number]}** {markdown.label(evaluation.variants[number].name, 80)}" for number in named)
    facts = (
        f"n = {points[0].figure.n:,} questions each, with 95% intervals. The dashed line joins those that no other"
        f" beats{' (the rest have no number)' if len(named) < len(points) else ''}. {' · '.join(listed)}"
    )
    title = f"{METRICS[metric].title} against time"
    return Plot(title, facts, lambda: trade_off.draw(points, places, metric))


def _of_questions(results: Sequence[Result], thresholds: Thresholds | None) -> Plot | None:
    """Return best scores split by answerability or, if that has one side only, by retrieval; else None."""
    spread = distributions.by_answerable(results)
    if spread.is_telling:
        return _of_scores("Best scores of questions that can be answered, and that cannot", spread, thresholds)
    spread = distributions.by_retrieval(results)
    if spread.is_telling:
        return _of_scores("Best scores where the right passage was found, and where not", spread, thresholds)
    return None


def _of_passages(results: Sequence[Result], thresholds: Thresholds | None) -> Plot | None:
    spread = distributions.by_passage(results)
    if not spread.is_telling:
        return None
    return _of_scores("Scores of right and of wrong passages", spread, thresholds, of="score of a passage")


def _of_scores(
    title: str, spread: Spread, thresholds: Thresholds | None, of: str = "best score of a question's passages"
) -> Plot:
    high, low = len(spread.high), len(spread.low)
    facts = f"n = {high + low:,}. Up: {spread.names[0]}, {high:,}. Down: {spread.names[1]}, {low:,}."
    counts = [histogram(scores, score_bars.BINS) for scores in (spread.high, spread.low)]
    alt = f"{title}. {facts}"
    return Plot(title, facts, lambda: score_bars.draw(spread.names, counts, thresholds, score=of, alt=alt))


def _of_routes(results: Sequence[Result]) -> Plot | None:
    """Return the matrix of expected and actual actions; None if nothing is expected."""
    counts = routes.confusion(results)
    if not counts:
        return None
    totals = {one.expected: sum(own.count for own in counts if own.expected == one.expected) for one in counts}
    cells = [
        heat_map.Cell(
            f"{one.expected} ({totals[one.expected]:,})",
            one.actual or _NO_ACTION,
            f"{one.count:,}",
            one.count / totals[one.expected] if totals[one.expected] else 0.0,
            f"{one.expected}, decided {one.actual or _NO_ACTION}: {one.count:,} of {totals[one.expected]:,}",
            marked=one.agrees,
        )
        for one in counts
    ]
    alt = f"Expected against decided: {'; '.join(cell.told for cell in cells if cell.text != '0')}"
    title = "Where questions should go, and where they went"
    facts = f"n = {sum(totals.values()):,} answers. What should be has an edge; deeper cells hold more of their row."
    return Plot(title, facts, lambda: heat_map.draw(cells, "expected", "decided", alt))


def _of_thresholds(
    results: Sequence[Result],
    evaluation: Evaluation,
    variant: int,
    cutoffs: Cutoffs,
    thresholds: Thresholds | None,
) -> Plot | None:
    costs = threshold_costs(results, evaluation.variants[variant].options.policy, cutoffs)
    if not costs.deciding:
        return None
    answered, refused = len(costs.better_answered), len(costs.better_refused)
    facts = (
        f"n = {answered:,} questions better answered and {refused:,} better refused (they cannot be answered, or were"
        " answered and not right). *Refused* and *answered wrongly* hang on the lower threshold, *web wanted* on the"
        f" upper one.{_at_present(cost_curves.present(costs, thresholds)) if thresholds else ''}"
    )
    return Plot("What the thresholds cost", facts, lambda: cost_curves.draw(costs, thresholds))


def _at_present(costs: Sequence[tuple[str, float, float]]) -> str:
    told = ", ".join(f"{name} {share:.0%}" for name, _, share in costs)
    return f" At present: {told}."


def _thresholds(results: Sequence[Result]) -> Thresholds | None:
    """Return the thresholds of the first run; None if it was deleted or graded nothing."""
    for result in results[:1]:
        try:
            return application().runs.trace(result.run_id).thresholds
        except NotFound:
            return None
    return None
