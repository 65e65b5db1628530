"""One metric over the settings that a grid tried: a heat map, or several beside each other."""

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

_ACROSS = ("k", PASSAGE_SIZE.name)  # amounts, which lie best along a line
_LEAST_DEPTH = 0.1
_MOST_BESIDE = 3

Figures = Mapping[int, Mapping[str, Figure]]


def draw(evaluation: Evaluation, figures: Figures, usual: str) -> None:
    """A fragment: the metric is chosen, first the `usual` one; cells hold its value, the best has an edge."""
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
    """What lies along the columns and the rows of a map, and by what there are several maps."""
    names = sorted(differing, key=lambda name: (name not in _ACROSS, -len(differing[name])))
    across, *others = names
    return across, others[0] if others else "", others[1:]


def _parts(variants: Sequence[Variant], figures: Figures, beside: Sequence[str]) -> dict[str, list[int]]:
    """The numbers of the variants in each map, by what is the same in it."""
    parts: dict[str, list[int]] = {}
    for number in sorted(figures):
        title = " · ".join(f"{_title(name)} {_word(variants[number], name).lower()}" for name in beside)
        parts.setdefault(title, []).append(number)
    return parts


def _n(figures: Figures, metric: str) -> str:
    """How many questions the figures rest on, the least and the most where that differs."""
    numbers = sorted({own[metric].n for own in figures.values()})
    return f"{numbers[0]:,}" if len(numbers) == 1 else f"{numbers[0]:,} to {numbers[-1]:,}"


def _depths(figures: Figures, metric: str) -> dict[int, float]:
    """From the worst to the best, which is 1."""
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
