"""The set-up checklist: what is there, what is not, and the one action that mends it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from importlib.util import find_spec

from crag.errors import ModelFault
from crag.library import Library
from crag.models.choice import ModelChoice
from crag.models.faults import host_label
from crag.models.nomic import nomic_present
from crag.models.ollama.administration import ollama_version
from crag.settings import Settings
from crag.types import Check
from crag.websearch import Quota

_LOW_DISK_BYTES = 2_000_000_000


def setup_checks(settings: Settings, model: ModelChoice, embedder: ModelChoice, searches: Quota) -> list[Check]:
    """One line each for the built-in engine, Llama 3 on Ollama, Nomic embeddings and web search."""
    return [_builtin(model), _ollama(settings, model), _nomic(embedder), _web(settings, searches)]


def library_checks(library: Library, settings: Settings) -> list[Check]:
    """One line each for Python, the library, the home's disk."""
    free = shutil.disk_usage(settings.home).free
    return [
        Check("Python", "ok", f"{sys.version_info.major}.{sys.version_info.minor}"),
        _library(library),
        _vector_index(library),
        _spaces(library),
        Check(
            "Disk",
            "warn" if free < _LOW_DISK_BYTES else "ok",
            f"{free / 1e9:,.1f} GB free",
            "Free some space." if free < _LOW_DISK_BYTES else "",
        ),
    ]


def answering_check(choice: ModelChoice, open_engine: Callable[[ModelChoice], object]) -> Check:
    """What answers now, tried and not only named."""
    try:
        open_engine(choice)
    except ModelFault as fault:
        return Check("Answers", "fail", fault.message, fault.remedy)
    return Check("Answers", "ok", f"{choice.label}. {choice.reason}".strip())


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
    """Which space answers, which one is being built, and a setting that was decided against by hand."""
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


def _builtin(model: ModelChoice) -> Check:
    used = "in use: answers" if model.builtin else "ready: answers"
    return Check("Built-in engine", "ok", f"{used} by quoting your documents; needs nothing else")


def _ollama(settings: Settings, model: ModelChoice) -> Check:
    version = ollama_version(settings)
    where = host_label(settings)
    if version is None:
        fix = "Install Ollama from ollama.com, start it, then run `ollama pull llama3.1`."
        return Check("Llama 3 on Ollama", "warn", f"not reachable at {where}", fix)
    if model.builtin:
        return Check("Llama 3 on Ollama", "warn", f"Ollama {version}, no Llama 3", "Run `ollama pull llama3.1`.")
    return Check("Llama 3 on Ollama", "ok", f"{model.label} on Ollama {version} at {where}")


def _nomic(embedder: ModelChoice) -> Check:
    if nomic_present():
        return Check("Nomic embeddings", "ok", "in use" if embedder.name == "nomic" else "on this machine")
    if find_spec("gpt4all") is None:
        fix = "Run `ollama pull nomic-embed-text` and set CRAG_EMBEDDER=ollama:nomic-embed-text."
        return Check("Nomic embeddings", "warn", "only through Ollama on this kind of machine", fix)
    fix = "Run `python -c \"from gpt4all import Embed4All; Embed4All('nomic-embed-text-v1.5.f16.gguf')\"` once."
    return Check("Nomic embeddings", "warn", "274 MB once, then offline", fix)


def _web(settings: Settings, searches: Quota) -> Check:
    if settings.tavily_api_key:
        limit = f" of {searches.limit:,}" if searches.limit else ""
        used = f"{searches.used:,}{limit} searches used this month"
        return Check("Web search", "ok", f"Tavily key present; searched only when you allow it; {used}")
    return Check("Web search", "warn", "no Tavily key, so nothing is ever sent", "Set TAVILY_API_KEY in `.env`.")
