"""One evaluation with its answers and their agreement with human labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from crag.errors import NotFound
from crag.evaluation import metrics
from crag.evaluation.agreement import Agreement, measure_agreement
from crag.evaluation.metrics import METRICS, AnswerVerdict, answer_verdict, format_metric_value
from crag.evaluation.types import Cutoffs, Evaluation, EvaluationResult
from crag.inspection import run_labels
from crag.models.model_choice import model_label
from crag.options import ROUTES
from crag.text import sanitization
from crag.text.formatting import format_count, format_duration, format_number
from crag.translation import N_, _, translate_text
from crag.types import Action
from pages.evaluate import grid, result_figures, result_head, results, selection
from pages.evaluate.results import ACTIVE_STATES, load_cutoffs, load_ranking, load_results
from pages.parts import labels, layout, markdown
from pages.parts.layout import draw_folded, draw_search_field
from pages.parts.services import application
from pages.parts.session import is_phone

_LABEL_CHOICES = {True: N_(":material/check: Right"), False: N_(":material/close: Wrong")}
_COST_METRICS = ("seconds", "tokens")


def draw_answer(evaluation: Evaluation, result: EvaluationResult, verdict: AnswerVerdict) -> None:
    """Draw question, answer, expected answer, judgement and scores, with the label control and the link to the run."""
    name = f"{evaluation.id}-{result.variant}-{result.number}-{result.repetition}"
    st.markdown(f"**{markdown.escape_line(result.example.question, 400)}**")
    scored = result.scored
    badges = (
        metrics.VERDICT_BADGES[verdict],
        *run_labels.answer_badges(scored.action, scored.outcome),
    )
    st.markdown(" ".join(map(labels.badge_markdown, badges)))
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        if result.state == "done":
            _draw_label_control(evaluation, result, name)
        st.button(
            _("Open in Inspect"),
            icon=":material/account_tree:",
            key=f"lay-open-{name}",
            on_click=selection.open_run_in_inspect,
            args=(result.run_id,),
        )
    if result.error:
        st.markdown(f":red[:material/error:] {markdown.escape_line(result.error, 600)}")
    if result.scored.answer:
        with st.container(border=True):
            st.markdown(markdown.sanitize_answer(result.scored.answer), anchors=False)
    _draw_expected_answer(result)
    _draw_judgement(result)
    if facts := _describe_scores(result):
        st.caption(" · ".join(facts))


def _draw_expected_answer(result: EvaluationResult) -> None:
    """Draw what the dataset says about the right answer."""
    example = result.example
    if example.answerable is False:
        st.markdown(_(":small[:gray[Expected]] declined: the documents do not answer this"))
    _draw_alternatives(_("Expected answer"), example.references)
    _draw_alternatives(_("Must mention"), example.must_mention)
    _draw_alternatives(_("Must not mention"), example.must_not_mention)
    _draw_alternatives(_("Expected passages contain"), example.phrases)
    _draw_alternatives(_("Expected documents"), example.sources)
    if example.action:
        other = result.scored.action if result.scored.action != example.action else None
        expected = _(":small[:gray[Expected decision]] {action_badge}")
        if other:
            expected = _(":small[:gray[Expected decision]] {action_badge} :small[:gray[but decided]] {other_badge}")
        badges = {
            "action_badge": labels.action_badge(example.action),
            "other_badge": other and labels.action_badge(other),
        }
        st.markdown(expected.format(**badges))
    if example.route and result.scored.scores.get("route_match") == 0.0:
        st.markdown(_(":small[:gray[Expected kind]] {routes}").format(routes=_(ROUTES[example.route][0]).lower()))
    if result.scored.steps:
        st.markdown(_(":small[:gray[Steps]] {steps}").format(steps=_format_steps(result.scored.steps)))
    if example.steps and result.scored.scores.get("steps_match") == 0.0:
        st.markdown(
            _(":small[:gray[Expected steps]] {map}").format(
                map=" :small[:gray[or]] ".join(map(_format_steps, example.steps))
            )
        )


def _format_steps(steps: Sequence[str]) -> str:
    return f":small[{markdown.escape_line(' → '.join(map(run_labels.trajectory_title, steps)), 400)}]"


def _draw_alternatives(name: str, texts: Sequence[str]) -> None:
    if texts:
        told = " :small[:gray[or]] ".join(markdown.escape_line(text, 600) for text in texts)
        st.markdown(f":small[:gray[{name}]] {told}")


def _draw_judgement(result: EvaluationResult) -> None:
    judged = result.judged
    if judged is None:
        return
    said = _("could not be read") if judged.score is None else f"{judged.score:.2f}"
    model = markdown.escape_line(translate_text(model_label(judged.model)), 60)
    st.markdown(
        _(":small[:gray[Judge, {model}]] **{said}** {reason}").format(
            model=model, said=said, reason=markdown.escape_line(judged.reason, 600)
        )
    )


def _describe_scores(result: EvaluationResult) -> list[str]:
    """Return how far this answer agrees with the expected one, its other scores except costs, and its duration."""
    scores = {
        name: value for name, value in result.scored.scores.items() if name in METRICS and name not in _COST_METRICS
    }
    agreement = result.scored.text_score
    told = (
        []
        if agreement is None
        else [_("Agreement with the expected answer {agreement:.1%}").format(agreement=agreement)]
    )
    told += [f"{_(METRICS[name].title)} {format_metric_value(name, value)}" for name, value in scores.items()]
    return [*told, format_duration(result.scored.seconds)] if result.state == "done" else told


def _draw_label_control(evaluation: Evaluation, result: EvaluationResult, name: str) -> None:
    """Draw the control that labels the answer as right or wrong; a second click removes the label."""
    key = f"word-{name}"
    st.session_state[key] = result.label

    def take() -> None:
        application().evaluations.label(evaluation.id, result, st.session_state[key])
        results.invalidate_results()
        st.rerun()  # the whole page, because its figures have changed

    st.segmented_control(
        _("Your rating"),
        list(_LABEL_CHOICES),
        format_func=lambda right: _(_LABEL_CHOICES[right]),
        key=key,
        label_visibility="collapsed",
        on_change=take,
    )


_KAPPA_HELP = N_("Cohen's kappa corrects for agreement by chance: 1 is full agreement, 0 is chance.")
_FITTED_CUTOFFS_NOTE = N_(
    "The score from which an answer counts as right was fitted to your ratings, so agreement "
    "with them looks slightly better than it is."
)


def draw_agreement(evaluation: Evaluation, variant: int) -> None:
    """Draw a row for each scorer, or nothing without labels."""
    cutoffs = results.load_cutoffs()
    found = measure_agreement(results.load_results(evaluation, variant), cutoffs)
    if found:
        rows = {
            _("Compared with your ratings"): [markdown.escape_line(one.title, 60) for one in found],
            _("Agrees"): [f"{one.agree:.0%}" for one in found],
            _("Kappa"): [_format_kappa(one) for one in found],
            "n": [f"{one.n:,}" for one in found],
        }
        st.table(rows, border="horizontal", hide_index=True, alt=_("Agreement of the scorers with your ratings"))
        st.caption(_(_KAPPA_HELP) if cutoffs == Cutoffs() else f"{_(_KAPPA_HELP)} {_(_FITTED_CUTOFFS_NOTE)}")


def _format_kappa(one: Agreement) -> str:
    if one.kappa is None or one.low is None or one.high is None:
        return _("not enough ratings")
    interval = _("{least} to {most}").format(least=f"{one.low:.2f}", most=f"{one.high:.2f}")
    return f"**{one.kappa:.2f}** {labels.grey_text(interval)}"


_ALL_KINDS = "all"
_VISIBLE_ROWS = 14
_SELECTION_HINT = N_("Click a row, or go to it with the arrow keys, to compare its answer with the expected one.")
_LABEL_WORDS = {True: "right", False: "wrong", None: ""}

AnswerRow = tuple[EvaluationResult, AnswerVerdict]


def draw_answer_list(evaluation: Evaluation, variant: int) -> None:
    """Draw table and selected answer; runs as a fragment, so that selecting a row redraws nothing else."""
    st.header(_("Answers"), anchor=False)
    cutoffs = load_cutoffs()
    rows = [(result, answer_verdict(result, cutoffs)) for result in load_results(evaluation, variant)]
    left, right = st.columns([5, 3], gap="medium")
    with left:
        shown = _filter_rows(rows)
        if not shown:
            st.caption(_("No answers match."))
            return
        chosen = _draw_answer_table(evaluation, shown)
        draw_agreement(evaluation, variant)
    with right:
        if chosen is None:
            st.caption(_(_SELECTION_HINT))
        else:
            draw_answer(evaluation, *chosen)


def _filter_rows(rows: Sequence[AnswerRow]) -> list[AnswerRow]:
    """Draw the filters; return the rows of the chosen verdict whose question contains every search word."""
    counts = {kind: sum(one == kind for _unused, one in rows) for kind in metrics.VERDICT_BADGES}
    kinds = [_ALL_KINDS, *(kind for kind, count in counts.items() if count)]
    with st.container(gap="small"):
        kind = st.segmented_control(
            _("Filter answers"),
            kinds,
            default=_ALL_KINDS,
            required=True,
            format_func=lambda one: (
                _("All {rows}").format(rows=format_number(len(rows)))
                if one == _ALL_KINDS
                else _kind_label(one, counts[one])
            ),
            key=f"answers-of-{'-'.join(kinds)}",
            label_visibility="collapsed",
        )
        wanted = draw_search_field(_("Find a question"), "evaluate-search").casefold().split()
    return [
        (result, verdict)
        for result, verdict in rows
        if kind in (_ALL_KINDS, verdict) and all(word in result.example.question.casefold() for word in wanted)
    ]


def _kind_label(kind: AnswerVerdict, count: int) -> str:
    badge = metrics.VERDICT_BADGES[kind]
    return f":{badge.colour}[:material/{badge.icon}:] {badge.word} {count:,}"


def _draw_answer_table(evaluation: Evaluation, rows: Sequence[AnswerRow]) -> AnswerRow | None:
    """Draw the table and return the selected row."""
    # Streamlit keeps a selection by row number, so a changed list needs a new key or another row would be selected.
    names = tuple((result.variant, result.number, result.repetition) for result, _unused in rows)
    state: Any = st.dataframe(
        _table_columns(evaluation, rows),
        key=f"answers-{evaluation.id}-{hash(names)}",
        hide_index=True,
        placeholder="",
        on_select="rerun",
        selection_mode="single-cell",  # a row would be selected only by its small box
        height=layout.table_height(len(rows), _VISIBLE_ROWS),
        alt=_("Table of {answers}").format(answers=format_count(len(rows), "answer")),
        column_config=_column_config(),
    )
    chosen = [rows[row] for row, _unused in state.selection.cells if row < len(rows)]
    return chosen[0] if chosen else None


def _table_columns(evaluation: Evaluation, rows: Sequence[AnswerRow]) -> dict[str, list[Any]]:
    """Return the columns of the table: two on a phone, and no column without any value."""
    results = [result for result, _unused in rows]
    columns: dict[str, list[Any]] = {
        _("Answer"): [[metrics.VERDICT_BADGES[verdict].word] for _unused, verdict in rows],
        _("Question"): [sanitization.strip_invisible(result.example.question) for result in results],
    }
    if is_phone():
        return columns
    more: dict[str, list[Any]] = {
        _("Time"): [result.scored.seconds if result.state == "done" else None for result in results],
        _("Decision"): [_decision_word(result.scored.action) for result in results],
        _("Passages"): [result.scored.scores.get("recall") for result in results],
        _("You"): [_LABEL_WORDS[result.label] or None for result in results],
    }
    if evaluation.repetitions > 1:
        columns["No."] = [result.repetition for result in results]
    return columns | {name: values for name, values in more.items() if any(value is not None for value in values)}


def _decision_word(action: Action | None) -> str | None:
    return run_labels.ACTION_BADGES[action].word if action else None


def _column_config() -> dict[str, Any]:
    badges = metrics.VERDICT_BADGES.values()
    config = st.column_config
    return {
        _("Answer"): config.MultiselectColumn(
            options=[one.word for one in badges], color=[one.colour for one in badges], width=75
        ),
        _("Question"): config.TextColumn(width=160),
        _("No."): config.NumberColumn(width=35, help=_("Which repetition")),
        _("Decision"): config.TextColumn(width=150),
        _("Passages"): config.NumberColumn(format="percent", width=65, help=_(METRICS["recall"].meaning)),
        _("Time"): config.NumberColumn(_("Seconds"), format="%.2f", width=60),
        _("You"): config.TextColumn(width=50, help=_("Your rating")),
    }


def draw_evaluation(evaluation_id: str) -> None:
    """Draw an evaluation; one that was deleted or belongs to another user is reported as missing."""
    try:
        evaluation = application().evaluations.get(evaluation_id)
    except NotFound:
        st.title(_("This evaluation no longer exists"), anchor=False)
        st.caption(_("It was deleted, or it belongs to another browser. Choose another."))
        st.button(_("All evaluations"), icon=":material/arrow_back:", on_click=selection.show_overview)
        return
    result_head.draw_evaluation_head(evaluation)
    moving = evaluation.state in ACTIVE_STATES
    if len(evaluation.variants) > 1 and not moving:
        grid.draw_variant_table(evaluation, load_results(evaluation), load_cutoffs())
    variant = _choose_variant(evaluation, best_first=not moving)
    if moving:
        result_head.draw_progress(evaluation, variant)
        if evaluation.done:
            draw_folded(
                _("Answers so far"),
                f"answers-of-{evaluation.id}",
                lambda: draw_answer_list(evaluation, variant),
                type="compact",
            )
        return
    result_figures.draw_figures(evaluation, variant)
    if evaluation.done:
        _draw_answers(evaluation, variant)


def _choose_variant(evaluation: Evaluation, *, best_first: bool) -> int:
    """Return the number of the variant to show."""
    numbers = list(range(len(evaluation.variants)))
    if len(numbers) == 1:
        return 0
    if best_first:
        ranking = load_ranking(evaluation, load_results(evaluation), load_cutoffs())
        numbers = [one.number for one in ranking]
    return st.selectbox(
        _("Settings shown"),
        numbers,
        format_func=lambda number: results.variant_name(evaluation.variants[number]),
        key=f"variant-of-{evaluation.id}",
        width=420,
    )


def _draw_answers(evaluation: Evaluation, variant: int) -> None:
    """Draw the answers and the plots."""
    st.fragment(draw_answer_list)(evaluation, variant)
    results, cutoffs = load_results(evaluation), load_cutoffs()
    draw_folded(
        _("Plots"),
        f"plots-of-{evaluation.id}",
        lambda: result_figures.draw_plots(evaluation, variant, results, cutoffs),
        type="compact",
    )
