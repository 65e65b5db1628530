"""JSON that commands, the API and tools return, and the same content as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from crag.grading.registry import BUILTIN
from crag.ingest.intake import split_member_location
from crag.inspection.run_labels import STRENGTH_BADGES
from crag.retrieval.space_switch import SpaceStatus
from crag.runs.trace import Trace
from crag.text.citation_marks import strip_bold
from crag.text.formatting import format_count, format_pages, format_place
from crag.text.sanitization import TERMINAL_CONTROLS
from crag.translation import N_, _, translate_text
from crag.types import AddResult, Conversation, Grade, ModelCall, Passage, Source, Thresholds, Verdict

if TYPE_CHECKING:
    from crag.app.checklist_facts import Check
    from crag.evaluation.types import Dataset
    from crag.library.library import SourcePage


Json = dict[str, Any]

MOVE_STATUS_TEXT = {
    "moved": N_("moved"),
    "merged": N_("was already there; one copy is kept"),
    "kept": N_("was not moved: another version is already there"),
}


def printable(text: str) -> str:
    """Remove characters that control a terminal: escape codes, control and direction characters."""
    return TERMINAL_CONTROLS.sub("", text)


def _fields(value: object, names: str) -> Json:
    """Return the named attributes of a value; `names` are separated by spaces."""
    return {name: getattr(value, name) for name in names.split()}


def source_json(item: Source) -> Json:
    """Return one entry of `list`."""
    names = "id title own_title author published kind location collection passages pages size added_at found_by space"
    return _fields(item, names)


def source_page_json(name: str, page: SourcePage) -> Json:
    """Return a page of a list, with its sources under `name`."""
    found = [source_json(source) for source in page.sources]
    return {name: found, "total": page.total, "next_cursor": page.next_cursor or None}


def conversation_json(item: Conversation) -> Json:
    """Return one entry of `conversations`, without its owner, which stays private to the home."""
    return _fields(item, "id title created_at updated_at pinned")


def space_json(report: SpaceStatus) -> Json:
    """Return one entry of `spaces`."""
    entry = _fields(report.space, "id name label digest dimension") | _fields(report, "vectors passages state")
    return entry | {"weight": _fields(report.weight, "share origin")}


def hit_json(passage: Passage) -> Json:
    """Return one entry of `search`."""
    return {"passage_id": passage.id} | _fields(
        passage, "source_id title location page last_page sheet heading score text"
    )


def grade_json(given: Grade, thresholds: Thresholds) -> Json:
    """Return one entry of `grade`."""
    return {"score": given.score, "verdict": thresholds.verdict_for(given.score), "reason": given.reason}


def answer_json(run_id: str, trace: Trace) -> Json:
    """Return the document of `ask`. `complete` is false if the answer was stopped or cut off.

    Programs compare answers of the built-in engine with the documents, which have no bold values.
    """
    document = {
        "run_id": run_id,
        "question": trace.question,
        "answer": strip_bold(trace.text) if trace.model == BUILTIN else trace.text,
        "complete": trace.state == "done" and not trace.unfinished,
        "outcome": trace.outcome,
        "route": "talk" if trace.small_talk else trace.route or "fact",
        "action": trace.action,
        "sufficiency": trace.sufficiency,
        "reason": trace.action_reason,
        "steps": trace.trajectory,
        "verdicts": [_verdict_json(trace, verdict) for verdict in trace.verdicts.values()],
        "coverage": _fields(trace.read, "read of") if trace.read else None,
        "matches": [asdict(match) for match in trace.listed.matches] if trace.listed else None,
        "sql": trace.table.sql if trace.table else None,
        "table": _fields(trace.table, "title columns rows total_rows") if trace.table else None,
        "sub_questions": [asdict(part) for part in trace.parts] or None,
        "sources": [_fields(cited, "n title location page sheet quote") for cited in trace.citations],
        "support": [asdict(sentence) for sentence in trace.sentences],
        "web": _web_json(trace),
        "notes": trace.notes,
        "model": trace.model,
        "embedder": trace.embedder,
        "timings": {step.node: step.seconds for step in trace.steps} | {"total": trace.seconds},
        "tokens": {"prompt": trace.usage.prompt_tokens, "answer": trace.usage.answer_tokens},
    }
    return document if trace.state == "done" else document | {"error": _error_json(trace)}


def trace_json(trace: Trace, calls: Sequence[ModelCall]) -> Json:
    """Return what Inspect shows of a run besides its answer."""
    names = "started_at model_reason grader calibrated parent change condensed condensed_reason route_reason found"
    sent = {"written": trace.query or None, "sent": trace.query_sent or None, "provider": trace.web_provider or None}
    return {
        "nodes": [asdict(step) for step in trace.steps],
        "passages": [hit_json(passage) | _fields(passage, "origin") for passage in trace.passages.values()],
        **_fields(trace, names),
        "queries": sent | {"skipped": trace.web_skipped or None},
        "thresholds": asdict(trace.thresholds) if trace.thresholds else None,
        "options": asdict(trace.options),
        "thought": trace.thought,
        "calls": [asdict(call) for call in calls],
    }


def dataset_json(item: Dataset) -> Json:
    """Return one entry of `datasets`."""
    return _fields(item, "id name kind") | {"questions": len(item.examples), "made_at": item.made_at}


def sources_text(trace: Trace) -> str:
    """Return the sources and doubtful sentences of an answer, or the nearest passages if declined; then its notes."""
    lines = [
        f"[{cited.n}] {format_place(cited.title, cited.locator)}"
        + (f"  {cited.location}" if cited.origin == "web" else "")
        for cited in trace.citations
    ]
    lines += [
        f"{STRENGTH_BADGES[one.strength].word.capitalize()}: {one.sentence}"
        for one in trace.sentences
        if one.strength != "supported"
    ]
    if trace.outcome == "not_answered":
        nearest = [trace.passages[number] for number in trace.found.get("library", ())]
        places = (format_place(passage.title, passage.locator) for passage in nearest)
        lines = [_("Nearest: {place}").format(place=place) for place in dict.fromkeys(places)]
    return printable(
        "\n".join([*lines, *(_("Note: {note}").format(note=translate_text(note)) for note in trace.notes)])
    )


def added_text(result: AddResult) -> str:
    """Return one line about one added or refused source."""
    if result.error:
        return printable(f"✗ {result.source}: {translate_text(result.error.message)}")
    pages = f"{format_pages(result.pages, result.kind)}, " if result.pages else ""
    if result.status == "unchanged":
        return printable(_("✓ {source}: already added as “{title}”").format(source=result.source, title=result.title))
    words = {"added": _("added"), "replaced": _("replaced with the new text")}
    name = result.source if split_member_location(result.source) else result.title
    note = f". {translate_text(result.note)}" if result.note else ""
    return printable(f"✓ {name}: {words[result.status]}, {pages}{format_count(result.passages, 'passage')}{note}")


def check_text(check: Check) -> str:
    """Return one line of the set-up checklist, with the remedy and its commands below."""
    sign = {"ok": "✓", "warn": "○", "fail": "✗"}[check.status]
    commands = [line for line in check.action.commands.splitlines() if line not in check.fix] if check.action else []
    lines = [
        f"{sign} {translate_text(check.name)}: {translate_text(check.detail)}",
        f"  {translate_text(check.fix)}" if check.fix else "",
    ]
    return "\n".join([line for line in lines if line] + [f"      {command}" for command in commands])


def _error_json(trace: Trace) -> Json:
    message = f"{trace.error} {trace.remedy}".strip() or f"The answer was {trace.state}."
    return {"code": trace.error_code or trace.state, "message": message}


def _web_json(trace: Trace) -> Json:
    why = trace.web_skipped or (trace.action_reason if trace.query_sent else None) or None
    return {"used": bool(trace.query_sent), "query": trace.query_sent or None, "why": why}


def _verdict_json(trace: Trace, verdict: Verdict) -> Json:
    passage = trace.passages[verdict.passage_id]
    return {
        "passage_id": passage.id,
        **_fields(passage, "source_id title page last_page sheet origin"),
        "score": verdict.score,
        "verdict": verdict.word,
        "reason": verdict.reason,
        "strips": [asdict(strip) for strip in trace.strips.get(passage.id, ())],
    }
