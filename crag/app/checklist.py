"""Set-up checklist: all checks in display order, with those of machine and library."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from crag.app import checklist_facts
from crag.app.checklist_facts import Check, CheckAction, ChecklistFacts
from crag.app.model_checks import (
    NOMIC_BYTES,
    check_chosen_models,
    check_embedder,
    check_evaluator,
    check_hosts,
    check_llama,
    check_memory,
    check_nomic,
    check_ollama_version,
    download_action,
)
from crag.cancellation import Cancellation
from crag.errors import ModelFault, WebSearchFailed
from crag.ingest.parse.ocr import find_rapidocr
from crag.library.library import Library
from crag.models.model_choice import model_label
from crag.models.nomic_weights import is_nomic_usable, weights_path
from crag.models.ollama_server import model_folders
from crag.protocols import WebSearch
from crag.retrieval.space_switch import SpaceStatus
from crag.settings import url_host
from crag.storage.engine import Database
from crag.text.formatting import format_count, format_size
from crag.websearch.providers import PROVIDERS, find_provider
from crag.websearch.search import TEST_QUERY

_MIN_FREE_BYTES = 2_000_000_000  # for documents, and on top of a model download
_TESSERACT_SECONDS = 5.0
_NOT_LANGUAGES = ("osd", "equ")  # page orientation and formulas


def check_ocr() -> Check:
    """Check which program reads scans, in which languages; without Tesseract, RapidOCR reads English and Chinese."""
    program = shutil.which("tesseract")
    languages = _tesseract_languages(program) if program else []
    has_rapidocr = bool(find_rapidocr())
    if languages:
        also = "; RapidOCR reads Chinese" if has_rapidocr else ""
        return Check("Scans", "ok", f"Tesseract reads {', '.join(languages)}{also}")
    commands = checklist_facts.ocr_install_commands(has_rapidocr=has_rapidocr)
    action = CheckAction("command", "How to install", commands=commands)
    if has_rapidocr:
        remedy = "Install Tesseract for Korean and other languages."
        return Check("Scans", "ok", "RapidOCR reads English and Chinese, but not Korean", remedy, action)
    detail = "Tesseract has no language" if program else "no Tesseract and no RapidOCR, so scans are not read"
    return Check("Scans", "warn", detail, "Install one of them, then add the scans again.", action)


def check_disk(facts: ChecklistFacts) -> Check:
    """Check that there is space for documents in the home and for pending model downloads."""
    home = _free_bytes(facts.settings.home)
    lacking = [f"{format_size(home)} free for your documents"] if home < _MIN_FREE_BYTES else []
    for where, needed in _pending_downloads(facts):
        if (free := _free_bytes(where)) < needed + _MIN_FREE_BYTES:
            lacking.append(f"{format_size(free)} free for models, {format_size(needed)} needed")
    if lacking:
        return Check("Disk", "warn", "; ".join(lacking), "Free some space.")
    return Check("Disk", "ok", f"{format_size(home)} free")


def _pending_downloads(facts: ChecklistFacts) -> list[tuple[Path, int]]:
    """Return the folders and bytes of the downloads that the checklist offers."""
    wanted = [] if is_nomic_usable() else [(weights_path(), NOMIC_BYTES)]
    has_model = any(not model.only_embeds for model in facts.server.installed)
    if facts.server_is_here and not has_model:
        wanted.append((max(model_folders(), key=_free_bytes), facts.llama[1]))
    return wanted


def _free_bytes(folder: Path) -> int:
    """Return the free bytes on the disk of a folder, or of its nearest existing parent."""
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    return shutil.disk_usage(there).free


def _tesseract_languages(program: str) -> list[str]:
    try:
        listing = subprocess.run(  # noqa: S603 — an absolute path, no shell
            [program, "--list-langs"], capture_output=True, text=True, timeout=_TESSERACT_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError, ValueError):
        return []
    return [name for name in listing.stdout.splitlines()[1:] if name not in _NOT_LANGUAGES]


ALWAYS_SHOWN = ("Built-in engine", "Llama 3 on Ollama", "Nomic embeddings", "Web search")


def run_setup_checks(facts: ChecklistFacts) -> list[Check]:
    """Run all checks; those always shown on the start page (`ALWAYS_SHOWN`) come first."""
    return [
        _check_builtin_engine(in_use=facts.answering == "builtin"),
        check_llama(facts),
        check_nomic(facts),
        _check_web_search(facts),
        *check_ollama_version(facts),
        *check_hosts(facts),
        *check_chosen_models(facts),
        *check_memory(facts),
        *check_embedder(facts),
        check_evaluator(facts),
        check_ocr(),
        check_disk(facts),
    ]


def placeholder_checks() -> list[Check]:
    """Return the lines shown before any check has run."""
    return [
        _check_builtin_engine(in_use=False),
        *(Check(name, "warn", "looking for it …") for name in ALWAYS_SHOWN[1:]),
    ]


def split_shown_checks(checks: list[Check]) -> tuple[list[Check], list[Check]]:
    """Return the checks that a page shows: the permanent lines, and the others with a problem."""
    first = [check for check in checks if check.name in ALWAYS_SHOWN]
    return first, [check for check in checks if check.name not in ALWAYS_SHOWN and check.status != "ok"]


def _check_builtin_engine(*, in_use: bool) -> Check:
    state = "in use" if in_use else "ready"
    return Check("Built-in engine", "ok", f"{state}: answers by quoting your documents, no set-up needed")


def _check_web_search(facts: ChecklistFacts) -> Check:
    provider, searches = find_provider(facts.settings), facts.searches
    if provider:
        used = f"{searches.used:,} searches used this month"
        if searches.limit:
            used = f"{searches.used:,} of {searches.limit:,} searches used this month"
        return Check("Web search", "ok", f"{provider.label} is set up; searches only when you allow it; {used}")
    if named := PROVIDERS.get(facts.settings.web_search):
        return Check(
            "Web search",
            "warn",
            f"CRAG_WEB_SEARCH names {named.label}, but {named.variable} is missing, so nothing is sent",
            "Add it to the file `.env`, then restart.",
            CheckAction("key", "Set it up", commands=f"{named.variable}={named.example}"),
        )
    return Check(
        "Web search",
        "warn",
        "not set up, so nothing is sent",
        "Get a key at app.tavily.com, add it to the file `.env` in the project folder as TAVILY_API_KEY, then restart.",
        CheckAction("key", "Add a key", commands="TAVILY_API_KEY=tvly-YOUR-KEY"),
    )


def check_search(search: WebSearch) -> Check:
    """Send a search to the web and show its first result; the query is logged like any other."""
    name = "Test search"
    try:
        found = search.search(TEST_QUERY, 1, Cancellation())
    except WebSearchFailed as fault:
        return Check(name, "fail", fault.message, fault.remedy)
    if not found:
        return Check(name, "warn", f"{search.name} answers, but found nothing.", "Try it with a question of your own.")
    return Check(name, "ok", f"{found[0].title} ({url_host(found[0].location) or search.host})")


def run_library_checks(library: Library) -> list[Check]:
    """Run one check each for Python, the library, its vector index and its embedding spaces."""
    return [
        Check("Python", "ok", f"{sys.version_info.major}.{sys.version_info.minor}"),
        _check_library(library),
        _check_vector_index(library),
        _check_spaces(library),
    ]


def check_row_security(database: Database) -> list[Check]:
    """Check that the database itself hides the rows of other users; no check for a file, which cannot."""
    if database.has_row_security is None:
        return []
    if database.has_row_security:
        return [Check("Row-level security", "ok", "PostgreSQL hides the rows of other users, too")]
    detail = "PostgreSQL ignores its policies for this role; the application alone separates users"
    fix = "Use a role without BYPASSRLS, or have a superuser run GRANT crag_limited TO it (docs/postgresql.md)."
    return [Check("Row-level security", "warn", detail, fix)]


def check_answering(name: str, reason: str, open_engine: Callable[[], object]) -> Check:
    """Check the answering model by opening it."""
    try:
        open_engine()
    except ModelFault as fault:
        provider, _, model = fault.model.partition(":")
        can_get = fault.code == "model_missing" and provider == "ollama"
        return Check("Answers", "fail", fault.message, fault.remedy, download_action(model) if can_get else None)
    return Check("Answers", "ok", f"{model_label(name)}. {reason}".strip())


def _check_library(library: Library) -> Check:
    sources, passages, _ = library.counts()
    held = f"{format_count(sources, 'document')}, {format_count(passages, 'passage')}"
    if fault := library.spaces.active_embedder.check():
        return Check("Library", "fail", f"{held}, but questions cannot be embedded: {fault.message}", fault.remedy)
    missing = library.count_missing_vectors()
    if not missing:
        return Check("Library", "ok", held)
    fix = "Start the application to embed them in the background. Until then, they are found only by their words."
    return Check("Library", "warn", f"{held}, {missing:,} not embedded", fix)


def _check_spaces(library: Library) -> Check:
    """Check which space answers, which one is being built, and whether a manual choice overrides the settings."""
    detail = ", ".join(map(_describe_space, library.spaces.statuses())) or "no documents embedded yet"
    if name := library.spaces.active_embedder.overruled():
        fix = f"Run `python -m crag spaces use {name}` to use it."
        return Check("Embeddings", "warn", f"{detail}; the settings name {name}, but you switched away from it", fix)
    return Check("Embeddings", "ok", detail)


def _describe_space(report: SpaceStatus) -> str:
    name = report.space.name
    match report.state:
        case "answering":
            return f"{name}: in use"
        case "kept":
            return f"{name}: kept as a fallback"
    return f"{name}: has {report.vectors:,} of {report.passages:,} passages"


def _check_vector_index(library: Library) -> Check:
    try:
        state = library.index_state()
    except ModelFault as fault:
        return Check("Vector index", "fail", fault.message, fault.remedy)
    if state.kind == "approximate":
        held = f"{format_count(state.count, 'vector')}, approximate: finds {state.recall:.1%} of the nearest ten"
    else:
        held = f"{format_count(state.count, 'vector')}, each compared"
    return Check("Vector index", "ok", f"{held}; a faster one is being built" if state.building else held)
