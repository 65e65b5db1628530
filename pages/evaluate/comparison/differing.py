"""Differences in settings, models, library and version between compared variants."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from crag.evaluate.exports.settings import setting_rows
from pages.evaluate.comparison.sides import Side
from pages.parts import markdown


def draw(compared: Sequence[Side], names: Sequence[str]) -> None:
    """Draw a table of different values; identical ones are collapsed."""
    rows = setting_rows([side.variant for side in compared])
    different = [(row.title, row.values) for row in rows if len(row.values) > 1]
    same = [(row.title, row.values) for row in rows if len(row.values) == 1]
    st.header("Settings and environment", anchor=False)
    if different:
        st.markdown(_table(names, different))
    else:
        st.caption("They ran under the same settings, models, documents and version.")
    with st.expander(f"The same in all: {len(same)}", type="compact", key="same-settings"):
        st.markdown(_table(["all"], same))


def _table(names: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]]) -> str:
    head = f"| | {' | '.join(names)} |\n|---|{'---|' * len(names)}"
    lines = (
        f"| {title} | {' | '.join(markdown.label(value, 80) or '–' for value in values)} |" for title, values in rows
    )
    return "\n".join([head, *lines])
