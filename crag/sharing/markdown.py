"""Markdown export of a conversation, readable as plain text; no viewer loads or links anything from it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from crag.inspection import run_labels
from crag.inspection.steps import describe_sent_query
from crag.models.model_choice import model_label
from crag.runs.trace import Trace
from crag.sharing.conversation_document import SharedConversation, SharedRun
from crag.text.formatting import format_count, format_date_time, format_number, format_place
from crag.text.sanitization import has_web_scheme, neutralize_markdown, strip_invisible, to_one_line
from crag.translation import N_, _, translate_text
from crag.types import Citation, TableResult

_FORMATTING_CHARACTERS = re.compile(r"[\\`*_\[\]<>|~$]")
_BLOCK_START = re.compile(r"^(\d{0,9})([#+=.)-])")
UNFINISHED_NOTES = {
    "running": N_("The answer was still being written when this was exported."),
    "waiting": N_("The answer was waiting for permission to search the web when this was exported."),
    "stopped": N_("Stopped before the end."),
    "interrupted": N_("The app closed while writing this answer."),
}


def write_markdown(shared: SharedConversation) -> str:
    """Render the displayed branch: questions, answers, sources with quotes, and notes."""
    runs = {run.id: run for run in shared.runs}
    shown = shared.shown_messages()
    asked = sum(message.role == "user" for message in shown)
    facts = [format_date_time(shared.created_at), format_count(asked, "question"), "CRAG Chat"]
    parts = [f"# {escape_line(shared.title)}", " · ".join(facts)]
    changes = describe_engine_changes([runs[message.run] for message in shown if message.run in runs])
    for message in shown:
        if message.role == "user":
            parts += ["---", _question_heading(message.text)]
        elif message.run in runs:
            parts += [f"> {escape_line(changes[message.run])}"] if changes[message.run] else []
            parts += _answer_parts(runs[message.run], shared)
    return "\n\n".join(parts) + "\n"


def describe_engine_changes(runs: Sequence[SharedRun]) -> dict[int, str]:
    """Return `describe_engine_change` for each run of the displayed branch, by run id."""
    traces = [Trace().apply_all(run.events) for run in runs]
    return {
        run.id: run_labels.describe_engine_change(trace, reversed(traces[:position]))
        for position, (run, trace) in enumerate(zip(runs, traces, strict=True))
    }


def escape_line(text: str) -> str:
    """Return untrusted text as one line without formatting."""
    line = neutralize_markdown(to_one_line(text))
    return _BLOCK_START.sub(r"\1\\\2", _FORMATTING_CHARACTERS.sub(r"\\\g<0>", line))


def _question_heading(text: str) -> str:
    lines = [escape_line(line) for line in text.strip().split("\n")]
    return f"## {lines[0]}" if len(lines) == 1 else f"## {_('Question')}\n\n" + "  \n".join(lines)


def _answer_parts(run: SharedRun, shared: SharedConversation) -> Iterable[str]:
    trace = Trace().apply_all(run.events)
    if trace.text:
        yield close_code_fence(neutralize_markdown(strip_invisible(trace.text)).replace("$", r"\$"))
    if trace.table and not trace.table.is_figure:
        yield write_result_table(trace.table)
        yield from filter(None, [describe_cut(trace.table)])
    if trace.state in UNFINISHED_NOTES:
        yield f"*{_(UNFINISHED_NOTES[trace.state])}*"
    if trace.state == "failed":
        yield _("*The answer failed.* {failure}").format(
            failure=escape_line(translate_text(f"{trace.error} {trace.remedy}"))
        )
    yield _answer_facts(run, trace, shared)
    if trace.citations:
        yield _("**Sources**")
        yield "\n".join(map(write_source_item, trace.citations))
    if sent := describe_sent_query(trace):
        yield f"> {escape_line(sent)}"
    for note in trace.notes:
        yield f"> {escape_line(note)}"


def write_cell(cell: str | float | None) -> str:
    """Return a cell of a result as one line; names and cells come from a document."""
    return "" if cell is None else to_one_line(cell) if isinstance(cell, str) else f"{round(cell, 4)}"


def describe_cut(result: TableResult) -> str:
    """Return how many rows of a result are left out; empty if none."""
    if result.total_rows <= len(result.rows):
        return ""
    return _("First {rows} of {total}.").format(
        rows=format_number(len(result.rows)), total=format_count(result.total_rows, "row")
    )


def write_result_table(result: TableResult) -> str:
    """Return the table of a calculated answer."""
    rows = [
        [escape_line(cell) if isinstance(cell, str) else write_cell(cell) for cell in row]
        for row in (result.columns, *result.rows)
    ]
    rows.insert(1, ["---"] * len(result.columns))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _answer_facts(run: SharedRun, trace: Trace, shared: SharedConversation) -> str:
    """Return the origin of the answer, its model, date and version."""
    facts = [f"**{run_labels.answer_badge(trace).word}**", *run_labels.answer_facts(trace)]
    if trace.model:
        facts.append(escape_line(translate_text(model_label(trace.model))))
    facts.append(format_date_time(run.started_at))
    versions = shared.versions(run)
    if len(versions) > 1:
        facts.append(escape_line(run_labels.version_label(versions.index(run) + 1, len(versions), run.change)))
    return " · ".join(facts)


def write_source_item(cited: Citation) -> str:
    """Render a source as a list item with its own number and the quote below."""
    entry = escape_line(format_place(cited.title, cited.locator))
    if has_web_scheme(cited.location):
        entry += f"  \n   {_code_span(cited.location)}"
    quote = f"\n   > {escape_line(cited.readable_quote)}" if cited.quote.strip() else ""
    return f"{cited.n}. {entry}{quote}"


def _code_span(text: str) -> str:
    """Render text as a code span, which no viewer turns into a link."""
    line = to_one_line(text)
    fence = "`" * (max(map(len, re.findall("`+", line)), default=0) + 1)
    return f"{fence} {line} {fence}" if "`" in line else f"`{line}`"


def close_code_fence(text: str) -> str:
    """Close a code block that the answer left open; otherwise it would swallow the text that follows."""
    from markdown_it import MarkdownIt

    last = MarkdownIt("commonmark").parse(f"{text}\n\nWhat follows")[-1]
    return f"{text}\n{last.markup}" if last.type == "fence" else text
