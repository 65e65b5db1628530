"""Grid of settings: the values to try, and the figures of each combination."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from crag.errors import BadRequest
from crag.evaluate.figures.metrics import METRICS
from crag.evaluate.figures.wording import brief_in_words, interval_in_words
from crag.evaluate.grid import AXES, Axes, setting, variants
from crag.evaluate.pictures import trade_offs
from crag.evaluate.values import Cutoffs, Evaluation, Figure, Result, Variant
from crag.options import RunOptions
from pages.evaluate.comparison import sides
from pages.evaluate.grids import best, ranking
from pages.evaluate.grids import picture as grid_picture
from pages.parts import markdown, settings, tables, words
from pages.parts.device import is_phone
from pages.parts.resources import models

_NUMBERS = {"k": (1, 2, 3, 4, 6, 8, 10, 15, 20), "passage_size": (100, 150, 250, 400, 600, 1000)}
_SWITCH = {True: "On", False: "Off"}
_HELP = {"passage_size": "The documents are cut anew, into a library of their own. That takes a while."}
_MOST_ROWS = 14
_ENOUGH = 2

Figures = Mapping[int, Mapping[str, Figure]]


def draw_axes(base: RunOptions, questions: int) -> list[Variant]:
    """Draw the form of values to try; return a variant per combination, or none if nothing is chosen."""
    st.caption("Choose the values to try. Where none is chosen, what is set above holds.")
    chosen = {name: _draw_axis(name) for name in AXES if _is_offered(name)}
    try:
        axes = Axes({name: tuple(values) for name, values in chosen.items() if values})
    except BadRequest as refused:
        st.markdown(f":red[:material/error:] {markdown.label(f'{refused.message} {refused.remedy}')}")
        return []
    if not axes.values:
        return []
    answers = words.count(axes.combinations * questions, "answer")
    st.markdown(
        f"**{words.count(axes.combinations, 'combination')}** × {words.count(questions, 'question')} = {answers}"
    )
    return variants(base, axes)


def _is_offered(name: str) -> bool:
    """Return whether the setting is offered; a model is offered only if there is one besides the built-in engine."""
    return setting(name).kind != "model" or any(not model.builtin for model in models())


def _draw_axis(name: str) -> Sequence[Any]:
    """Draw one setting and return the chosen values."""
    axis, shown = setting(name), _words(name)
    title = f"{axis.title} model" if axis.kind == "model" else f"{axis.title}, {axis.unit}" if axis.unit else axis.title
    return st.pills(
        title,
        list(shown),
        selection_mode="multi",
        format_func=shown.__getitem__,
        key=f"grid-{name}",
        help=_HELP.get(name),
    )


def _words(name: str) -> Mapping[Any, str]:
    """Return the offered values of a setting with their labels."""
    match setting(name).kind:
        case "number":
            return {value: f"{value:,}" for value in _NUMBERS[name]}
        case "switch":
            return _SWITCH
        case "model":
            offered = [model.name for model in models() if name == "model" or not model.builtin]
            return {model: markdown.label(settings.model_word(name, model), 60) for model in offered}
    return {value: word for value, (word, _) in settings.CHOICES[name].items()}


def draw_table(evaluation: Evaluation, results: Sequence[Result], cutoffs: Cutoffs) -> None:
    """Draw all variants, best first, the form that saves the best one, and the heat maps."""
    figures = {
        one.number: one.summary.figures for one in ranking.ranked(evaluation, results, cutoffs) if one.summary.figures
    }
    metric = trade_offs.accuracy([*figures.values()])
    if not metric:
        st.caption("Nothing was measured by which the settings could be told apart.")
        return
    st.header(f"Settings by {METRICS[metric].title.lower()}", anchor=False)
    st.caption("The best first, of equals the quickest. Each with the interval that 95% of bootstrap samples lie in.")
    selected = _draw_rows(evaluation, figures, metric)
    if len(selected) < _ENOUGH:
        st.caption("Choose two or more to compare them.")
    else:
        st.button(
            f"Compare these {len(selected)}",
            icon=":material/compare_arrows:",
            key="compare-variants",
            on_click=sides.choose,
            args=([f"{evaluation.id}.{number}" for number in selected],),
        )
    best.draw(evaluation, results, cutoffs)
    st.fragment(grid_picture.draw)(evaluation, figures, metric)


def _draw_rows(evaluation: Evaluation, figures: Figures, metric: str) -> list[int]:
    """Draw the table and return the numbers of the selected variants."""
    numbers = list(figures)
    state: Any = st.dataframe(
        _columns(evaluation, figures, metric),
        key=f"grid-{evaluation.id}",
        hide_index=True,
        on_select="rerun",
        selection_mode="multi-row",
        height=tables.height(len(numbers), _MOST_ROWS),
        alt=f"Table of {words.count(len(numbers), 'setting')} by {METRICS[metric].title.lower()}",
        column_config={
            "Place": st.column_config.NumberColumn(width=50),
            "Settings": st.column_config.TextColumn(width=135 if is_phone() else 300),
            METRICS[metric].title: (
                st.column_config.TextColumn(width=185)
                if is_phone()
                else st.column_config.NumberColumn(format="%.1f%%", width=100)
            ),
            "n": st.column_config.NumberColumn(width=50),
            "Seconds": st.column_config.NumberColumn(format="%.2f", width=75),
            "Tokens": st.column_config.NumberColumn(format="%d", width=75),
        },
    )
    return [numbers[row] for row in state.selection.rows if row < len(numbers)]


def _columns(evaluation: Evaluation, figures: Figures, metric: str) -> dict[str, list[Any]]:
    """Return the columns of the table: two on a phone, and tokens only if any were counted."""
    own = [figures[number][metric] for number in figures]
    names = [markdown.visible(evaluation.variants[number].name) for number in figures]
    if is_phone():
        return {"Settings": names, METRICS[metric].title: [brief_in_words(figure) for figure in own]}
    columns: dict[str, list[Any]] = {
        "Place": list(range(1, len(own) + 1)),
        "Settings": names,
        METRICS[metric].title: [100 * figure.value for figure in own],
        "95%": [interval_in_words(figure) for figure in own],
        "n": [figure.n for figure in own],
        "Seconds": _costs(figures, "seconds"),
        "Tokens": _costs(figures, "tokens"),
    }
    return {name: values for name, values in columns.items() if name != "Tokens" or any(values)}


def _costs(figures: Figures, metric: str) -> list[float | None]:
    return [own[metric].value if metric in own else None for own in figures.values()]
