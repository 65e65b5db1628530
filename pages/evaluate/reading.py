"""Cached results, summaries and datasets; recomputed when an evaluation has new answers."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from crag.evaluate.datasets.examples import Dataset
from crag.evaluate.figures.summary import Summary, summarise
from crag.evaluate.values import Cutoffs, Evaluation, Result
from pages.parts.person import person
from pages.parts.resources import application

Known = tuple[str, str, int, int, str, float | None]

_DATASETS_SECONDS = 3.0
_KEPT_SECONDS = 60.0  # labels added by other processes show up after this time
_STEPS = 25  # most refreshes of the figures during one evaluation


def known_by(evaluation: Evaluation) -> Known:
    """Return a cache key that changes with the answers and judgements of an evaluation."""
    return _known_by(evaluation, evaluation.done)


def results(evaluation: Evaluation, variant: int | None = None) -> Sequence[Result]:
    """Return the results so far, of one variant or of all."""
    return _results(known_by(evaluation), variant)


def summary(evaluation: Evaluation, variant: int) -> Summary:
    """Return the figures of one variant; while the evaluation runs, they may lag behind by a few answers."""
    done = evaluation.done
    if evaluation.state == "running":
        done -= done % max(1, evaluation.total // _STEPS)
    return _summary(_known_by(evaluation, done), variant, cutoffs())


def cutoffs() -> Cutoffs:
    """Return the scores from which an answer counts as right, fitted to human labels."""
    return _cutoffs(person())


def is_summed_up(evaluation: Evaluation, variant: int) -> bool:
    """Return whether the summary is cached."""
    return (known_by(evaluation), variant, cutoffs()) in _summed_up()


def datasets() -> list[Dataset]:
    """Return the datasets of the current user; those added by another process appear a few seconds later."""
    return _datasets(person())


def forget() -> None:
    """Drop cached results and cutoffs after an answer was labelled."""
    _results.clear()
    _cutoffs.clear()


def forget_datasets() -> None:
    """Drop cached datasets after one has changed."""
    _datasets.clear()


def _known_by(evaluation: Evaluation, done: int) -> Known:
    return evaluation.id, evaluation.state, done, evaluation.judgements, evaluation.judge, evaluation.ended_at


@st.cache_resource(show_spinner=False, max_entries=4, ttl=_KEPT_SECONDS)
def _results(known: Known, variant: int | None) -> Sequence[Result]:
    return tuple(application().evaluations.results(known[0], variant))


@st.cache_resource(show_spinner=False, max_entries=512)
def _summary(known: Known, variant: int, right_from: Cutoffs) -> Summary:
    summed_up = summarise(application().evaluations.results(known[0], variant), right_from)
    _summed_up().add((known, variant, right_from))
    return summed_up


@st.cache_resource(show_spinner=False)
def _summed_up() -> set[tuple[Known, int, Cutoffs]]:
    return set()


@st.cache_resource(show_spinner=False, ttl=_KEPT_SECONDS)
def _cutoffs(whose: str | None) -> Cutoffs:
    return application().evaluations.cutoffs(whose)


@st.cache_resource(show_spinner=False, ttl=_DATASETS_SECONDS)
def _datasets(whose: str | None) -> list[Dataset]:
    return application().datasets.all(whose)
