"""An evaluation as one self-contained HTML page: no script, no request, no font."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from crag.evaluation.chart_data import RouteCount, count_routes
from crag.evaluation.exports import SettingRow, setting_rows
from crag.evaluation.grid import RankedVariant, rank_variants
from crag.evaluation.metrics import (
    HEADLINE_METRICS,
    METRICS,
    STATE_BADGES,
    VERDICT_BADGES,
    ChangeAssessment,
    answer_verdict,
    assess_change,
    format_change,
    format_change_interval,
    format_interval,
    format_labelled,
    format_metric_value,
    format_progress,
)
from crag.evaluation.summary import VariantSummary, compare_results
from crag.evaluation.types import Cutoffs, Evaluation, EvaluationResult, Example, Figure, MetricDifference, NodeCost
from crag.events import NODES
from crag.inspection.run_labels import ACTION_BADGES, Badge, answer_badges, trajectory_title
from crag.text.formatting import format_count, format_date_time, format_duration, format_score
from crag.text.html import load_page_template
from crag.text.sanitization import strip_invisible, to_one_line

if TYPE_CHECKING:
    from jinja2 import Template


@dataclass(frozen=True, slots=True)
class FigureBar:
    """A bar with its interval as a whisker, each in 0..100."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class FigureView:
    """One metric as text and as a bar."""

    title: str
    meaning: str
    value: str
    interval: str
    n: str
    bar: FigureBar


@dataclass(frozen=True, slots=True)
class NodeView:
    """Mean cost of one node."""

    name: str
    time: str
    share: float
    read: str
    written: str


@dataclass(frozen=True, slots=True)
class RouteView:
    """Number of answers that took each route, for one expectation; right routes `agree`."""

    expected: str
    counts: Sequence[RouteCount]


@dataclass(frozen=True, slots=True)
class VariantView:
    """Figures, routes and node costs of one variant."""

    name: str
    facts: str
    figures: Sequence[FigureView]
    routes: Sequence[RouteView]
    nodes: Sequence[NodeView]


def view_variant(
    name: str, results: Sequence[EvaluationResult], summary: VariantSummary, full_values: Mapping[str, float]
) -> VariantView:
    """Convert a summary; `full_values` holds the values at which bars are full, by metric."""
    failed = f" · {summary.failed:,} failed" if summary.failed else ""
    slowest = max((cost.seconds for cost in summary.nodes.values()), default=0.0)
    return VariantView(
        to_one_line(name),
        f"{format_count(summary.answers, 'answer')}{failed}",
        [view_figure(figure, full_values) for figure in summary.figures.values()],
        _make_routes_view(results),
        [view_node(node, cost, slowest) for node, cost in summary.nodes.items()],
    )


def full_bar_values(summaries: Sequence[VariantSummary]) -> dict[str, float]:
    """Return the value at which each metric's bar is full: 1 for shares, otherwise the longest whisker's end."""
    ends: dict[str, float] = {}
    for figure in (figure for summary in summaries for figure in summary.figures.values()):
        is_share = METRICS[figure.metric].unit == "share"
        ends[figure.metric] = 1.0 if is_share else max(figure.high, ends.get(figure.metric, 0.0))
    return ends


def view_figure(figure: Figure, full_values: Mapping[str, float]) -> FigureView:
    """Convert a figure; `full_values` holds the values at which bars are full, by metric."""
    metric = METRICS[figure.metric]
    full = full_values[figure.metric] or 1.0
    return FigureView(
        metric.title,
        metric.meaning,
        format_metric_value(figure.metric, figure.value),
        format_interval(figure),
        f"{figure.n:,}",
        FigureBar(*(round(min(100.0, max(0.0, 100 * at / full)), 2) for at in (figure.value, figure.low, figure.high))),
    )


def view_node(name: str, cost: NodeCost, slowest: float) -> NodeView:
    """Convert a node cost; `slowest` is the time in seconds at which a node's bar is full."""
    read, written = (f"{tokens:,.0f}" if tokens else "" for tokens in (cost.prompt_tokens, cost.answer_tokens))
    share = round(100 * cost.seconds / slowest, 2) if slowest else 0.0
    shown = next((spec.title for node, spec in NODES.items() if node == name), to_one_line(name))
    return NodeView(shown, format_duration(cost.seconds), share, read, written)


def _make_routes_view(results: Sequence[EvaluationResult]) -> list[RouteView]:
    """Return one row for each expectation that occurs."""
    rows = groupby(count_routes(results), lambda one: one.expected)
    return [RouteView(expected, list(counts)) for expected, counts in rows]


@dataclass(frozen=True, slots=True)
class AnswerView:
    """One answer to a question, or several identical repetitions, with its scores and judgement."""

    under: str
    badge: Badge
    text: str
    facts: str
    reason: str
    error: str
    run_ids: Sequence[str]


@dataclass(frozen=True, slots=True)
class QuestionView:
    """A question with what is known about its right answer, and all its answers."""

    number: int
    question: str
    badges: Sequence[Badge]
    expected: Sequence[tuple[str, str]]
    answers: Sequence[AnswerView]


def view_questions(evaluation: Evaluation, results: Sequence[EvaluationResult], cutoffs: Cutoffs) -> list[QuestionView]:
    """Return all questions in order, each with its answers by variant and repetition."""
    ordered = sorted(results, key=lambda one: (one.number, one.variant, one.repetition))
    return [
        _make_question_view(evaluation, list(answers), cutoffs)
        for _, answers in groupby(ordered, lambda one: one.number)
    ]


def _make_question_view(evaluation: Evaluation, answers: Sequence[EvaluationResult], cutoffs: Cutoffs) -> QuestionView:
    example = answers[0].example
    counted = Counter(VERDICT_BADGES[answer_verdict(answer, cutoffs)] for answer in answers)
    badges = [
        replace(one, number=f"{n} of {len(answers)}" if len(answers) > 1 else "") for one, n in counted.most_common()
    ]
    same = groupby(sorted(answers, key=_answer_identity), _answer_identity)
    views = [_make_answers_view(evaluation, list(alike), cutoffs) for _, alike in same]
    return QuestionView(
        answers[0].number + 1, strip_invisible(example.question), badges, _make_expected_view(example), views
    )


def _answer_identity(result: EvaluationResult) -> tuple[object, ...]:
    """Return the grouping key of answers: equal repetitions are shown once."""
    judged = (str(result.judged.score), result.judged.reason) if result.judged else ()
    said = (result.scored.answer, result.scored.steps, result.scored.action or "", result.scored.outcome or "")
    return result.variant, result.state, result.error, said, judged, str(result.label)


def _make_answers_view(evaluation: Evaluation, identical: Sequence[EvaluationResult], cutoffs: Cutoffs) -> AnswerView:
    """Convert one answer or several equal repetitions; the facts are those of the first."""
    result, judged = identical[0], identical[0].judged
    several = [evaluation.variants[result.variant].name] if len(evaluation.variants) > 1 else []
    if evaluation.repetitions > 1:
        noun = "repetition" if len(identical) == 1 else "repetitions"
        several.append(f"{noun} {', '.join(str(one.repetition) for one in identical)}")
    return AnswerView(
        under=to_one_line(", ".join(several)),
        badge=VERDICT_BADGES[answer_verdict(result, cutoffs)],
        text=strip_invisible(result.scored.answer).strip(),
        facts=" · ".join(_answer_facts(result)),
        reason=f"{to_one_line(judged.model.partition('@')[0])}: {to_one_line(judged.reason)}" if judged else "",
        error=to_one_line(result.error),
        run_ids=[to_one_line(one.run_id) for one in identical if one.run_id],
    )


def _answer_facts(result: EvaluationResult) -> list[str]:
    scored = result.scored
    told = [badge.word for badge in answer_badges(scored.action, scored.outcome, scored.sufficiency)]
    if scored.grades:
        relevant = sum(grade.relevant for grade in scored.grades)
        told.append(f"{relevant} of {format_count(len(scored.grades), 'passage')} graded relevant")
    if result.example.has_known_passages:
        told.append(f"{sum(grade.right for grade in scored.grades)} of them right")
    told += [f"best score {format_score(round(scored.best, 3))}"] if scored.best is not None else []
    told += [f"text score {scored.text_score:.2f}"] if scored.text_score is not None else []
    if result.judged and result.judged.score is not None:
        told.append(f"judged {result.judged.score:.2f}")
    if result.label is not None:
        told.append(f"rated {'right' if result.label else 'wrong'} by a person")
    steps = ", ".join(map(trajectory_title, scored.steps))
    told += [steps, format_duration(scored.seconds)] if scored.steps else []
    told += [format_count(scored.tokens, "token")] if scored.tokens else []
    return [to_one_line(fact) for fact in told]


def _make_expected_view(example: Example) -> list[tuple[str, str]]:
    known = (
        ("Expected answer", " · ".join(example.references)),
        ("Must mention", " · ".join(example.must_mention)),
        ("Must not mention", " · ".join(example.must_not_mention)),
        ("Expected passages", " · ".join((*example.sources, *example.phrases))),
        ("Expected steps", " · or · ".join(map(", ".join, example.steps))),
        ("Expected decision", ACTION_BADGES[example.action].word if example.action else ""),
        ("Can be answered", {None: "", True: "yes", False: "no"}[example.answerable]),
    )
    return [(title, strip_invisible(value)) for title, value in known if value]


@dataclass(frozen=True, slots=True)
class RankedView:
    """One variant in the ranking; a missing figure is None."""

    name: str
    figures: Sequence[FigureView | None]


@dataclass(frozen=True, slots=True)
class ChangeView:
    """Change of one metric from the first variant to the second."""

    title: str
    before: str
    after: str
    change: str
    interval: str
    n: str
    meaning: ChangeAssessment


@dataclass(frozen=True, slots=True)
class ComparisonView:
    """Comparison of two variants; `broken` and `fixed` hold the texts of the questions."""

    before: str
    after: str
    changes: Sequence[ChangeView]
    broken: Sequence[str]
    fixed: Sequence[str]


@dataclass(frozen=True, slots=True)
class ReportView:
    """Content of the page."""

    title: str
    facts: str
    state: Badge | None
    fault: str
    headline: Sequence[str]
    ranking: Sequence[RankedView]
    variants: Sequence[VariantView]
    comparison: ComparisonView | None
    settings: Sequence[SettingRow]
    questions: Sequence[QuestionView]
    right_from: str


def export_html(evaluation: Evaluation, results: Sequence[EvaluationResult], cutoffs: Cutoffs) -> str:
    """Render the report: figures with intervals, routes, times, settings, and every answer."""
    return _report_template().render(page=_make_report_view(evaluation, results, cutoffs))


def _make_report_view(evaluation: Evaluation, results: Sequence[EvaluationResult], cutoffs: Cutoffs) -> ReportView:
    ranked = rank_variants(evaluation, results, cutoffs)
    in_order = sorted(ranked, key=lambda one: one.number)
    full_values = full_bar_values([one.summary for one in ranked])
    headline = [name for name in HEADLINE_METRICS if any(name in one.summary.figures for one in ranked)]
    names = [to_one_line(one.variant.name) for one in in_order]
    parts = [[result for result in results if result.variant == one.number] for one in in_order]
    return ReportView(
        title=to_one_line(evaluation.name),
        facts=_evaluation_facts(evaluation),
        state=None if evaluation.state == "done" else STATE_BADGES[evaluation.state],
        fault=to_one_line(evaluation.fault),
        headline=[METRICS[name].title for name in headline],
        ranking=[_make_ranked_view(one, headline, full_values) for one in ranked] if len(ranked) > 1 else [],
        variants=[
            view_variant(name, part, one.summary, full_values)
            for name, part, one in zip(names, parts, in_order, strict=True)
        ],
        comparison=_make_comparison_view(names, parts, cutoffs) if len(names) == 2 else None,
        settings=setting_rows(evaluation.variants),
        questions=view_questions(evaluation, results, cutoffs),
        right_from=_describe_rightness(cutoffs, sum(one.summary.labelled for one in ranked)),
    )


def _describe_rightness(cutoffs: Cutoffs, labelled: int) -> str:
    told = f"from {cutoffs.judge:g} on by the judge, from {cutoffs.text:g} on by comparing texts"
    return f"{told}; {format_labelled(labelled)}" if labelled else told


def _make_ranked_view(ranked: RankedVariant, headline: Sequence[str], full_values: Mapping[str, float]) -> RankedView:
    figures = [ranked.summary.figures.get(name) for name in headline]
    return RankedView(
        to_one_line(ranked.variant.name), [view_figure(figure, full_values) if figure else None for figure in figures]
    )


def _evaluation_facts(evaluation: Evaluation) -> str:
    told = [to_one_line(evaluation.dataset), format_count(evaluation.size, "question")]
    told += [f"{evaluation.repetitions} times each"] if evaluation.repetitions > 1 else []
    told += [format_count(len(evaluation.variants), "variant")] if len(evaluation.variants) > 1 else []
    told += [f"judged by {to_one_line(evaluation.judge)}"] if evaluation.judge else []
    took = f"took {format_duration(evaluation.seconds)}"
    return " · ".join([*told, format_progress(evaluation), format_date_time(evaluation.started_at), took])


def _make_comparison_view(
    names: Sequence[str], parts: Sequence[Sequence[EvaluationResult]], cutoffs: Cutoffs
) -> ComparisonView:
    compared = compare_results(parts[0], parts[1], cutoffs)
    broken, fixed = (
        [to_one_line(one.example.question) for one in compared.changed if one.what == what]
        for what in ("broken", "fixed")
    )
    return ComparisonView(names[0], names[1], [_make_change_view(one) for one in compared.differences], broken, fixed)


def _make_change_view(difference: MetricDifference) -> ChangeView:
    return ChangeView(
        METRICS[difference.metric].title,
        format_metric_value(difference.metric, difference.before),
        format_metric_value(difference.metric, difference.after),
        format_change(difference),
        format_change_interval(difference),
        f"{difference.n:,}",
        assess_change(difference),
    )


@cache
def _report_template() -> Template:
    return load_page_template("report.html.jinja", Path(__file__).parent)
