"""An evaluation as one self-contained HTML page: no script, no request, no font."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crag.evaluation.chart_data import count_routes
from crag.evaluation.exports import setting_rows
from crag.evaluation.grid import RankedVariant, rank_variants
from crag.evaluation.metrics import (
    HEADLINE_METRICS,
    METRICS,
    STATE_BADGES,
    VERDICT_BADGES,
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
from crag.inspection.run_labels import ACTION_BADGES, answer_badges, trajectory_title
from crag.text.formatting import (
    format_count,
    format_date_time,
    format_done,
    format_duration,
    format_number,
    format_score,
)
from crag.text.html import load_page_template
from crag.text.sanitization import strip_invisible, to_one_line
from crag.translation import _

if TYPE_CHECKING:
    from jinja2 import Template


View = dict[str, Any]  # what one part of the template shows, by the names used there


def export_html(evaluation: Evaluation, results: Sequence[EvaluationResult], cutoffs: Cutoffs) -> str:
    """Render the report: figures with intervals, routes, times, settings, and every answer."""
    return _report_template().render(page=_view_report(evaluation, results, cutoffs))


def _view_report(evaluation: Evaluation, results: Sequence[EvaluationResult], cutoffs: Cutoffs) -> View:
    ranked = rank_variants(evaluation, results, cutoffs)
    in_order = sorted(ranked, key=lambda one: one.number)
    full_values = _full_bar_values([one.summary for one in ranked])
    headline = [name for name in HEADLINE_METRICS if any(name in one.summary.figures for one in ranked)]
    names = [to_one_line(one.variant.name) for one in in_order]
    parts = [[result for result in results if result.variant == one.number] for one in in_order]
    return {
        "title": to_one_line(evaluation.name),
        "facts": _describe_evaluation(evaluation),
        "state": None if evaluation.state == "done" else STATE_BADGES[evaluation.state],
        "fault": to_one_line(evaluation.fault),
        "headline": [_(METRICS[name].title) for name in headline],
        "ranking": [_view_ranked(one, headline, full_values) for one in ranked] if len(ranked) > 1 else [],
        "variants": [
            _view_variant(name, part, one.summary, full_values)
            for name, part, one in zip(names, parts, in_order, strict=True)
        ],
        "comparison": _view_comparison(names, parts, cutoffs) if len(names) == 2 else None,
        "settings": setting_rows(evaluation.variants),
        "questions": _view_questions(evaluation, results, cutoffs),
        "right_from": _describe_rightness(cutoffs, sum(one.summary.labelled for one in ranked)),
    }


def _describe_rightness(cutoffs: Cutoffs, labelled: int) -> str:
    rule = _("from {judge:g} on by the judge, from {text:g} on by comparing texts").format(
        judge=cutoffs.judge, text=cutoffs.text
    )
    return f"{rule}; {format_labelled(labelled)}" if labelled else rule


def _describe_evaluation(evaluation: Evaluation) -> str:
    facts = [to_one_line(evaluation.dataset), format_count(evaluation.size, "question")]
    facts += (
        [_("{repetitions} times each").format(repetitions=evaluation.repetitions)] if evaluation.repetitions > 1 else []
    )
    facts += [format_count(len(evaluation.variants), "variant")] if len(evaluation.variants) > 1 else []
    facts += [_("judged by {judge}").format(judge=to_one_line(evaluation.judge))] if evaluation.judge else []
    took = _("took {duration}").format(duration=format_duration(evaluation.seconds))
    return " · ".join([*facts, format_progress(evaluation), format_date_time(evaluation.started_at), took])


def _view_ranked(ranked: RankedVariant, headline: Sequence[str], full_values: Mapping[str, float]) -> View:
    figures = [ranked.summary.figures.get(name) for name in headline]
    shown = [_view_figure(figure, full_values) if figure else None for figure in figures]
    return {"name": to_one_line(ranked.variant.name), "figures": shown}


def _view_variant(
    name: str, results: Sequence[EvaluationResult], summary: VariantSummary, full_values: Mapping[str, float]
) -> View:
    failed = f" · {_('{count} failed').format(count=format_number(summary.failed))}" if summary.failed else ""
    slowest = max((cost.seconds for cost in summary.nodes.values()), default=0.0)
    routes = groupby(count_routes(results), lambda one: one.expected)  # a row for each expectation that occurs
    return {
        "name": to_one_line(name),
        "facts": f"{format_count(summary.answers, 'answer')}{failed}",
        "figures": [_view_figure(figure, full_values) for figure in summary.figures.values()],
        "routes": [{"expected": expected, "counts": list(counts)} for expected, counts in routes],
        "nodes": [_view_node(node, cost, slowest) for node, cost in summary.nodes.items()],
    }


def _full_bar_values(summaries: Sequence[VariantSummary]) -> dict[str, float]:
    """Return the value at which each metric's bar is full: 1 for shares, otherwise the longest whisker's end."""
    ends: dict[str, float] = {}
    for figure in (figure for summary in summaries for figure in summary.figures.values()):
        is_share = METRICS[figure.metric].unit == "share"
        ends[figure.metric] = 1.0 if is_share else max(figure.high, ends.get(figure.metric, 0.0))
    return ends


def _view_figure(figure: Figure, full_values: Mapping[str, float]) -> View:
    """Return a metric as text, and as a bar with its interval as a whisker, each in 0..100."""
    metric = METRICS[figure.metric]
    full = full_values[figure.metric] or 1.0
    ends = {"value": figure.value, "low": figure.low, "high": figure.high}
    return {
        "title": _(metric.title),
        "meaning": metric.meaning,
        "value": format_metric_value(figure.metric, figure.value),
        "interval": format_interval(figure),
        "n": f"{figure.n:,}",
        "bar": {name: round(min(100.0, max(0.0, 100 * at / full)), 2) for name, at in ends.items()},
    }


def _view_node(name: str, cost: NodeCost, slowest: float) -> View:
    return {
        "name": next((_(spec.title) for node, spec in NODES.items() if node == name), to_one_line(name)),
        "time": format_duration(cost.seconds),
        "share": round(100 * cost.seconds / slowest, 2) if slowest else 0.0,
        "read": f"{cost.prompt_tokens:,.0f}" if cost.prompt_tokens else "",
        "written": f"{cost.answer_tokens:,.0f}" if cost.answer_tokens else "",
    }


def _view_comparison(names: Sequence[str], parts: Sequence[Sequence[EvaluationResult]], cutoffs: Cutoffs) -> View:
    compared = compare_results(parts[0], parts[1], cutoffs)
    changed = {
        what: [to_one_line(one.example.question) for one in compared.changed if one.what == what]
        for what in ("broken", "fixed")
    }
    changes = [_view_change(one) for one in compared.differences]
    return {"before": names[0], "after": names[1], "changes": changes, **changed}


def _view_change(difference: MetricDifference) -> View:
    return {
        "title": _(METRICS[difference.metric].title),
        "before": format_metric_value(difference.metric, difference.before),
        "after": format_metric_value(difference.metric, difference.after),
        "change": format_change(difference),
        "interval": format_change_interval(difference),
        "n": f"{difference.n:,}",
        "meaning": assess_change(difference),
    }


def _view_questions(evaluation: Evaluation, results: Sequence[EvaluationResult], cutoffs: Cutoffs) -> list[View]:
    """Return all questions in order, each with its answers by variant and repetition."""
    ordered = sorted(results, key=lambda one: (one.number, one.variant, one.repetition))
    return [
        _view_question(evaluation, list(group), cutoffs) for _number, group in groupby(ordered, lambda one: one.number)
    ]


def _view_question(evaluation: Evaluation, answers: Sequence[EvaluationResult], cutoffs: Cutoffs) -> View:
    example = answers[0].example
    counted = Counter(VERDICT_BADGES[answer_verdict(answer, cutoffs)] for answer in answers)
    same = groupby(sorted(answers, key=_answer_identity), _answer_identity)
    return {
        "number": answers[0].number + 1,
        "question": strip_invisible(example.question),
        "badges": [
            replace(one, number=format_done(n, len(answers)) if len(answers) > 1 else "")
            for one, n in counted.most_common()
        ],
        "expected": _describe_expected(example),
        "answers": [_view_answer(evaluation, list(alike), cutoffs) for _identity, alike in same],
    }


def _answer_identity(result: EvaluationResult) -> tuple[object, ...]:
    """Return the grouping key of answers: equal repetitions are shown once."""
    judged = (str(result.judged.score), result.judged.reason) if result.judged else ()
    answer = (result.scored.answer, result.scored.steps, result.scored.action or "", result.scored.outcome or "")
    return result.variant, result.state, result.error, answer, judged, str(result.label)


def _view_answer(evaluation: Evaluation, identical: Sequence[EvaluationResult], cutoffs: Cutoffs) -> View:
    """Return one answer or several equal repetitions; the facts are those of the first."""
    result, judged = identical[0], identical[0].judged
    several = [evaluation.variants[result.variant].name] if len(evaluation.variants) > 1 else []
    if evaluation.repetitions > 1:
        numbers = ", ".join(str(one.repetition) for one in identical)
        several.append(_("repetition {numbers}").format(numbers=numbers))
    return {
        "under": to_one_line(", ".join(several)),
        "badge": VERDICT_BADGES[answer_verdict(result, cutoffs)],
        "text": strip_invisible(result.scored.answer).strip(),
        "facts": " · ".join(_answer_facts(result)),
        "reason": f"{to_one_line(judged.model.partition('@')[0])}: {to_one_line(judged.reason)}" if judged else "",
        "error": to_one_line(result.error),
        "run_ids": [to_one_line(one.run_id) for one in identical if one.run_id],
    }


def _answer_facts(result: EvaluationResult) -> list[str]:
    scored = result.scored
    facts = [badge.word for badge in answer_badges(scored.action, scored.outcome)]
    if scored.grades:
        relevant = sum(grade.relevant for grade in scored.grades)
        facts.append(
            _("{relevant} of {passages} graded relevant").format(
                relevant=relevant, passages=format_count(len(scored.grades), "passage")
            )
        )
    if result.example.has_known_passages:
        facts.append(_("{sum} of them right").format(sum=sum(grade.right for grade in scored.grades)))
    facts += (
        [_("best score {best}").format(best=format_score(round(scored.best, 3)))] if scored.best is not None else []
    )
    facts += (
        [_("text score {text_score:.2f}").format(text_score=scored.text_score)] if scored.text_score is not None else []
    )
    if result.judged and result.judged.score is not None:
        facts.append(_("judged {score:.2f}").format(score=result.judged.score))
    if result.label is not None:
        facts.append(_("rated {value} by a person").format(value=_("right") if result.label else _("wrong")))
    steps = ", ".join(map(trajectory_title, scored.steps))
    facts += [steps, format_duration(scored.seconds)] if scored.steps else []
    facts += [format_count(scored.tokens, "token")] if scored.tokens else []
    return [to_one_line(fact) for fact in facts]


def _describe_expected(example: Example) -> list[tuple[str, str]]:
    known = (
        (_("Expected answer"), " · ".join(example.references)),
        (_("Must mention"), " · ".join(example.must_mention)),
        (_("Must not mention"), " · ".join(example.must_not_mention)),
        (_("Expected passages"), " · ".join((*example.sources, *example.phrases))),
        (_("Expected steps"), " · or · ".join(map(", ".join, example.steps))),
        (_("Expected decision"), ACTION_BADGES[example.action].word if example.action else ""),
        (_("Can be answered"), {None: "", True: _("yes"), False: _("no")}[example.answerable]),
    )
    return [(title, strip_invisible(value)) for title, value in known if value]


@cache
def _report_template() -> Template:
    return load_page_template("report.html.jinja", Path(__file__).parent)
