"""Heat maps of one metric over the settings of a grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from crag.evaluate.figures.metrics import METRICS
from crag.evaluate.figures.wording import figure_in_words, value_in_words
from crag.evaluate.grid import PASSAGE_SIZE
from crag.evaluate.values import Evaluation, Figure, Variant
from crag.evaluate.varying import settings_that_differ
from crag.preferences import CATALOG
from pages.evaluate.charts import heat_map
from pages.parts import settings

_ACROSS = ("k", PASSAGE_SIZE.name)  # numbers read best from left to right
_LEAST_DEPTH = 0.1
_MOST_BESIDE = 3

Figures = Mapping[int, Mapping[str, Figure]]


def draw(evaluation: Evaluation, figures: Figures, usual: str) -> None:
    """Draw the choice of a metric, `usual` by default, and its heat maps; runs as a fragment."""
    differing = settings_that_differ(evaluation.variants)
    if not differing:
        return
    across, down, beside = _layout(differing)
    st.header("One metric over the settings", anchor=False)
    shared = [name for name in METRICS if all(name in own for own in figures.values())]
    metric = st.selectbox(
        "Metric",
        shared,
        index=shared.index(usual),
        format_func=lambda name: METRICS[name].title,
        key=f"grid-metric-{evaluation.id}",
        width=280,
    )
    parts = _parts(evaluation.variants, figures, beside)
    st.caption(f"n = {_n(figures, metric)} questions in each cell. The best has an edge; deeper is better.")
    depths = _depths(figures, metric)
    columns = st.columns(min(len(parts), _MOST_BESIDE), gap="medium")
    for place, (title, numbers) in enumerate(parts.items()):
        with columns[place % _MOST_BESIDE]:
            cells = [
                _cell(evaluation.variants[number], figures[number][metric], depths[number], across, down)
                for number in numbers
            ]
            _draw_part(title, cells, metric, _title(across), _title(down) if down else "")


def _layout(differing: Mapping[str, Sequence[object]]) -> tuple[str, str, list[str]]:
    """Return the settings for columns, for rows (empty if none) and for separate maps."""
    names = sorted(differing, key=lambda name: (name not in _ACROSS, -len(differing[name])))
    across, *others = names
    return across, others[0] if others else "", others[1:]


def _parts(variants: Sequence[Variant], figures: Figures, beside: Sequence[str]) -> dict[str, list[int]]:
    """Return the variant numbers of each map, by the title that its variants share."""
    parts: dict[str, list[int]] = {}
    for number in sorted(figures):
        title = " · ".join(f"{_title(name)} {_word(variants[number], name).lower()}" for name in beside)
        parts.setdefault(title, []).append(number)
    return parts


def _n(figures: Figures, metric: str) -> str:
    """Return the number of questions behind the figures, as a range if it differs."""
    numbers = sorted({own[metric].n for own in figures.values()})
    return f"{numbers[0]:,}" if len(numbers) == 1 else f"{numbers[0]:,} to {numbers[-1]:,}"


def _depths(figures: Figures, metric: str) -> dict[int, float]:
    """Return colour depths by variant number; the best is 1, in the metric's direction."""
    values = {number: own[metric].value for number, own in figures.items()}
    low, high = min(values.values()), max(values.values())
    if low == high:
        return dict.fromkeys(values, _LEAST_DEPTH)
    worst, span = (low, high - low) if METRICS[metric].better == "higher" else (high, low - high)
    return {number: max(_LEAST_DEPTH, (value - worst) / span) for number, value in values.items()}


def _cell(variant: Variant, figure: Figure, depth: float, across: str, down: str) -> heat_map.Cell:
    value = value_in_words(figure.metric, figure.value)
    row = _word(variant, down) if down else METRICS[figure.metric].title
    told = f"{variant.name}: {figure_in_words(figure)}"
    return heat_map.Cell(row, _word(variant, across), value, depth, told, marked=depth == 1)


def _draw_part(title: str, cells: Sequence[heat_map.Cell], metric: str, across: str, down: str) -> None:
    if title:
        st.markdown(f"**{title}**")
    told = "; ".join(cell.told for cell in cells)
    heat_map.draw(cells, down, across, f"{METRICS[metric].title} by settings: {told}")


def _title(name: str) -> str:
    return PASSAGE_SIZE.title if name == PASSAGE_SIZE.name else CATALOG[name].title if name in CATALOG else name


def _word(variant: Variant, name: str) -> str:
    if name == PASSAGE_SIZE.name and not variant.options.passage_size:
        return "as it is"
    return settings.value_word(name, variant.options)
