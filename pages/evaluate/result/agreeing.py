"""Agreement between scorers and human labels."""

from __future__ import annotations

import streamlit as st

from crag.evaluate.figures.agreement import Agreement, agreement
from crag.evaluate.values import Cutoffs, Evaluation
from pages.evaluate import reading
from pages.parts import markdown, words

_MEANING = "Cohen's kappa leaves out what agrees by chance: 1 is full agreement, 0 none beyond chance."
_FITTED = (
    "From which score on an answer counts as right was moved, since that agrees better with your words; on the very"
    " words that it was fitted to, agreement looks a little better than it is."
)


def draw(evaluation: Evaluation, variant: int) -> None:
    """Draw a row for each scorer, or nothing without labels."""
    cutoffs = reading.cutoffs()
    found = agreement(reading.results(evaluation, variant), cutoffs)
    if found:
        rows = {
            "Against your words": [markdown.label(one.title, 60) for one in found],
            "Agrees": [f"{one.agree:.0%}" for one in found],
            "Kappa": [_kappa(one) for one in found],
            "n": [f"{one.n:,}" for one in found],
        }
        st.table(rows, border="horizontal", hide_index=True, alt="How far scorers agree with your words")
        st.caption(_MEANING if cutoffs == Cutoffs() else f"{_MEANING} {_FITTED}")


def _kappa(one: Agreement) -> str:
    if one.kappa is None or one.low is None or one.high is None:
        return "not known yet"
    return f"**{one.kappa:.2f}** {words.grey(f'{one.low:.2f} to {one.high:.2f}')}"
