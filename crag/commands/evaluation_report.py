"""Text reports of evaluations: figures with intervals and n, and the questions that went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from crag.amounts import count, duration
from crag.evaluate.figures.comparison import Comparison
from crag.evaluate.figures.metrics import HEADLINE, METRICS
from crag.evaluate.figures.summary import Summary
from crag.evaluate.figures.verdicts import right, verdict
from crag.evaluate.figures.wording import (
    UNJUDGED,
    change_in_words,
    change_interval_in_words,
    figure_in_words,
    interval_in_words,
    meaning,
    progress_in_words,
    value_in_words,
)
from crag.evaluate.grid import Ranked, best, rank
from crag.evaluate.signs import STATES, VERDICTS
from crag.evaluate.values import ChangedExample, Cutoffs, Difference, Environment, Evaluation, Figure, Result
from crag.evaluate.varying import settings_that_differ
from crag.inspection import names
from crag.moments import local
from crag.options import value_of
from crag.runs.changes import option

_FEW = 20  # up to this many questions are listed one by one
_SHOWN = 20
_LONGEST = 90
_TOLD = ("policy", "k", "refine", "grader")
_INTERVALS = "Intervals: 95% of bootstrap resamples of the questions; n: how many questions a figure rests on."


def as_text(evaluation: Evaluation, results: Sequence[Result], cutoffs: Cutoffs) -> str:
    """Return the full report: one variant in detail, or all variants of a grid ranked; then the wrong answers."""
    ranked = rank(evaluation, results, cutoffs)
    parts = [_head(evaluation)]
    if len(ranked) > 1:
        parts += [_ranking(ranked), _best(evaluation, results, cutoffs)]
    elif evaluation.size <= _FEW:
        parts += [_questions(results, cutoffs), _figures(ranked[0].summary)]
    else:
        parts += [_figures(ranked[0].summary), _not_right(evaluation, results, cutoffs)]
    return "\n\n".join(part for part in [*parts, _INTERVALS if results else ""] if part)


def listed(evaluation: Evaluation) -> str:
    """Return the line of an evaluation in the list."""
    made = f"{local(evaluation.started_at):%Y-%m-%d %H:%M}"
    state = STATES[evaluation.state].word
    return f"{evaluation.id}  {made}  {state}, {progress_in_words(evaluation)}  {evaluation.name}"


def comparison_text(before: str, after: str, compared: Comparison) -> str:
    """Return the differences between two variants over the questions they share."""
    head = f"{count(compared.examples, 'question')} that both have\nbefore: {before}\nafter:  {after}"
    head += f"\n{UNJUDGED}" if compared.unjudged else ""
    if not compared.differences:
        return f"{head}\n\nThere is nothing to compare: no figure is known of both."
    rows: list[tuple[str, ...]] = [("metric", "before", "after", "change", "95% interval", "n", "")]
    rows += [_difference(one) for one in compared.differences]
    broken = [one for one in compared.changed if one.what == "broken"]
    mended = [one for one in compared.changed if one.what == "mended"]
    changed = [_changed("Broken", broken), _changed("Mended", mended)]
    return "\n\n".join(part for part in [head, _table(rows), *changed] if part)


def _head(evaluation: Evaluation) -> str:
    asked = count(evaluation.size, "question")
    asked += f", {evaluation.repetitions} times each" if evaluation.repetitions > 1 else ""
    asked += f", in {count(len(evaluation.variants), 'variant')}" if len(evaluation.variants) > 1 else ""
    named = "" if evaluation.dataset == evaluation.name else f"{evaluation.dataset}: "
    state = STATES[evaluation.state].word
    took = f"{progress_in_words(evaluation)}, {state} in {duration(evaluation.seconds)}"
    judge = [f"judged by    {evaluation.judge}"] if evaluation.judge else []
    return "\n".join(
        [
            f"{evaluation.name}  ({evaluation.id})",
            f"{named}{asked}; {took}",
            *_environments(evaluation),
            *judge,
            *_settings(evaluation),
        ]
    )


def _settings(evaluation: Evaluation) -> list[str]:
    """Return the main settings that all variants share."""
    differing, options = settings_that_differ(evaluation.variants), evaluation.variants[0].options
    shared = [option(name, value_of(options, name)) for name in _TOLD if name not in differing]
    return [f"settings     {names.change_in_words(', '.join(shared))}"] if shared else []


def _environments(evaluation: Evaluation) -> list[str]:
    """Return the environment of each variant, without duplicates."""
    lines = (line for one in evaluation.variants if one.environment.model for line in _environment(one.environment))
    return list(dict.fromkeys(lines))


def _environment(environment: Environment) -> list[str]:
    library = f"{count(environment.documents, 'document')}, {count(environment.passages, 'passage')}"
    return [
        f"answered by  {environment.model} ({environment.fingerprint}), CRAG Chat {environment.version}",
        f"graded by    {environment.grader}",
        f"searched     {library}, digest {environment.library}; {environment.embedder}",
    ]


def _figures(summary: Summary) -> str:
    rows = [("metric", "value", "95% interval", "n")]
    for name, figure in summary.figures.items():
        value = value_in_words(name, figure.value)
        rows.append((METRICS[name].title, value, interval_in_words(figure), f"{figure.n:,}"))
    return _table(rows) if len(rows) > 1 else "There are no figures: nothing was answered."


def _ranking(ranked: Sequence[Ranked]) -> str:
    """Return one row per variant, best first, with the number that `evaluations compare` takes."""
    names = [name for name in HEADLINE if any(name in one.summary.figures for one in ranked)]
    rows = [("no", "variant", *(METRICS[name].title for name in names))]
    for one in ranked:
        figures = [one.summary.figures.get(name) for name in names]
        rows.append((f"{one.number + 1}", one.variant.name, *(_in_cell(figure) for figure in figures)))
    return _table(rows, left=len(rows[0]))


def _in_cell(figure: Figure | None) -> str:
    return figure_in_words(figure) if figure else "–"


def _best(evaluation: Evaluation, results: Sequence[Result], cutoffs: Cutoffs) -> str:
    if evaluation.state != "done":
        return "Which one is best can be told when all of them were asked the same questions."
    found = best(evaluation, results, cutoffs)
    if found is None:
        return "No best one can be told: of no answer it is known whether it is right."
    if found.clear:
        return f"Best: {found.variant.name}, clearly better than each other one."
    rivals = ", ".join(f"“{one.name}”" for one in found.rivals)
    return f"Best: {found.variant.name}, but not clearly better than {rivals}."


def _questions(results: Sequence[Result], cutoffs: Cutoffs) -> str:
    """Return one row per question: how often the answer and the steps were right, and the run of its first answer."""
    rows = [("right answers", "right steps", "run", "question")]
    for answers in _by_question(results):
        answered = [right(one, cutoffs) for one in answers]
        steps = [one.scored.scores.get("steps_match", 0.0) == 1.0 for one in answers if one.example.steps]
        first = answers[0]
        rows.append((_of(answered), _of(steps), first.run_id or "none", _asked(first)))
    return _table(rows, left=len(rows[0])) if len(rows) > 1 else ""


def _of(known: Sequence[bool | None]) -> str:
    values = [one for one in known if one is not None]
    return f"{sum(values)} of {len(values)}" if values else "not known"


def _not_right(evaluation: Evaluation, results: Sequence[Result], cutoffs: Cutoffs) -> str:
    """Return the questions with a failed, wrong or wrongly declined answer, each with its first such run."""
    rows = []
    for answers in _by_question(results):
        verdicts = [(one, verdict(one, cutoffs)) for one in answers]
        wrong = [(one, word) for one, word in verdicts if word not in ("right", "unknown")]
        if wrong:
            one, word = wrong[0]
            share = f"{len(wrong)} of {len(verdicts)}" if evaluation.repetitions > 1 else ""
            rows.append((VERDICTS[word].word, share, one.run_id or "no run", _asked(one)))
    if not rows:
        return ""
    more = f"\nand {len(rows) - _SHOWN:,} more; --output has them all" if len(rows) > _SHOWN else ""
    return f"Not right ({count(len(rows), 'question')}), with a run each:\n{_table(rows[:_SHOWN], left=4)}{more}"


def _asked(result: Result) -> str:
    """Return the question and the reason why it was not answered."""
    return _short(result.example.question) + (f"  ({_short(result.error)})" if result.error else "")


def _by_question(results: Sequence[Result]) -> list[list[Result]]:
    ordered = sorted(results, key=lambda one: (one.number, one.variant, one.repetition))
    return [list(answers) for _, answers in groupby(ordered, lambda one: one.number)]


def _difference(one: Difference) -> tuple[str, ...]:
    before, after = (value_in_words(one.metric, value) for value in (one.before, one.after))
    change = (change_in_words(one), change_interval_in_words(one), f"{one.n:,}", meaning(one))
    return METRICS[one.metric].title, before, after, *change


def _changed(title: str, changed: Sequence[ChangedExample]) -> str:
    if not changed:
        return ""
    lines = [
        f"  {one.before:.0%} → {one.after:.0%}  {_short(one.example.question)}\n    {one.before_run} → {one.after_run}"
        for one in changed[:_SHOWN]
    ]
    more = [f"  and {len(changed) - _SHOWN:,} more"] if len(changed) > _SHOWN else []
    return "\n".join([f"{title} ({len(changed):,}):", *lines, *more])


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _table(rows: Sequence[tuple[str, ...]], left: int = 1) -> str:
    """Align columns to their widest cell, the first `left` columns to the left."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = (
        "  ".join(
            cell.ljust(width) if column < left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)
