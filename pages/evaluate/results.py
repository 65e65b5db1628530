"""Cached results, summaries and datasets of the Evaluate page."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from crag.evaluation.summary import VariantSummary, summarise_results
from crag.evaluation.types import Cutoffs, Dataset, Evaluation, EvaluationResult
from pages.parts.services import application
from pages.parts.session import current_owner

ACTIVE_STATES = ("queued", "running")


ResultsCacheKey = tuple[str, str, int, int, str, float | None]

_DATASETS_TTL_SECONDS = 3.0
_RESULTS_TTL_SECONDS = 60.0  # labels added by other processes show up after this time
_MAX_REFRESHES = 25  # most refreshes of the figures during one evaluation


def results_cache_key(evaluation: Evaluation) -> ResultsCacheKey:
    """Return a cache key that changes with the answers and judgements of an evaluation."""
    return _make_cache_key(evaluation, evaluation.done)


def load_results(evaluation: Evaluation, variant: int | None = None) -> Sequence[EvaluationResult]:
    """Return the results so far, of one variant or of all."""
    return _cached_results(results_cache_key(evaluation), variant)


def load_summary(evaluation: Evaluation, variant: int) -> VariantSummary:
    """Return the figures of one variant; while the evaluation runs, they may lag behind by a few answers."""
    done = evaluation.done
    if evaluation.state == "running":
        done -= done % max(1, evaluation.total // _MAX_REFRESHES)
    return _cached_summary(_make_cache_key(evaluation, done), variant, load_cutoffs())


def load_cutoffs() -> Cutoffs:
    """Return the scores from which an answer counts as right, fitted to human labels."""
    return _cached_cutoffs(current_owner())


def has_cached_summary(evaluation: Evaluation, variant: int) -> bool:
    """Return whether the summary is cached."""
    return (results_cache_key(evaluation), variant, load_cutoffs()) in _summary_keys()


def load_datasets() -> list[Dataset]:
    """Return the datasets of the current user; those added by another process appear a few seconds later."""
    return _cached_datasets(current_owner())


def invalidate_results() -> None:
    """Drop cached results and cutoffs after an answer was labelled."""
    _cached_results.clear()
    _cached_cutoffs.clear()


def invalidate_datasets() -> None:
    """Drop cached datasets after one has changed."""
    _cached_datasets.clear()


def _make_cache_key(evaluation: Evaluation, done: int) -> ResultsCacheKey:
    return evaluation.id, evaluation.state, done, evaluation.judgements, evaluation.judge, evaluation.ended_at


@st.cache_resource(show_spinner=False, max_entries=4, ttl=_RESULTS_TTL_SECONDS)
def _cached_results(known: ResultsCacheKey, variant: int | None) -> Sequence[EvaluationResult]:
    return tuple(application().evaluations.results(known[0], variant))


@st.cache_resource(show_spinner=False, max_entries=512)
def _cached_summary(known: ResultsCacheKey, variant: int, right_from: Cutoffs) -> VariantSummary:
    summed_up = summarise_results(application().evaluations.results(known[0], variant), right_from)
    _summary_keys().add((known, variant, right_from))
    return summed_up


@st.cache_resource(show_spinner=False)
def _summary_keys() -> set[tuple[ResultsCacheKey, int, Cutoffs]]:
    return set()


@st.cache_resource(show_spinner=False, ttl=_RESULTS_TTL_SECONDS)
def _cached_cutoffs(whose: str | None) -> Cutoffs:
    return application().evaluations.cutoffs(whose)


@st.cache_resource(show_spinner=False, ttl=_DATASETS_TTL_SECONDS)
def _cached_datasets(whose: str | None) -> list[Dataset]:
    return application().datasets.all(whose)
