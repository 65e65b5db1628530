"""Cached ranking of the variants of an evaluation; recomputed when there are new answers."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from crag.evaluate import grid
from crag.evaluate.values import Cutoffs, Evaluation, Result
from pages.evaluate import reading


@st.cache_resource(show_spinner=False, max_entries=32, hash_funcs={Evaluation: reading.known_by})
def ranked(evaluation: Evaluation, _results: Sequence[Result], cutoffs: Cutoffs) -> Sequence[grid.Ranked]:
    """Return the variants, best first."""
    return grid.rank(evaluation, _results, cutoffs)


@st.cache_resource(show_spinner=False, max_entries=32, hash_funcs={Evaluation: reading.known_by})
def best(evaluation: Evaluation, _results: Sequence[Result], cutoffs: Cutoffs) -> grid.Best | None:
    """Return the best variant and its rivals; None if no answer can be scored as right or wrong."""
    return grid.best(evaluation, _results, cutoffs)
