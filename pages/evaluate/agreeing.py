"""How far the scorers agree with what people said of the same answers."""

from __future__ import annotations

import streamlit as st

from crag.evaluate.agreement import Agreement, agreement
from crag.evaluate.values import Evaluation
from pages.evaluate import reading
from pages.parts import markdown

_MEANING = "Cohen's kappa leaves out what agrees by chance: 1 is full agreement, 0 none beyond chance."


def draw(evaluation: Evaluation, variant: int) -> None:
    """A row for each scorer; nothing before anything was said."""
    found = agreement(reading.results(evaluation, variant), reading.cutoffs(evaluation))
    if found:
        lines = ["| Against your words | agrees | kappa | n |", "|---|--:|--:|--:|", *map(_row, found)]
        st.markdown("\n".join(lines), help=_MEANING)


def _row(one: Agreement) -> str:
    kappa = "not known yet" if one.kappa is None else f"**{one.kappa:.2f}**"
    between = "" if one.low is None or one.high is None else f" :small[:gray[{one.low:.2f} to {one.high:.2f}]]"
    return f"| {markdown.label(one.title, 60)} | {one.agree:.0%} | {kappa}{between} | {one.n:,} |"
