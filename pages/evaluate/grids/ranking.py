"""The variants of an evaluation by how good they are, worked out once for as many answers as there are."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from crag.evaluate import grid
from crag.evaluate.values import Cutoffs, Evaluation, Result
from pages.evaluate import reading


@st.cache_resource(show_spinner=False, max_entries=32, hash_funcs={Evaluation: reading.known_by})
def ranked(evaluation: Evaluation, _results: Sequence[Result], cutoffs: Cutoffs) -> Sequence[grid.Ranked]:
    """The best first."""
    return grid.rank(evaluation, _results, cutoffs)


@st.cache_resource(show_spinner=False, max_entries=32, hash_funcs={Evaluation: reading.known_by})
def best(evaluation: Evaluation, _results: Sequence[Result], cutoffs: Cutoffs) -> grid.Best | None:
    """The best one and its rivals; None where no answer can be told right from wrong."""
    return grid.best(evaluation, _results, cutoffs)
