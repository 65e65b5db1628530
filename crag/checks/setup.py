"""Checks of the start page: four lines that are always shown, and others that appear only on a problem."""

from __future__ import annotations

from crag.checks.embeddings import embedder_check, nomic_check
from crag.checks.facts import Facts
from crag.checks.machine import disk_check, ocr_check
from crag.checks.models import chosen_checks, llama_check, memory_check, version_check
from crag.checks.values import Check, CheckAction

FIRST = ("Built-in engine", "Llama 3 on Ollama", "Nomic embeddings", "Web search")


def setup_checks(facts: Facts) -> list[Check]:
    """Run all checks; those always shown on the start page (`ALWAYS_SHOWN`) come first."""
    return [
        _builtin(in_use=facts.answering == "builtin"),
        llama_check(facts),
        nomic_check(facts),
        _web(facts),
        *version_check(facts),
        *chosen_checks(facts),
        *memory_check(facts),
        *embedder_check(facts),
        ocr_check(),
        disk_check(facts),
    ]


def unknown_checks() -> list[Check]:
    """Return the lines shown before any check has run."""
    return [_builtin(in_use=False), *(Check(name, "warn", "looking for it …") for name in FIRST[1:])]


def shown_checks(checks: list[Check]) -> tuple[list[Check], list[Check]]:
    """Return the checks that a page shows: the permanent lines, and the others with a problem."""
    first = [check for check in checks if check.name in FIRST]
    return first, [check for check in checks if check.name not in FIRST and check.status != "ok"]


def _builtin(*, in_use: bool) -> Check:
    state = "in use" if in_use else "ready"
    return Check("Built-in engine", "ok", f"{state}: answers by quoting your documents; needs nothing else")


def _web(facts: Facts) -> Check:
    if facts.settings.tavily_api_key:
        searches = facts.searches
        limit = f" of {searches.limit:,}" if searches.limit else ""
        used = f"{searches.used:,}{limit} searches used this month"
        return Check("Web search", "ok", f"Tavily key present; searched only when you allow it; {used}")
    return Check(
        "Web search",
        "warn",
        "no Tavily key, so nothing is ever sent",
        "Get a key at app.tavily.com, put it into the file `.env` of the project folder as TAVILY_API_KEY, and start "
        "again.",
        CheckAction("key", "Add a key", commands="TAVILY_API_KEY=tvly-YOUR-KEY"),
    )
