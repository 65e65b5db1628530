"""What evaluations came to, read and summed up once for as many answers as there are."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from crag.evaluate.summary import Summary, summarise
from crag.evaluate.values import Cutoffs, Evaluation, Result
from pages.parts.resources import application

Known = tuple[str, int, int, int]  # by which it is told that nothing has come since

CUTOFFS = Cutoffs()
_KEPT_SECONDS = 60.0  # what other processes say of answers is seen by then
_STEPS = 25  # while it runs, figures are drawn anew at most so often


def results(evaluation: Evaluation, variant: int | None = None) -> Sequence[Result]:
    """The answers that are there, of one variant or of all."""
    return _results(evaluation.id, variant, _known_by(evaluation, evaluation.done))


def summary(evaluation: Evaluation, variant: int) -> Summary:
    """The figures of one variant; while it runs those of some moments ago."""
    done = evaluation.done
    if evaluation.state == "running":
        done -= done % max(1, evaluation.total // _STEPS)
    return _summary(evaluation.id, variant, _known_by(evaluation, done))


def cutoffs(evaluation: Evaluation) -> Cutoffs:  # noqa: ARG001 — one for all, until each has its own
    """From which scores on an answer of it counts as right."""
    return CUTOFFS


def forget() -> None:
    """Something was said of answers: they are read anew."""
    _results.clear()
    _summary.clear()


def _known_by(evaluation: Evaluation, done: int) -> Known:
    return evaluation.state, done, evaluation.failed, evaluation.judgements


@st.cache_resource(show_spinner=False, max_entries=16, ttl=_KEPT_SECONDS)
def _results(evaluation_id: str, variant: int | None, known_by: Known) -> Sequence[Result]:  # noqa: ARG001 — the key
    return tuple(application().evaluations.results(evaluation_id, variant))


@st.cache_resource(show_spinner=False, max_entries=128, ttl=_KEPT_SECONDS)
def _summary(evaluation_id: str, variant: int, known_by: Known) -> Summary:
    return summarise(_results(evaluation_id, variant, known_by), CUTOFFS)
