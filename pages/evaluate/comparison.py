"""Comparison of variants: differences with intervals, changed answers, different settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_uppercase

import streamlit as st

from crag.evaluation import chart_data
from crag.evaluation.exports import setting_rows
from crag.evaluation.metrics import (
    DIFFERENT_JUDGES_NOTE,
    METRICS,
    assess_change,
    format_change,
    format_change_interval,
    format_metric_value,
    format_score_change,
)
from crag.evaluation.summary import Comparison
from crag.evaluation.types import ChangedExample, EvaluationResult, Example, MetricDifference
from crag.text.formatting import format_count, format_number
from crag.translation import N_, _, format_list
from pages.chat.versions import open_comparison
from pages.evaluate import charts, results, selection
from pages.evaluate.results import ComparedVariant, variant_key, variant_title
from pages.parts import labels, markdown
from pages.parts.services import application
from pages.parts.session import is_phone

_MAX_SHOWN = 10
_CHANGE_TITLES = {"broken": N_("Worse"), "fixed": N_("Better")}
_CHANGE_ICONS = {"broken": ":red[:material/cancel:]", "fixed": ":green[:material/check_circle:]"}

NamePair = tuple[str, str]


def draw_changed_questions(
    variants: tuple[ComparedVariant, ComparedVariant], names: NamePair, comparison: Comparison
) -> None:
    """Draw the questions that broke and those that were fixed in two columns; runs as a fragment."""
    runs = {result.run_id: result for side in variants for result in side.results}
    for column, (kind, title) in zip(st.columns(2, gap="medium"), _CHANGE_TITLES.items(), strict=True):
        found = [one for one in comparison.changed if one.what == kind]
        with column:
            st.header(
                _("{title}: {found} of {examples} questions").format(
                    title=_(title), found=format_number(len(found)), examples=format_number(comparison.examples)
                ),
                anchor=False,
            )
            _draw_questions_of_kind(kind, found, names, runs)


def _draw_questions_of_kind(
    kind: str, found: Sequence[ChangedExample], names: NamePair, runs: Mapping[str, EvaluationResult]
) -> None:
    if not found:
        st.caption(_("None."))
    shown = found if st.session_state.get(_show_all_key(kind)) else found[:_MAX_SHOWN]
    for one in shown:
        _draw_changed_question(kind, one, names, runs)
    if len(shown) < len(found):
        st.button(
            _("Show all {found}").format(found=format_number(len(found))),
            icon=":material/expand_more:",
            type="tertiary",
            on_click=_show_all,
            args=(kind,),
        )


def _draw_changed_question(
    kind: str, one: ChangedExample, names: NamePair, runs: Mapping[str, EvaluationResult]
) -> None:
    """Draw the question, both answers, the expected answer and the three links."""
    with st.container(border=True, gap="small"):
        st.markdown(
            f"{_CHANGE_ICONS[kind]} **{markdown.escape_line(one.example.question, 200)}**{_describe_shares(one)}"
        )
        for name, run_id in zip(names, (one.before_run, one.after_run), strict=True):
            st.markdown(f":small[:gray[{name}] {_describe_answer(runs.get(run_id))}]")
        if expected := _describe_expected(one.example):
            st.markdown(_(":small[:gray[Right] {expected}]").format(expected=expected))
        with st.container(horizontal=True, gap="small"):
            for name, run_id in zip(names, (one.before_run, one.after_run), strict=True):
                if _draw_link_button(
                    _("Trace of {name}").format(name=name), ":material/account_tree:", f"{one.example.key}-{run_id}"
                ):
                    selection.open_run_in_inspect(run_id)
            if _draw_link_button(_("Compare both"), ":material/compare_arrows:", f"{one.example.key}-both"):
                open_comparison(one.before_run, one.after_run)


def _draw_link_button(word: str, icon: str, key: str) -> bool:
    return st.button(word, icon=icon, type="tertiary", key=f"changed-{key}")


def _describe_shares(one: ChangedExample) -> str:
    """Return the mean scores over repetitions; empty if all repetitions score the same."""
    if {one.before, one.after} <= {-1.0, 0.0, 1.0}:
        return ""
    return f" {labels.grey_text(_('on average {score_change}').format(score_change=format_score_change(one)))}"


def _describe_expected(example: Example) -> str:
    if example.answerable is False:
        return _("declining: the documents do not answer this")
    if known := example.references or example.must_mention:
        return markdown.escape_line(format_list(known, "or"), 160)
    passages = format_list((*example.sources, *example.phrases), "and")
    return _("to find: {passages}").format(passages=markdown.escape_line(passages, 160)) if passages else ""


def _describe_answer(result: EvaluationResult | None) -> str:
    if result is None:
        return "–"
    if result.state != "done":
        return f"failed: {markdown.escape_line(result.error, 160)}"
    return "declined" if result.scored.outcome == "not_answered" else markdown.escape_line(result.scored.answer, 200)


def _show_all_key(kind: str) -> str:
    return f"all-{kind}"


def _show_all(kind: str) -> None:
    st.session_state[_show_all_key(kind)] = True


def draw_setting_differences(compared: Sequence[ComparedVariant], names: Sequence[str]) -> None:
    """Draw a table of different values; identical ones are collapsed."""
    rows = setting_rows([side.variant for side in compared])
    different = [(row.title, row.values) for row in rows if len(row.values) > 1]
    same = [(row.title, row.values) for row in rows if len(row.values) == 1]
    st.header(_("Settings and environment"), anchor=False)
    if different:
        st.markdown(_settings_table(names, different))
    else:
        st.caption(_("Same settings, models, documents and version."))
    with st.expander(_("Same in all: {same}").format(same=len(same)), type="compact", key="same-settings"):
        st.markdown(_settings_table(["all"], same))


def _settings_table(names: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]]) -> str:
    head = f"| {_('Settings')} | {' | '.join(names)} |\n|---|{'---|' * len(names)}"
    lines = (
        f"| {title} | {' | '.join(markdown.escape_line(value, 80) or '–' for value in values)} |"
        for title, values in rows
    )
    return "\n".join([head, *lines])


_TREND_ICONS = {"better": ":green[:material/trending_up:]", "worse": ":red[:material/trending_down:]"}
_MIN_VARIANTS = 2


def draw_comparison(compared: Sequence[ComparedVariant]) -> None:
    """Draw the comparison of the first variant with the others, and the choice of variants."""
    _draw_variant_selection(compared)
    if len(compared) < _MIN_VARIANTS:
        st.caption(_("Choose another evaluation to compare with this one."))
        return
    if len({side.evaluation.digest for side in compared}) > 1:
        st.markdown(_(":orange[:material/info:] They use different questions. Only the shared ones are compared."))
    names = selection.assign_letters(compared)
    if len(compared) > _MIN_VARIANTS:
        _draw_all_variants(compared, names)
    other = _choose_other_variant(compared[1:], names)
    comparison = results.load_comparison(compared[0], other)
    if not comparison.examples:
        st.caption(_("They share no questions, so there is nothing to compare."))
        return
    _draw_differences(comparison, ("A", names[other.key]))
    draw_setting_differences(compared, list(names.values()))
    st.fragment(draw_changed_questions)((compared[0], other), ("A", names[other.key]), comparison)


_ADDED_VARIANT_KEY = "added-side"
_OFFERED_EVALUATIONS = 50


def _draw_variant_selection(compared: Sequence[ComparedVariant]) -> None:
    """Draw the compared variants in order, and a field that adds another one."""
    keys = [side.key for side in compared]
    with st.container(gap="xsmall"):
        for side, letter in zip(compared, ascii_uppercase, strict=False):
            _draw_compared_variant(side, letter, keys)
    latest = [one for one in application().evaluations.list(_OFFERED_EVALUATIONS) if one.done]
    offered = {
        variant_key(one, number): variant_title(one, number) for one in latest for number in range(len(one.variants))
    }
    others = {key: name for key, name in offered.items() if key not in keys}
    if others and len(keys) < selection.MAX_COMPARED:
        st.selectbox(
            _("Add to the comparison"),
            list(others),
            index=None,
            format_func=others.__getitem__,
            placeholder=_("Add another"),
            key=_ADDED_VARIANT_KEY,
            on_change=lambda: selection.select_variants([*keys, st.session_state.pop(_ADDED_VARIANT_KEY)]),
            label_visibility="collapsed",
            width=420,
        )


def _draw_compared_variant(side: ComparedVariant, letter: str, keys: Sequence[str]) -> None:
    """Draw one variant under its letter; the first one is the baseline."""
    others = [key for key in keys if key != side.key]
    first = side.key == keys[0]
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        name = markdown.escape_line(variant_title(side.evaluation, side.number), 160)
        st.markdown(f"**{letter}** {name}{' :gray-badge[baseline]' if first else ''}", width="content")
        with st.container(horizontal=True, gap="small", width="content"):
            if not first:
                _draw_selection_button(
                    _("Make baseline"), ":material/vertical_align_top:", side.key, [side.key, *others]
                )
            if len(keys) > 2:
                _draw_selection_button(_("Remove"), ":material/close:", side.key, others)


def _draw_selection_button(word: str, icon: str, key: str, keys: Sequence[str]) -> None:
    st.button(word, icon=icon, type="tertiary", key=f"{word}-{key}", on_click=selection.select_variants, args=(keys,))


def _choose_other_variant(others: Sequence[ComparedVariant], names: dict[str, str]) -> ComparedVariant:
    """Return the variant to compare with the first."""
    if len(others) == 1:
        return others[0]
    by_key = {side.key: side for side in others}
    chosen = st.segmented_control(
        _("Compared"),
        list(by_key),
        default=others[0].key,
        required=True,
        format_func=lambda key: _("{names} against A").format(names=names[key]),
        key=f"compared-{'-'.join(by_key)}",
    )
    return by_key[chosen]


def _draw_all_variants(compared: Sequence[ComparedVariant], names: dict[str, str]) -> None:
    """Draw a table of all metrics of all variants, and accuracy against time."""
    figures = [results.load_summary(side.evaluation, side.number).figures for side in compared]
    left, right = st.columns(2, gap="medium")
    with left:
        st.header(_("All metrics"), anchor=False)
        st.caption(_("n is the number of questions behind each figure."))
        shown = [name for name in METRICS if any(name in own and own[name].value for own in figures)]
        head = f"| {_('Figure')} | {' | '.join(names.values())} |\n|---|{'--:|' * len(figures)}"
        cells = (
            [
                f"{format_metric_value(name, own[name].value)} "
                f"{labels.grey_text(labels.non_breaking(f'n {own[name].n:,}'))}"
                if name in own
                else "–"
                for own in figures
            ]
            for name in shown
        )
        rows = (f"| {_(METRICS[name].title)} | {' | '.join(row)} |" for name, row in zip(shown, cells, strict=True))
        st.markdown("\n".join([head, *rows]))
    metric = chart_data.choose_accuracy_metric(figures)
    points = chart_data.trade_off_points(dict(enumerate(figures)), metric) if metric else []
    if len(points) >= _MIN_VARIANTS:
        with right:
            st.header(_("{title} against time").format(title=_(METRICS[metric].title)), anchor=False)
            st.caption(_("With 95% intervals. The dashed line joins the settings that no other beats."))
            charts.draw_trade_off(points, dict(enumerate(names.values())), metric)


def _draw_differences(comparison: Comparison, names: tuple[str, str]) -> None:
    """Draw the differences in words, as charts and as a table."""
    # A metric that is 0 in both variants, such as tokens without a model, says nothing.
    differences = [one for one in comparison.differences if one.before or one.after]
    st.header(_("What differs from {names} to {names2}").format(names=names[0], names2=names[1]), anchor=False)
    st.markdown(_summarize_differences(differences))
    if comparison.unjudged:
        st.markdown(f":orange[:material/info:] {DIFFERENT_JUDGES_NOTE}")
    shares = [one for one in differences if METRICS[one.metric].unit == "share"]
    if shares:
        charts.draw_whiskers([_make_whisker(one, 1.0) for one in shares], _("difference in percentage points"), "")
    costs = [one for one in differences if METRICS[one.metric].unit != "share" and one.before > 0]
    if costs:  # time and tokens, relative to the baseline
        charts.draw_whiskers([_make_whisker(one, one.before) for one in costs], _("difference relative to before"), "%")
    st.markdown(_difference_table(differences, names))
    st.caption(
        _(
            "Based on {questions} in both. A difference is clear when its 95% interval (bootstrap) "
            "excludes 0. About one in twenty equal metrics seems clear by chance."
        ).format(questions=format_count(comparison.examples, "question"))
    )


def _summarize_differences(differences: Sequence[MetricDifference]) -> str:
    """Return clear differences by direction, then the unclear ones, as Markdown."""
    lines = []
    for kind, sign in _TREND_ICONS.items():
        clear = [one for one in differences if assess_change(one) == kind]
        if clear:
            told = ", ".join(f"**{_(METRICS[one.metric].title)}** {format_change(one)}" for one in clear)
            lines.append(_("{sign} Clearly {kind}: {told}").format(sign=sign, kind=kind, told=told))
    unclear = [_(METRICS[one.metric].title) for one in differences if not one.is_clear]
    if unclear:
        lines.append(
            _(":gray[:material/trending_flat:] No clear difference: {unclear}").format(unclear=", ".join(unclear))
        )
    return "  \n".join(lines)


def _make_whisker(one: MetricDifference, whole: float) -> charts.Whisker:
    change = (one.after - one.before) / whole
    told = f"{format_change(one)} ({format_change_interval(one)}, n = {one.n:,})"
    return charts.Whisker(
        _(METRICS[one.metric].title), change, one.low / whole, one.high / whole, assess_change(one), told
    )


def _difference_table(differences: Sequence[MetricDifference], names: tuple[str, str]) -> str:
    if is_phone():
        head = _("| {figure} | {names} → {names2} | difference, 95%, n |\n|---|---|---|").format(
            figure=_("Figure"), names=names[0], names2=names[1]
        )
        return "\n".join([head, *map(_narrow_difference_row, differences)])
    head = _("| {figure} | {names} | {names2} | difference | 95% | n |\n|---|--:|--:|--:|--:|--:|").format(
        figure=_("Figure"), names=names[0], names2=names[1]
    )
    return "\n".join([head, *map(_difference_row, differences)])


def _difference_row(one: MetricDifference) -> str:
    before, after = format_metric_value(one.metric, one.before), format_metric_value(one.metric, one.after)
    interval = labels.small_text(labels.non_breaking(format_change_interval(one, with_unit=False)))
    return f"| {_(METRICS[one.metric].title)} | {before} | {after} | {_format_change(one)} | {interval} | {one.n:,} |"


def _narrow_difference_row(one: MetricDifference) -> str:
    """Return a difference as a table row of three cells, for a phone."""
    before, after = format_metric_value(one.metric, one.before), format_metric_value(one.metric, one.after)
    rest = labels.small_text(f"{format_change_interval(one)}, n = {one.n:,}")
    return f"| {_(METRICS[one.metric].title)} | {before} → {after} | {_format_change(one)} {rest} |"


def _format_change(one: MetricDifference) -> str:
    """Return the change, in bold and with an icon if it is clear."""
    told = labels.non_breaking(format_change(one))
    return f"**{told}** {_TREND_ICONS[assess_change(one)]}" if one.is_clear else told
