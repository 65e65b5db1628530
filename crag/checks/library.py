"""Checks of the answering model and the library, which take longer and run only in `doctor`."""

from __future__ import annotations

import sys
from collections.abc import Callable

from crag.checks.models import get_model
from crag.checks.values import Check
from crag.errors import ModelFault
from crag.library import Library
from crag.models.choice import model_label


def library_checks(library: Library) -> list[Check]:
    """Run one check each for Python, the library, its vector index and its embedding spaces."""
    return [
        Check("Python", "ok", f"{sys.version_info.major}.{sys.version_info.minor}"),
        _library(library),
        _vector_index(library),
        _spaces(library),
    ]


def answering_check(name: str, reason: str, open_engine: Callable[[], object]) -> Check:
    """Check the answering model by opening it."""
    try:
        open_engine()
    except ModelFault as fault:
        provider, _, model = fault.model.partition(":")
        can_get = fault.code == "model_missing" and provider == "ollama"
        return Check("Answers", "fail", fault.message, fault.remedy, get_model(model) if can_get else None)
    return Check("Answers", "ok", f"{model_label(name)}. {reason}".strip())


def _library(library: Library) -> Check:
    sources, passages, _ = library.counts()
    held = f"{sources:,} documents, {passages:,} passages"
    if fault := library.spaces.answering.check():
        return Check("Library", "fail", f"{held}, but nothing embeds questions: {fault.message}", fault.remedy)
    missing = library.missing_vectors()
    if not missing:
        return Check("Library", "ok", held)
    fix = "Start the application: it makes them in the background. Till then those are found by their words only."
    return Check("Library", "warn", f"{held}, {missing:,} without vectors", fix)


def _spaces(library: Library) -> Check:
    """Check which space answers, which one is being built, and whether a manual choice overrides the settings."""
    words = {"answering": "answers", "kept": "is kept to go back to"}
    told = [
        f"{report.space.name} {words.get(report.state) or f'has {report.vectors:,} of {report.passages:,} passages'}"
        for report in library.spaces.reports()
    ]
    detail = ", ".join(told) or "nothing is embedded yet"
    if name := library.spaces.answering.overruled():
        fix = f"Run `python -m crag spaces use {name}` to have it after all."
        return Check("Embeddings", "warn", f"{detail}; the settings name {name}, which was left by hand", fix)
    return Check("Embeddings", "ok", detail)


def _vector_index(library: Library) -> Check:
    try:
        state = library.index_state()
    except ModelFault as fault:
        return Check("Vector index", "fail", fault.message, fault.remedy)
    if state.kind == "approximate":
        held = f"{state.count:,} vectors, approximate: finds {state.recall:.1%} of the nearest ten"
    else:
        held = f"{state.count:,} vectors, each compared"
    return Check("Vector index", "ok", f"{held}; a faster one is being built" if state.building else held)
