"""Descriptions of how a version of an answer differs from the one before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crag.events import Node
from crag.options import RunOptions, Thresholds, changes_between
from crag.runs.revisions import Revision
from crag.runs.trace import Trace
from crag.types import Ruling

_NAMES = {"use": "you used", "drop": "you dropped"}
_OPTION_NAMES = {
    "model": "model",
    "k": "k",
    "policy": "policy",
    "web": "web",
    "refine": "refinement",
    "rewrite": "rewriting",
    "web_results": "web results",
    "join_web": "web results as one passage",
    "parent_context": "wider context",
    "grader": "grader",
    "grader_model": "grader model",
    "rewriter_model": "rewriter model",
    "thinking": "thinking",
    "answering.window": "window",
    "answering.answer_limit": "longest answer",
    "answering.temperature": "temperature",
    "grading.window": "grader's window",
    "grading.answer_limit": "grader's longest reply",
    "grading.temperature": "grader's temperature",
    "rewriting.window": "rewriter's window",
    "rewriting.answer_limit": "rewriter's longest reply",
    "rewriting.temperature": "rewriter's temperature",
    "thresholds": "thresholds",
    "fetch_pages": "whole pages",
    "collection": "collection",
    "source_ids": "documents",
    "passage_size": "passage size",
}
_NODE_NAMES: dict[Node, str] = {
    "condense_question": "the beginning",
    "retrieve": "retrieving",
    "grade_documents": "grading",
    "decide": "deciding",
    "transform_query": "rewriting",
    "web_search": "searching the web",
    "refine_knowledge": "refining",
    "generate": "writing",
}
_LEFT_OPEN = {
    "grader_model": "automatic",
    "rewriter_model": "automatic",
    "thresholds": "automatic",
    "collection": "all",
    "source_ids": "all",
    "passage_size": "as usual",
}


def words_of_revision(trace: Trace, node: Node, revision: Revision) -> str:
    """Describe how a revised version differs; if nothing was changed, from which node it was re-run."""
    parts = [words_of_rulings(trace, revision.rulings)]
    if revision.options and revision.options != trace.options:
        parts.append(changed(trace.options, revision.options))
    if revision.query:
        parts.append("you wrote the query")
    return ", ".join(part for part in parts if part) or f"again from {_NODE_NAMES[node]}"


def words_of_rulings(trace: Trace, rulings: Mapping[int, Ruling]) -> str:
    """Describe rulings, such as “you dropped p. 5”."""
    return ", ".join(f"{_NAMES[ruling]} {_place(trace, passage_id)}" for passage_id, ruling in rulings.items())


def changed(before: RunOptions, after: RunOptions) -> str:
    """Describe how two sets of options differ, such as “policy any, k 6”. A preset is only a name for its options."""
    words = [option(name, value) for name, value in changes_between(before, after).items() if name in _OPTION_NAMES]
    return ", ".join(words) or "same settings"


def option(name: str, value: Any) -> str:
    """Describe an option, by its name in `crag.options`, with a value, such as “k 6”."""
    return f"{_OPTION_NAMES.get(name, name)} {_value(name, value)}"


def _value(name: str, value: Any) -> str:
    match value:
        case bool():
            return "on" if value else "off"
        case None | "" | () | 0 if name in _LEFT_OPEN:
            return _LEFT_OPEN[name]
        case Thresholds():
            return f"{value.lower:g} and {value.upper:g}"
        case tuple():
            return str(len(value))
    return str(value)


def _place(trace: Trace, passage_id: int) -> str:
    passage = trace.passages[passage_id]
    return f"p. {passage.page}" if passage.page is not None else f"“{passage.title[:40]}”"
