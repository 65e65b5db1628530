"""Markdown export of a conversation: readable as plain text; no viewer loads or links anything from it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from crag.amounts import count
from crag.foreign_text import calm, is_web_address, one_line, visible
from crag.inspection import badges
from crag.models.choice import model_label
from crag.moments import day_and_minute
from crag.runs import Trace
from crag.sharing.document import SharedConversation, SharedRun
from crag.types import Citation

_FORMATTING = re.compile(r"[\\`*_\[\]<>|~$]")
_BLOCK = re.compile(r"^(\d{0,9})([#+=.)-])")
ENDINGS = {
    "running": "The answer was still being written when this was exported.",
    "waiting": "The answer waited for a decision about the web when this was exported.",
    "stopped": "Stopped before the end.",
    "interrupted": "The application was closed while this was written.",
}


def write_markdown(shared: SharedConversation) -> str:
    """Render the displayed branch: questions, answers, sources with quotes, and notes."""
    runs = {run.id: run for run in shared.runs}
    shown = shared.shown()
    asked = sum(message.role == "user" for message in shown)
    facts = [day_and_minute(shared.created_at), count(asked, "question"), "CRAG Chat"]
    parts = [f"# {plain(shared.title)}", " · ".join(facts)]
    for message in shown:
        if message.role == "user":
            parts += ["---", _question(message.text)]
        elif message.run in runs:
            parts += _answer(runs[message.run], shared)
    return "\n\n".join(parts) + "\n"


def plain(text: str) -> str:
    """Return untrusted text as one line without formatting."""
    line = calm(one_line(text))
    return _BLOCK.sub(r"\1\\\2", _FORMATTING.sub(r"\\\g<0>", line))


def _question(text: str) -> str:
    lines = [plain(line) for line in text.strip().split("\n")]
    return f"## {lines[0]}" if len(lines) == 1 else "## Question\n\n" + "  \n".join(lines)


def _answer(run: SharedRun, shared: SharedConversation) -> Iterable[str]:
    trace = Trace().apply_all(run.events)
    if trace.text:
        yield _closed(calm(visible(trace.text)).replace("$", r"\$"))
    if trace.state in ENDINGS:
        yield f"*{ENDINGS[trace.state]}*"
    if trace.state == "failed":
        yield f"*The answer failed.* {plain(f'{trace.error} {trace.remedy}')}"
    yield _facts(run, trace, shared)
    if trace.citations:
        yield "**Sources**"
        yield "\n".join(map(_source, trace.citations))
    if trace.query_sent:
        yield f"> Sent to {plain(trace.web_provider)}: “{plain(trace.query_sent)}”"
    for note in trace.notes:
        yield f"> {plain(note)}"


def _facts(run: SharedRun, trace: Trace, shared: SharedConversation) -> str:
    """Return the origin of the answer, its model, date and version."""
    facts = [f"**{badges.of_answer(trace).word}**", *badges.facts(trace)]
    if trace.model:
        facts.append(plain(model_label(trace.model)))
    facts.append(day_and_minute(run.started_at))
    versions = shared.versions(run)
    if len(versions) > 1:
        facts.append(f"version {versions.index(run) + 1} of {len(versions)}")
    return " · ".join(facts)


def _source(cited: Citation) -> str:
    """Render one source as a list item with its own number and the quote below."""
    entry = plain(cited.title) + (f", p. {cited.page}" if cited.page is not None else "")
    if is_web_address(cited.location):
        entry += f"  \n   {_code(cited.location)}"
    quote = f"\n   > {plain(cited.quote)}" if cited.quote.strip() else ""
    return f"{cited.n}. {entry}{quote}"


def _code(text: str) -> str:
    """Render text as a code span, which no viewer turns into a link."""
    line = one_line(text)
    fence = "`" * (max(map(len, re.findall("`+", line)), default=0) + 1)
    return f"{fence} {line} {fence}" if "`" in line else f"`{line}`"


def _closed(text: str) -> str:
    """Close a code block that the answer left open; otherwise it would swallow the text that follows."""
    from markdown_it import MarkdownIt

    last = MarkdownIt("commonmark").parse(f"{text}\n\nWhat follows")[-1]
    return f"{text}\n{last.markup}" if last.type == "fence" else text
