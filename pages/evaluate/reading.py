"""What evaluations came to, read and summed up once for as many answers as there are."""

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
_KEPT_SECONDS = 60.0  # what other processes say of answers is seen by then
_STEPS = 25  # while it runs, figures are drawn anew at most so often


def known_by(evaluation: Evaluation) -> Known:
    """What changes whenever its answers do, or what a judge says of them."""
    return _known_by(evaluation, evaluation.done)


def results(evaluation: Evaluation, variant: int | None = None) -> Sequence[Result]:
    """The answers that are there, of one variant or of all."""
    return _results(known_by(evaluation), variant)


def summary(evaluation: Evaluation, variant: int) -> Summary:
    """The figures of one variant; while it runs those of some moments ago."""
    done = evaluation.done
    if evaluation.state == "running":
        done -= done % max(1, evaluation.total // _STEPS)
    return _summary(_known_by(evaluation, done), variant, cutoffs())


def cutoffs() -> Cutoffs:
    """From which scores on an answer counts as right, fitted to what people said of answers."""
    return _cutoffs(person())


def is_summed_up(evaluation: Evaluation, variant: int) -> bool:
    """Whether its figures are there without being computed."""
    return (known_by(evaluation), variant, cutoffs()) in _summed_up()


def datasets() -> list[Dataset]:
    """The datasets of this person; those that were added elsewhere are seen some seconds later."""
    return _datasets(person())


def forget() -> None:
    """Something was said of answers: they are read anew."""
    _results.clear()
    _cutoffs.clear()


def forget_datasets() -> None:
    """A dataset has changed: they are read anew."""
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
