"""Text reports of evaluations: figures with intervals and n, and the questions that went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from crag.cli.terminal import cell_width, pad_cell
from crag.evaluation.grid import RankedVariant, find_best_variant, rank_variants
from crag.evaluation.metrics import (
    DIFFERENT_JUDGES_NOTE,
    HEADLINE_METRICS,
    METRICS,
    STATE_BADGES,
    VERDICT_BADGES,
    answer_verdict,
    assess_change,
    format_change,
    format_change_interval,
    format_figure,
    format_interval,
    format_labelled,
    format_metric_value,
    format_progress,
    format_score_change,
    is_answer_right,
)
from crag.evaluation.summary import Comparison, VariantSummary
from crag.evaluation.types import (
    ChangedExample,
    Cutoffs,
    Environment,
    Evaluation,
    EvaluationResult,
    Figure,
    MetricDifference,
)
from crag.inspection import run_labels
from crag.options import MAIN_OPTIONS, get_option
from crag.text.formatting import format_count, format_done, format_duration, to_local_time
from crag.translation import N_, _, translate_text

_MAX_FULL_LIST = 20  # up to this many questions are listed one by one
_MAX_SHOWN = 20
_MAX_LINE_LENGTH = 90
_NAME_WIDTH = 12
_INTERVALS_NOTE = N_("Intervals: 95% of bootstrap resamples of the questions; n: number of questions.")


def evaluation_text(evaluation: Evaluation, results: Sequence[EvaluationResult], cutoffs: Cutoffs) -> str:
    """Return the full report: one variant in detail, or all variants of a grid ranked; then the wrong answers."""
    ranked = rank_variants(evaluation, results, cutoffs)
    parts = [_heading_text(evaluation)]
    if len(ranked) > 1:
        parts += [_ranking_table(ranked), _best_variant_text(evaluation, results, cutoffs)]
    elif evaluation.size <= _MAX_FULL_LIST:
        parts += [_questions_table(results, cutoffs), _figures_table(ranked[0].summary)]
    else:
        parts += [_figures_table(ranked[0].summary), _wrong_answers_text(evaluation, results, cutoffs)]
    return "\n\n".join(part for part in [*parts, _(_INTERVALS_NOTE) if results else ""] if part)


def evaluation_line(evaluation: Evaluation) -> str:
    """Return the line of an evaluation in the list."""
    made = f"{to_local_time(evaluation.started_at):%Y-%m-%d %H:%M}"
    state = STATE_BADGES[evaluation.state].word
    return f"{evaluation.id}  {made}  {state}, {format_progress(evaluation)}  {evaluation.name}"


def comparison_text(before: str, after: str, compared: Comparison) -> str:
    """Return the differences between two variants over the questions they share."""
    both = _("{questions} in both").format(questions=format_count(compared.examples, "question"))
    head = f"{both}\n{_fact(_('before'), before)}\n{_fact(_('after'), after)}"
    head += f"\n{_(DIFFERENT_JUDGES_NOTE)}" if compared.unjudged else ""
    if not compared.differences:
        return f"{head}\n\n{_('There is nothing to compare: they share no metric.')}"
    rows: list[tuple[str, ...]] = [
        (_("metric"), _("before"), _("after"), _("change"), _("95% interval"), "n", ""),
    ]
    rows += [_difference_row(one) for one in compared.differences]
    broken = [one for one in compared.changed if one.what == "broken"]
    fixed = [one for one in compared.changed if one.what == "fixed"]
    changed = [_changed_examples_text(_("Worse"), broken), _changed_examples_text(_("Better"), fixed)]
    return "\n\n".join(part for part in [head, _format_table(rows), *changed] if part)


def _heading_text(evaluation: Evaluation) -> str:
    asked = format_count(evaluation.size, "question")
    if evaluation.repetitions > 1:
        asked += ", " + _("{count} times each").format(count=evaluation.repetitions)
    if len(evaluation.variants) > 1:
        asked += ", " + _("in {variants}").format(variants=format_count(len(evaluation.variants), "variant"))
    named = "" if evaluation.dataset == evaluation.name else f"{evaluation.dataset}: "
    state = STATE_BADGES[evaluation.state].word
    took = _("{progress}, {state} in {duration}").format(
        progress=format_progress(evaluation), state=state, duration=format_duration(evaluation.seconds)
    )
    judge = [_fact(_("judged by"), evaluation.judge)] if evaluation.judge else []
    return "\n".join(
        [
            f"{evaluation.name}  ({evaluation.id})",
            f"{named}{asked}; {took}",
            *_environment_lines(evaluation),
            *judge,
            *_settings_lines(evaluation),
        ]
    )


def _settings_lines(evaluation: Evaluation) -> list[str]:
    """Return the main settings that all variants share."""
    values = {name: {get_option(one.options, name) for one in evaluation.variants} for name in MAIN_OPTIONS}
    shared = {name: value for name, (value, *others) in values.items() if not others}
    described = [run_labels.describe_option(name, value) for name, value in shared.items()]
    return [_fact(_("settings"), ", ".join(described))] if shared else []


def _environment_lines(evaluation: Evaluation) -> list[str]:
    """Return the environment of each variant, without duplicates."""
    lines = (
        line for one in evaluation.variants if one.environment.model for line in _describe_environment(one.environment)
    )
    return list(dict.fromkeys(lines))


def _describe_environment(environment: Environment) -> list[str]:
    library = f"{format_count(environment.documents, 'document')}, {format_count(environment.passages, 'passage')}"
    return [
        _fact(
            _("answered by"),
            f"{translate_text(environment.model)} ({environment.fingerprint}), CRAG Chat {environment.version}",
        ),
        _fact(_("graded by"), environment.grader),
        _fact(
            _("searched"),
            _("{library}, digest {digest}; {embedder}").format(
                library=library, digest=environment.library, embedder=translate_text(environment.embedder)
            ),
        ),
    ]


def _figures_table(summary: VariantSummary) -> str:
    rows = [(_("metric"), _("value"), _("95% interval"), "n")]
    for name, figure in summary.figures.items():
        value = format_metric_value(name, figure.value)
        rows.append((_(METRICS[name].title), value, format_interval(figure), f"{figure.n:,}"))
    if len(rows) == 1:
        return _("There are no figures: no question was answered.")
    return _format_table(rows) + (f"\n{format_labelled(summary.labelled)}" if summary.labelled else "")


def _ranking_table(ranked: Sequence[RankedVariant]) -> str:
    """Return one row per variant, best first, with the number that `evaluations compare` takes."""
    names = [name for name in HEADLINE_METRICS if any(name in one.summary.figures for one in ranked)]
    rows = [(_("No."), _("variant"), *(_(METRICS[name].title) for name in names))]
    for one in ranked:
        figures = [one.summary.figures.get(name) for name in names]
        rows.append((f"{one.number + 1}", one.variant.name, *(_figure_cell(figure) for figure in figures)))
    return _format_table(rows, left=len(rows[0]))


def _figure_cell(figure: Figure | None) -> str:
    return format_figure(figure) if figure else "–"


def _best_variant_text(evaluation: Evaluation, results: Sequence[EvaluationResult], cutoffs: Cutoffs) -> str:
    if evaluation.state != "done":
        return _("The best one is known once all have answered the same questions.")
    found = find_best_variant(evaluation, results, cutoffs)
    if found is None:
        return _("The best one is unknown: no answer has a known right answer.")
    if found.is_clear:
        return _("Best: {name}, clearly better than all others.").format(name=found.variant.name)
    rivals = ", ".join(f"“{one.name}”" for one in found.rivals)
    return _("Best: {name}, but not clearly better than {rivals}.").format(name=found.variant.name, rivals=rivals)


def _questions_table(results: Sequence[EvaluationResult], cutoffs: Cutoffs) -> str:
    """Return one row per question: how often the answer and the steps were right, and the run of its first answer."""
    rows = [(_("right answers"), _("expected steps"), _("run"), _("question"))]
    for answers in _group_by_question(results):
        answered = [is_answer_right(one, cutoffs) for one in answers]
        steps = [one.scored.scores.get("steps_match", 0.0) == 1.0 for one in answers if one.example.steps]
        first = answers[0]
        rows.append((_count_true(answered), _count_true(steps), first.run_id or _("none"), _question_text(first)))
    return _format_table(rows, left=len(rows[0])) if len(rows) > 1 else ""


def _count_true(known: Sequence[bool | None]) -> str:
    values = [one for one in known if one is not None]
    return format_done(sum(values), len(values)) if values else _("not known")


def _wrong_answers_text(evaluation: Evaluation, results: Sequence[EvaluationResult], cutoffs: Cutoffs) -> str:
    """Return the questions with a failed, wrong or wrongly declined answer, each with its first such run."""
    rows = []
    for answers in _group_by_question(results):
        verdicts = [(one, answer_verdict(one, cutoffs)) for one in answers]
        wrong = [(one, word) for one, word in verdicts if word not in ("right", "unknown")]
        if wrong:
            one, word = wrong[0]
            share = format_done(len(wrong), len(verdicts)) if evaluation.repetitions > 1 else ""
            rows.append((VERDICT_BADGES[word].word, share, one.run_id or _("no run"), _question_text(one)))
    if not rows:
        return ""
    head = _("Wrong ({questions}), with a run for each:").format(questions=format_count(len(rows), "question"))
    lines = [head, _format_table(rows[:_MAX_SHOWN], left=4)]
    if len(rows) > _MAX_SHOWN:
        lines.append(_("and {count} more; --output has them all").format(count=len(rows) - _MAX_SHOWN))
    return "\n".join(lines)


def _question_text(result: EvaluationResult) -> str:
    """Return the question and the reason why it was not answered."""
    return _shorten(result.example.question) + (f"  ({_shorten(translate_text(result.error))})" if result.error else "")


def _group_by_question(results: Sequence[EvaluationResult]) -> list[list[EvaluationResult]]:
    ordered = sorted(results, key=lambda one: (one.number, one.variant, one.repetition))
    return [list(answers) for _number, answers in groupby(ordered, lambda one: one.number)]


def _difference_row(one: MetricDifference) -> tuple[str, ...]:
    before, after = (format_metric_value(one.metric, value) for value in (one.before, one.after))
    change = (format_change(one), format_change_interval(one), f"{one.n:,}", translate_text(assess_change(one)))
    return _(METRICS[one.metric].title), before, after, *change


def _changed_examples_text(title: str, changed: Sequence[ChangedExample]) -> str:
    if not changed:
        return ""
    lines = [
        f"  {format_score_change(one)}  {_shorten(one.example.question)}\n    {one.before_run} → {one.after_run}"
        for one in changed[:_MAX_SHOWN]
    ]
    left = len(changed) - _MAX_SHOWN
    more = ["  " + _("and {count} more").format(count=left)] if left > 0 else []
    return "\n".join([f"{title} ({len(changed):,}):", *lines, *more])


def _fact(name: str, value: str) -> str:
    return f"{pad_cell(name, _NAME_WIDTH)} {value}"


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_LINE_LENGTH else f"{line[: _MAX_LINE_LENGTH - 1]}…"


def _format_table(rows: Sequence[tuple[str, ...]], left: int = 1) -> str:
    """Align columns to their widest cell, the first `left` columns to the left."""
    widths = [max(cell_width(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = (
        "  ".join(
            pad_cell(cell, width, right=column >= left)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)
