"""Figures and plots of an evaluation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import streamlit as st

from crag.evaluation import chart_data
from crag.evaluation.metrics import HEADLINE_METRICS, METRICS, format_interval, format_labelled, format_metric_value
from crag.evaluation.statistics import histogram
from crag.evaluation.summary import VariantSummary
from crag.evaluation.types import Cutoffs, Evaluation, EvaluationResult, Figure
from crag.events import NODES
from crag.inspection.run_labels import ACTION_BADGES
from crag.text.formatting import format_count, format_duration, format_number
from crag.translation import N_, _, join_texts
from crag.types import Thresholds
from pages.evaluate import charts, results, risk_coverage
from pages.evaluate.results import load_ranking, variant_name
from pages.parts import labels, markdown, score_chart

_METRIC_GROUPS: Mapping[str, tuple[str, ...]] = {
    N_("Answers"): ("truthfulness", "answer_right", "judged", "contained", "token_f1", "mentions", "avoids"),
    N_("Decisions and declined answers"): (
        *("steps_match", "route_match", "action_match"),
        *("refusal_right", "answered", "refused"),
    ),
    N_("Retrieval"): ("recall", "reciprocal_rank"),
    N_("Grader"): ("grader_precision", "grader_recall", "grader_auc"),
    N_("Citations"): ("supported", "cited"),
    N_("Cost"): ("seconds", "tokens"),
}
_HEADING_ROWS = 3  # height of a heading in table rows
_FIGURES_NOTE = N_(
    "Below each figure: the range to expect with other questions of this kind (95%, by bootstrap), and n, the number "
    "of questions."
)


def draw_figures(evaluation: Evaluation, variant: int) -> None:
    """Draw the main figures as cards, risk and coverage, then all figures by group."""
    summary = results.load_summary(evaluation, variant)
    if not summary.figures:
        st.caption(_("No figures: no question was answered."))
        return
    draw_main_figures(evaluation, variant)
    failed = (
        _("{answers} failed and count as wrong.").format(answers=format_count(summary.failed, "answer"))
        if summary.failed
        else ""
    )
    st.caption(join_texts(_(_FIGURES_NOTE), failed))
    st.fragment(risk_coverage.draw_risk_coverage)(evaluation, variant)
    groups = {_(title): _select_figures(names, summary) for title, names in _METRIC_GROUPS.items()}
    _draw_figure_groups({title: found for title, found in groups.items() if found})
    _draw_node_costs(summary)


def draw_main_figures(evaluation: Evaluation, variant: int) -> None:
    """Draw the main figures as cards; also used while the evaluation runs."""
    summary = results.load_summary(evaluation, variant)
    with st.container(horizontal=True):
        for figure in _select_figures(HEADLINE_METRICS, summary):
            metric = METRICS[figure.metric]
            rated = format_labelled(summary.labelled) if figure.metric == "truthfulness" and summary.labelled else ""
            st.metric(
                _(metric.title),
                format_metric_value(figure.metric, figure.value),
                delta=" · ".join(filter(None, (format_interval(figure), f"n = {figure.n:,}", rated))),
                delta_color="off",
                delta_arrow="off",
                help=_(metric.meaning),
                border=True,
            )


def _select_figures(names: Sequence[str], summary: VariantSummary) -> list[Figure]:
    return [summary.figures[name] for name in names if name in summary.figures]


def _draw_figure_groups(groups: Mapping[str, Sequence[Figure]]) -> None:
    """Draw the groups in two columns of similar height."""
    heights = [0, 0]
    columns = st.columns(len(heights), gap="medium")
    for title, figures in groups.items():
        place = heights.index(min(heights))
        heights[place] += len(figures) + _HEADING_ROWS
        with columns[place]:
            st.header(title, anchor=False, help=_metrics_help(figures))
            st.table(
                _figure_table(figures),
                border="horizontal",
                hide_index=True,
                alt=_("Figures: {title}").format(title=title),
            )


def _metrics_help(figures: Sequence[Figure]) -> str:
    return "\n\n".join(f"**{_(METRICS[one.metric].title)}** {_(METRICS[one.metric].meaning)}" for one in figures)


def _figure_table(figures: Sequence[Figure]) -> dict[str, list[str]]:
    return {
        _("Figure"): [_(METRICS[one.metric].title) for one in figures],
        _("Value"): [f"**{format_metric_value(one.metric, one.value)}**" for one in figures],
        _("95% interval"): [labels.non_breaking(format_interval(one)) for one in figures],
        "n": [f"{one.n:,}" for one in figures],
    }


def _draw_node_costs(summary: VariantSummary) -> None:
    """Draw average time and tokens of each step."""
    if not summary.nodes:
        return
    with st.expander(_("Time and tokens of each step"), type="compact"):
        st.table(
            {
                _("Step"): [_(NODES[node].title) if node in NODES else node for node in summary.nodes],  # type: ignore[call-overload]
                _("Time"): [format_duration(cost.seconds) for cost in summary.nodes.values()],
                _("Tokens read"): [f"{cost.prompt_tokens:,.0f}" for cost in summary.nodes.values()],
                _("Tokens written"): [f"{cost.answer_tokens:,.0f}" for cost in summary.nodes.values()],
            },
            border="horizontal",
            hide_index=True,
            width="content",
            alt=_("Average time and tokens of each step"),
        )
        st.caption(_("Averages over all answers, including those that skipped the step."))


_ROUTE_WORDS = {action: badge.english for action, badge in ACTION_BADGES.items() if action} | {"": N_("no decision")}


class Plot(NamedTuple):
    """A chart with its title and a caption that states its sample sizes."""

    title: str
    facts: str
    draw: Callable[[], None]


def draw_plots(evaluation: Evaluation, variant: int, results: Sequence[EvaluationResult], cutoffs: Cutoffs) -> None:
    """Draw the plots of one variant; `results` must hold all variants, for the plot that compares them."""
    own = [one for one in results if one.variant == variant and one.state == "done"]
    trace = risk_coverage.load_graded_trace(own)
    thresholds = trace.thresholds if trace else None
    found = [
        _make_passage_plot(own, thresholds),
        _make_route_plot(own),
        make_trade_off_plot(evaluation, results, cutoffs),
    ]
    if not any(found):
        st.caption(_("Nothing to draw: no passage was graded, or the dataset has no expected results."))
    columns = st.columns(2, gap="medium")
    for number, plot in enumerate(plot for plot in found if plot):
        with columns[number % 2]:
            draw_plot(plot)


def draw_plot(plot: Plot) -> None:
    """Draw title, caption and chart."""
    st.header(plot.title, anchor=False)
    st.caption(plot.facts)
    plot.draw()


def make_trade_off_plot(evaluation: Evaluation, results: Sequence[EvaluationResult], cutoffs: Cutoffs) -> Plot | None:
    """Return accuracy against time; None with fewer than two comparable variants."""
    figures = {
        one.number: one.summary.figures for one in load_ranking(evaluation, results, cutoffs) if one.summary.figures
    }
    metric = chart_data.choose_accuracy_metric([*figures.values()])
    points = chart_data.trade_off_points(figures, metric) if metric else []
    if len(points) < 2:
        return None
    places = {number: str(place) for place, number in enumerate(figures, start=1)}
    named = [number for number in places if number in charts.labelled_variants(points)]
    names = {number: variant_name(evaluation.variants[number]) for number in named}
    listed = (f"**{places[number]}** {markdown.escape_line(name, 80)}" for number, name in names.items())
    facts = join_texts(
        _("n = {n} questions each, with 95% intervals. The dashed line joins the settings that no other beats.").format(
            n=format_number(points[0].figure.n)
        ),
        _("The rest have no number.") if len(named) < len(points) else "",
        " · ".join(listed),
    )
    title = _("{title} against time").format(title=_(METRICS[metric].title))
    return Plot(title, facts, lambda: charts.draw_trade_off(points, places, metric))


def _make_passage_plot(results: Sequence[EvaluationResult], thresholds: Thresholds | None) -> Plot | None:
    """Return the scores of expected and other passages; None if there are none of one kind."""
    kinds, scores = (_("expected passage"), _("other passage")), chart_data.passage_scores(results)
    if not all(scores):
        return None
    n = [f"{kind}, {len(own):,}" for kind, own in zip(kinds, scores, strict=True)]
    title, facts = (
        _("Scores of right and of wrong passages"),
        _("n = {map}. Up: {n}. Down: {n2}.").format(map=format_number(sum(map(len, scores))), n=n[0], n2=n[1]),
    )
    counts = [histogram(own, score_chart.BINS) for own in scores]
    looks = {"score": _("score of a passage"), "alt": f"{title}. {facts}"}
    return Plot(title, facts, lambda: score_chart.draw_score_chart(kinds, counts, thresholds, **looks))


def _make_route_plot(results: Sequence[EvaluationResult]) -> Plot | None:
    """Return the matrix of expected and actual decisions; None if nothing is expected."""
    counts = chart_data.count_routes(results)
    if not counts:
        return None
    totals = {one.expected: sum(own.count for own in counts if own.expected == one.expected) for one in counts}
    cells = [
        charts.HeatMapCell(
            f"{_route_word(one.expected)} ({totals[one.expected]:,})",
            _route_word(one.actual),
            f"{one.count:,}",
            one.count / totals[one.expected] if totals[one.expected] else 0.0,
            _("{route_word}, decided {route_word2}: {count} of {totals}").format(
                route_word=_route_word(one.expected),
                route_word2=_route_word(one.actual),
                count=format_number(one.count),
                totals=format_number(totals[one.expected]),
            ),
            marked=one.agrees,
        )
        for one in counts
    ]
    alt = _("Expected against decided: {value}").format(
        value="; ".join(cell.told for cell in cells if cell.text != "0")
    )
    title = _("Expected and actual decisions")
    facts = _("n = {values} answers. Expected cells are outlined; darker cells hold more of their row.").format(
        values=format_number(sum(totals.values()))
    )
    return Plot(title, facts, lambda: charts.draw_heat_map(cells, "expected", "decided", alt))


def _route_word(route: str) -> str:
    """Return an action in words; whether a question is answerable is in words already."""
    return _(_ROUTE_WORDS.get(route, route))
