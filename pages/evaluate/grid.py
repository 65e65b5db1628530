"""Grid of settings: axes, ranked variants, best variant and heat maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from crag.errors import BadRequest
from crag.evaluation import chart_data
from crag.evaluation.grid import (
    SUGGESTED_AXES,
    BestVariant,
    GridAxes,
    find_differing_options,
    make_system_variants,
    make_variants,
)
from crag.evaluation.metrics import METRICS, format_figure, format_figure_briefly, format_interval, format_metric_value
from crag.evaluation.types import Cutoffs, Evaluation, EvaluationResult, Figure, Variant
from crag.inspection.run_labels import format_option_value
from crag.options import OPTIONS, Option, RunOptions, get_option
from crag.reference_systems import find_system
from crag.text.formatting import format_count, format_number
from crag.translation import N_, _, join_texts
from pages.evaluate import charts, selection
from pages.evaluate.results import load_best_variant, load_ranking, variant_name
from pages.parts import layout, markdown, option_controls
from pages.parts.services import application, available_models
from pages.parts.session import is_phone

_PRESET_NAME_KEY = "best_preset"
_MAX_NAMED_RIVALS = 3


def draw_best_variant(evaluation: Evaluation, results: Sequence[EvaluationResult], cutoffs: Cutoffs) -> None:
    """Draw the best variant, its certainty and the form that saves it as a preset, unless it is a reference system."""
    best = load_best_variant(evaluation, results, cutoffs)
    if best is None:
        return
    st.markdown(
        _(":material/trophy: Best: **{name}**. {certainty}").format(
            name=markdown.escape_line(variant_name(best.variant), 120), certainty=_describe_certainty(best, evaluation)
        )
    )
    if find_system(best.variant.options):
        return
    with (
        st.form(f"save-best-{evaluation.id}", border=False),
        st.container(horizontal=True, vertical_alignment="bottom"),
    ):
        st.text_input(_("Save the best as a preset named"), max_chars=60, key=_PRESET_NAME_KEY, width=320)
        st.form_submit_button(_("Save"), icon=":material/bookmark_add:", on_click=_save_as_preset, args=(best.variant,))
    st.caption(_describe_unsaved(best.variant))


def _describe_certainty(best: BestVariant, evaluation: Evaluation) -> str:
    """Say whether the best variant is clearly better, and name its rivals if not."""
    others = len(evaluation.variants) - 1
    if best.is_clear:
        return _("It is clearly better than {others}.").format(others=format_count(others, "other"))
    if len(best.rivals) == others:
        return _("Not clearly better than {value}.").format(
            value=_("the other") if others == 1 else _("any of the {others} others").format(others=others)
        )
    named = [f"*{markdown.escape_line(variant_name(rival), 80)}*" for rival in best.rivals[:_MAX_NAMED_RIVALS]]
    more = len(best.rivals) - len(named)
    told = ", ".join(named)
    told = _("{names} and {more} more").format(names=told, more=more) if more else told
    return _("Not clearly better than {rivals} of {others} others: {told}.").format(
        rivals=len(best.rivals), others=others, told=told
    )


def _describe_unsaved(variant: Variant) -> str:
    """Say what a preset does not save, with the passage size that was tried."""
    size = variant.options.passage_size
    tried = (
        _("The passage size of {tokens} used here **is not saved**.").format(tokens=format_count(size, "token"))
        if size
        else ""
    )
    unsaved = _(
        "A preset saves how questions are answered. It does not save the choice of documents, "
        "the thresholds or the passage size."
    )
    return join_texts(unsaved, tried)


def _save_as_preset(variant: Variant) -> None:
    name = st.session_state[_PRESET_NAME_KEY] or ""
    application().preferences.save_preset(name, variant.options)
    st.toast(
        _("Saved: “{name}”. Use it in Settings or in a chat.").format(name=markdown.escape_line(name, 60)),
        icon=":material/bookmark:",
    )


_MIN_DEPTH = 0.1
_MAX_COLUMNS = 3

HeatMapFigures = Mapping[int, Mapping[str, Figure]]


def draw_grid_heat_maps(evaluation: Evaluation, figures: HeatMapFigures, usual: str) -> None:
    """Draw the choice of a metric, `usual` by default, and its heat maps; runs as a fragment."""
    differing = find_differing_options(evaluation.variants)
    if not differing or "preset" in differing:
        return
    across, down, beside = _choose_map_axes(differing)
    st.header(_("One metric by setting"), anchor=False)
    shared = [name for name in METRICS if all(name in own for own in figures.values())]
    metric = st.selectbox(
        _("Metric"),
        shared,
        index=shared.index(usual),
        format_func=lambda name: _(METRICS[name].title),
        key=f"grid-metric-{evaluation.id}",
        width=280,
    )
    parts = _group_by_map(evaluation.variants, figures, beside)
    st.caption(
        _("n = {count_questions} questions in each cell. Darker is better; the best is outlined.").format(
            count_questions=_count_questions(figures, metric)
        )
    )
    depths = _cell_depths(figures, metric)
    columns = st.columns(min(len(parts), _MAX_COLUMNS), gap="medium")
    for place, (title, numbers) in enumerate(parts.items()):
        with columns[place % _MAX_COLUMNS]:
            cells = [
                _make_cell(evaluation.variants[number], figures[number][metric], depths[number], across, down)
                for number in numbers
            ]
            _draw_map(title, cells, metric, OPTIONS[across].label, OPTIONS[down].label if down else "")


def _choose_map_axes(differing: Mapping[str, Sequence[object]]) -> tuple[str, str, list[str]]:
    """Return the settings for columns, for rows (empty if none) and for separate maps."""
    # Numbers read best from left to right.
    names = sorted(differing, key=lambda name: (OPTIONS[name].kind != "number", -len(differing[name])))
    across, *others = names
    return across, others[0] if others else "", others[1:]


def _group_by_map(variants: Sequence[Variant], figures: HeatMapFigures, beside: Sequence[str]) -> dict[str, list[int]]:
    """Return the variant numbers of each map, by the title that its variants share."""
    parts: dict[str, list[int]] = {}
    for number in sorted(figures):
        title = " · ".join(f"{OPTIONS[name].label} {_format_value(variants[number], name).lower()}" for name in beside)
        parts.setdefault(title, []).append(number)
    return parts


def _count_questions(figures: HeatMapFigures, metric: str) -> str:
    """Return the number of questions behind the figures, as a range if it differs."""
    numbers = sorted({own[metric].n for own in figures.values()})
    least, most = format_number(numbers[0]), format_number(numbers[-1])
    return least if least == most else _("{least} to {most}").format(least=least, most=most)


def _cell_depths(figures: HeatMapFigures, metric: str) -> dict[int, float]:
    """Return colour depths by variant number; the best is 1, in the metric's direction."""
    values = {number: own[metric].value for number, own in figures.items()}
    low, high = min(values.values()), max(values.values())
    if low == high:
        return dict.fromkeys(values, _MIN_DEPTH)
    worst, span = (low, high - low) if METRICS[metric].better == "higher" else (high, low - high)
    return {number: max(_MIN_DEPTH, (value - worst) / span) for number, value in values.items()}


def _format_value(variant: Variant, name: str) -> str:
    return format_option_value(name, get_option(variant.options, name))


def _make_cell(variant: Variant, figure: Figure, depth: float, across: str, down: str) -> charts.HeatMapCell:
    value = format_metric_value(figure.metric, figure.value)
    row = _format_value(variant, down) if down else _(METRICS[figure.metric].title)
    told = f"{variant_name(variant)}: {format_figure(figure)}"
    return charts.HeatMapCell(row, _format_value(variant, across), value, depth, told, marked=depth == 1)


def _draw_map(title: str, cells: Sequence[charts.HeatMapCell], metric: str, across: str, down: str) -> None:
    if title:
        st.markdown(f"**{markdown.escape_line(title)}**")
    told = "; ".join(cell.told for cell in cells)
    charts.draw_heat_map(
        cells, down, across, _("{title} by settings: {told}").format(title=_(METRICS[metric].title), told=told)
    )


_SWITCH_LABELS = {True: N_("On"), False: N_("Off")}
_VISIBLE_ROWS = 14
_MIN_TO_COMPARE = 2

FiguresByVariant = Mapping[int, Mapping[str, Figure]]


def draw_axes(base: RunOptions) -> list[Variant]:
    """Draw the form of values to try; return a variant per combination, or none if nothing is chosen.

    The reference systems are a grid of their own.
    """
    if st.toggle(_("Reference systems"), key="grid-systems", help=_("Your settings beside seven published systems.")):
        return make_system_variants(base)
    st.caption(_("Choose the values to try. Settings without a choice keep the value set above."))
    chosen = {name: _draw_axis(name) for name in SUGGESTED_AXES if _is_axis_offered(name)}
    try:
        axes = GridAxes({name: tuple(values) for name, values in chosen.items() if values})
    except BadRequest as refused:
        st.markdown(f":red[:material/error:] {markdown.escape_line(f'{refused.message} {refused.remedy}')}")
        return []
    if not axes.values:
        return []
    return make_variants(base, axes)


def _is_axis_offered(name: str) -> bool:
    """Return whether the setting is offered; a model is offered only if there is one besides the built-in engine."""
    return OPTIONS[name].kind != "model" or any(not model.builtin for model in available_models())


def _draw_axis(name: str) -> Sequence[Any]:
    """Draw one setting and return the chosen values."""
    shown = _value_labels(OPTIONS[name])
    return st.pills(
        OPTIONS[name].heading,
        list(shown),
        selection_mode="multi",
        format_func=shown.__getitem__,
        key=f"grid-{name}",
        help=_(OPTIONS[name].help),
    )


def _value_labels(axis: Option) -> Mapping[Any, str]:
    """Return the offered values of an option with their labels."""
    match axis.kind:
        case "number":
            return {value: f"{value:,}" for value in axis.offered or ()}
        case "switch":
            return {value: _(label) for value, label in _SWITCH_LABELS.items()}
        case "model":
            offered = [model.name for model in available_models() if axis.name == "model" or not model.builtin]
            return {
                model: markdown.escape_line(option_controls.format_model(axis.name, model), 60) for model in offered
            }
    return {value: _(label) for value, (label, _meaning) in axis.values.items()}


def draw_variant_table(evaluation: Evaluation, results: Sequence[EvaluationResult], cutoffs: Cutoffs) -> None:
    """Draw all variants, best first, the form that saves the best one, and the heat maps."""
    figures = {
        one.number: one.summary.figures for one in load_ranking(evaluation, results, cutoffs) if one.summary.figures
    }
    metric = chart_data.choose_accuracy_metric([*figures.values()])
    if not metric:
        st.caption(_("No metric differs between these settings."))
        return
    st.header(_("Settings by {title}").format(title=_(METRICS[metric].title).lower()), anchor=False)
    st.caption(_("Best first, then fastest. With 95% intervals (bootstrap)."))
    selected = _draw_variant_rows(evaluation, figures, metric)
    if len(selected) < _MIN_TO_COMPARE:
        st.caption(_("Choose two or more to compare them."))
    else:
        st.button(
            _("Compare these {selected}").format(selected=len(selected)),
            icon=":material/compare_arrows:",
            key="compare-variants",
            on_click=selection.select_variants,
            args=([f"{evaluation.id}.{number}" for number in selected],),
        )
    draw_best_variant(evaluation, results, cutoffs)
    st.fragment(draw_grid_heat_maps)(evaluation, figures, metric)


def _draw_variant_rows(evaluation: Evaluation, figures: FiguresByVariant, metric: str) -> list[int]:
    """Draw the table and return the numbers of the selected variants."""
    numbers = list(figures)
    state: Any = st.dataframe(
        _table_columns(evaluation, figures, metric),
        key=f"grid-{evaluation.id}",
        hide_index=True,
        on_select="rerun",
        selection_mode="multi-row",
        height=layout.table_height(len(numbers), _VISIBLE_ROWS),
        alt=_("Table of {settings} by {title}").format(
            settings=format_count(len(numbers), "setting"), title=_(METRICS[metric].title).lower()
        ),
        column_config={
            _("Rank"): st.column_config.NumberColumn(width=50),
            _("Settings"): st.column_config.TextColumn(width=135 if is_phone() else 300),
            _(METRICS[metric].title): (
                st.column_config.TextColumn(width=185)
                if is_phone()
                else st.column_config.NumberColumn(format="%.1f%%", width=100)
            ),
            "n": st.column_config.NumberColumn(width=50),
            _("Seconds"): st.column_config.NumberColumn(format="%.2f", width=75),
            _("Tokens"): st.column_config.NumberColumn(format="%d", width=75),
        },
    )
    return [numbers[row] for row in state.selection.rows if row < len(numbers)]


def _table_columns(evaluation: Evaluation, figures: FiguresByVariant, metric: str) -> dict[str, list[Any]]:
    """Return the columns of the table: two on a phone, and tokens only if any were counted."""
    own = [figures[number][metric] for number in figures]
    names = [variant_name(evaluation.variants[number]) for number in figures]
    if is_phone():
        return {_("Settings"): names, _(METRICS[metric].title): [format_figure_briefly(figure) for figure in own]}
    columns: dict[str, list[Any]] = {
        _("Rank"): list(range(1, len(own) + 1)),
        _("Settings"): names,
        _(METRICS[metric].title): [100 * figure.value for figure in own],
        "95%": [format_interval(figure) for figure in own],
        "n": [figure.n for figure in own],
        _("Seconds"): _metric_values(figures, "seconds"),
        _("Tokens"): _metric_values(figures, "tokens"),
    }
    return {name: values for name, values in columns.items() if name != "Tokens" or any(values)}


def _metric_values(figures: FiguresByVariant, metric: str) -> list[float | None]:
    return [own[metric].value if metric in own else None for own in figures.values()]
