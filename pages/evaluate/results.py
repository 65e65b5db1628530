"""Results, summaries, comparisons, rankings and datasets of the Evaluate page, all cached here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import streamlit as st

from crag.concurrency.caches import LRUCache
from crag.evaluation.grid import BestVariant, RankedVariant, find_best_variant, rank_variants
from crag.evaluation.summary import Comparison, VariantSummary, compare_results, summarise_results
from crag.evaluation.types import Cutoffs, Dataset, Evaluation, EvaluationResult, Variant
from crag.inspection.run_labels import describe_change
from crag.text import sanitization
from crag.text.formatting import format_date_time
from pages.parts.services import application, current_owner

ACTIVE_STATES = ("queued", "running")


class ComparedVariant(NamedTuple):
    """One variant of an evaluation, with the results of this variant only."""

    evaluation: Evaluation
    number: int
    results: Sequence[EvaluationResult]

    @property
    def variant(self) -> Variant:
        """Settings and environment of the variant."""
        return self.evaluation.variants[self.number]

    @property
    def key(self) -> str:
        """Identifier of the variant in the page address."""
        return variant_key(self.evaluation, self.number)


def variant_key(evaluation: Evaluation, number: int) -> str:
    """Return the identifier of a variant in the page address."""
    return f"{evaluation.id}.{number}"


def variant_name(variant: Variant) -> str:
    """Return the settings of a variant in words, as plain text in the language of the screen."""
    return sanitization.strip_invisible(describe_change(variant.name))


def variant_title(evaluation: Evaluation, number: int) -> str:
    """Return name, variant (if there are several) and start time as plain text."""
    variant = variant_name(evaluation.variants[number]) if len(evaluation.variants) > 1 else ""
    told = (evaluation.name, variant, format_date_time(evaluation.started_at))
    return " · ".join(sanitization.strip_invisible(one) for one in told if one)


_ResultsKey = tuple[str, str, int, int, str, float | None]

_DATASETS_TTL_SECONDS = 3.0
_RESULTS_TTL_SECONDS = 60.0  # labels added by other processes show up after this time
_MAX_RESULTS, _MAX_COMPARISONS, _MAX_SUMMARIES = 4, 32, 512  # cached at once; results are large
_MAX_REFRESHES = 25  # most refreshes of the figures during one evaluation


def load_results(evaluation: Evaluation, variant: int | None = None) -> Sequence[EvaluationResult]:
    """Return the results so far, of one variant or of all."""
    return _cached_results(_results_key(evaluation), variant)


def load_summary(evaluation: Evaluation, variant: int) -> VariantSummary:
    """Return the figures of one variant; while the evaluation runs, they may lag behind by a few answers."""
    done = evaluation.done
    if evaluation.state == "running":
        done -= done % max(1, evaluation.total // _MAX_REFRESHES)
    key = _results_key(evaluation, done), variant, load_cutoffs()
    if (summary := _summaries().get(key)) is None:
        summary = summarise_results(application().evaluations.results(evaluation.id, variant), key[-1])
        _summaries().put(key, summary)
    return summary


def load_comparison(one: ComparedVariant, other: ComparedVariant) -> Comparison:
    """Compare the second variant with the first; cached until either has new results."""
    return _cached_comparison(one, other, load_cutoffs())


def load_cutoffs() -> Cutoffs:
    """Return the scores from which an answer counts as right, fitted to human labels."""
    return _cached_cutoffs(current_owner())


def has_cached_summary(evaluation: Evaluation) -> bool:
    """Return whether the summary of the first variant is cached."""
    return _summaries().get((_results_key(evaluation), 0, load_cutoffs())) is not None


def load_datasets() -> list[Dataset]:
    """Return the datasets of the current user; those added by another process appear a few seconds later."""
    return _cached_datasets(current_owner())


def invalidate_results() -> None:
    """Drop cached results, figures and cutoffs after an answer was labelled."""
    for cached in (_cached_results, _cached_cutoffs, _summaries, _cached_comparison, load_ranking, load_best_variant):
        cached.clear()


def invalidate_datasets() -> None:
    """Drop cached datasets after one has changed."""
    _cached_datasets.clear()


def _results_key(evaluation: Evaluation, done: int | None = None) -> _ResultsKey:
    """Return a cache key that changes with the answers, all or the first `done`, and the judgements."""
    answers = evaluation.done if done is None else done
    return evaluation.id, evaluation.state, answers, evaluation.judgements, evaluation.judge, evaluation.ended_at


@st.cache_resource(show_spinner=False, max_entries=_MAX_RESULTS, ttl=_RESULTS_TTL_SECONDS)
def _cached_results(known: _ResultsKey, variant: int | None) -> Sequence[EvaluationResult]:
    return tuple(application().evaluations.results(known[0], variant))


@st.cache_resource(show_spinner=False)
def _summaries() -> LRUCache[tuple[_ResultsKey, int, Cutoffs], VariantSummary]:
    return LRUCache(_MAX_SUMMARIES)


def _variant_cache_key(side: ComparedVariant) -> tuple[int, _ResultsKey]:
    return side.number, _results_key(side.evaluation)


@st.cache_resource(
    show_spinner=False,
    max_entries=_MAX_COMPARISONS,
    ttl=_RESULTS_TTL_SECONDS,
    hash_funcs={ComparedVariant: _variant_cache_key},
)
def _cached_comparison(one: ComparedVariant, other: ComparedVariant, right_from: Cutoffs) -> Comparison:
    return compare_results(one.results, other.results, right_from)


@st.cache_resource(show_spinner=False, max_entries=_MAX_COMPARISONS, hash_funcs={Evaluation: _results_key})
def load_ranking(
    evaluation: Evaluation, _results: Sequence[EvaluationResult], cutoffs: Cutoffs
) -> Sequence[RankedVariant]:
    """Return the variants, best first."""
    return rank_variants(evaluation, _results, cutoffs)


@st.cache_resource(show_spinner=False, max_entries=_MAX_COMPARISONS, hash_funcs={Evaluation: _results_key})
def load_best_variant(
    evaluation: Evaluation, _results: Sequence[EvaluationResult], cutoffs: Cutoffs
) -> BestVariant | None:
    """Return the best variant and its rivals; None if no answer can be scored as right or wrong."""
    return find_best_variant(evaluation, _results, cutoffs)


@st.cache_resource(show_spinner=False, ttl=_RESULTS_TTL_SECONDS)
def _cached_cutoffs(user: str | None) -> Cutoffs:  # noqa: ARG001 — the key of the cache
    return application().evaluations.cutoffs()


@st.cache_resource(show_spinner=False, ttl=_DATASETS_TTL_SECONDS)
def _cached_datasets(user: str | None) -> list[Dataset]:  # noqa: ARG001 — the key of the cache
    return application().datasets.all()
