"""An evaluation as one self-contained HTML page: no script, no request, no font."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from crag.amounts import count, duration
from crag.evaluate.exports.figures import FigureView, VariantView, longest_bars, view_figure, view_variant
from crag.evaluate.exports.questions import QuestionView, view_questions
from crag.evaluate.exports.settings import SettingRow, setting_rows
from crag.evaluate.figures.comparison import compare
from crag.evaluate.figures.metrics import HEADLINE, METRICS
from crag.evaluate.figures.wording import (
    Meaning,
    change_in_words,
    change_interval_in_words,
    meaning,
    progress_in_words,
    value_in_words,
)
from crag.evaluate.grid import Ranked, rank
from crag.evaluate.signs import STATES
from crag.evaluate.values import Cutoffs, Difference, Evaluation, Result
from crag.foreign_text import one_line
from crag.inspection.badges import Badge
from crag.moments import day_and_minute
from crag.sharing.page import page_template

if TYPE_CHECKING:
    from jinja2 import Template


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
    meaning: Meaning


@dataclass(frozen=True, slots=True)
class ComparisonView:
    """Comparison of two variants; `broken` and `mended` hold the texts of the questions."""

    before: str
    after: str
    changes: Sequence[ChangeView]
    broken: Sequence[str]
    mended: Sequence[str]


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


def as_html(evaluation: Evaluation, results: Sequence[Result], cutoffs: Cutoffs) -> str:
    """Render the report: figures with intervals, routes, times, settings, and every answer."""
    return _template().render(page=_view(evaluation, results, cutoffs))


def _view(evaluation: Evaluation, results: Sequence[Result], cutoffs: Cutoffs) -> ReportView:
    ranked = rank(evaluation, results, cutoffs)
    in_order = sorted(ranked, key=lambda one: one.number)
    longest = longest_bars([one.summary for one in ranked])
    headline = [name for name in HEADLINE if any(name in one.summary.figures for one in ranked)]
    names = [one_line(one.variant.name) for one in in_order]
    parts = [[result for result in results if result.variant == one.number] for one in in_order]
    return ReportView(
        title=one_line(evaluation.name),
        facts=_facts(evaluation),
        state=None if evaluation.state == "done" else STATES[evaluation.state],
        fault=one_line(evaluation.fault),
        headline=[METRICS[name].title for name in headline],
        ranking=[_view_ranked(one, headline, longest) for one in ranked] if len(ranked) > 1 else [],
        variants=[
            view_variant(name, part, one.summary, longest)
            for name, part, one in zip(names, parts, in_order, strict=True)
        ],
        comparison=_compare(names, parts, cutoffs) if len(names) == 2 else None,
        settings=setting_rows(evaluation.variants),
        questions=view_questions(evaluation, results, cutoffs),
        right_from=f"from {cutoffs.judge:g} on by the judge, from {cutoffs.text:g} on by comparing texts",
    )


def _view_ranked(one: Ranked, headline: Sequence[str], longest: Mapping[str, float]) -> RankedView:
    figures = [one.summary.figures.get(name) for name in headline]
    return RankedView(
        one_line(one.variant.name), [view_figure(figure, longest) if figure else None for figure in figures]
    )


def _facts(evaluation: Evaluation) -> str:
    told = [one_line(evaluation.dataset), count(evaluation.size, "question")]
    told += [f"{evaluation.repetitions} times each"] if evaluation.repetitions > 1 else []
    told += [count(len(evaluation.variants), "variant")] if len(evaluation.variants) > 1 else []
    told += [f"judged by {one_line(evaluation.judge)}"] if evaluation.judge else []
    took = f"took {duration(evaluation.seconds)}"
    return " · ".join([*told, progress_in_words(evaluation), day_and_minute(evaluation.started_at), took])


def _compare(names: Sequence[str], parts: Sequence[Sequence[Result]], cutoffs: Cutoffs) -> ComparisonView:
    compared = compare(parts[0], parts[1], cutoffs)
    broken, mended = (
        [one_line(one.example.question) for one in compared.changed if one.what == what]
        for what in ("broken", "mended")
    )
    return ComparisonView(names[0], names[1], [_change(one) for one in compared.differences], broken, mended)


def _change(one: Difference) -> ChangeView:
    return ChangeView(
        METRICS[one.metric].title,
        value_in_words(one.metric, one.before),
        value_in_words(one.metric, one.after),
        change_in_words(one),
        change_interval_in_words(one),
        f"{one.n:,}",
        meaning(one),
    )


@cache
def _template() -> Template:
    return page_template("report.html.jinja", Path(__file__).parent)
