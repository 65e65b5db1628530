"""HTML export of conversations and runs as one self-contained page: no scripts, requests or fonts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from crag.inspection import run_labels
from crag.inspection.run_labels import STRENGTH_BADGES, Badge, version_label
from crag.inspection.steps import StepDescription, describe_sent_query, describe_steps
from crag.models.model_choice import model_label
from crag.runs.trace import Trace
from crag.sharing.conversation_document import SharedConversation, SharedRun
from crag.sharing.markdown import UNFINISHED_NOTES, describe_cut, describe_engine_changes, write_cell
from crag.text.formatting import format_count, format_date_time, format_place
from crag.text.html import load_page_template
from crag.text.sanitization import (
    SUPPORT_MARKS,
    WORD_JOINER,
    has_web_scheme,
    mark_unsupported_sentences,
    strip_invisible,
    to_one_line,
)
from crag.translation import _, translate_text
from crag.types import Citation, ModelCall, Support, TableResult

if TYPE_CHECKING:
    from jinja2 import Template
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


_CITATION_MARKER = re.compile(r"(\[\d{1,3}\])")
_BADGE_HTML = ' <span class="badge {}"><svg class="icon" aria-hidden="true"><use href="#{}"/></svg>{}</span>'


def render_answer(text: str, links: Mapping[int, tuple[str, str]], sentences: Sequence[Support] = ()) -> Markup:
    """Render the answer. `links` maps the number of a source to its anchor and hover text.

    `sentences` that have no support, or weak support, are marked.
    """
    reader = _markdown_parser()
    marked = mark_unsupported_sentences(text, sentences)
    tokens = reader.parse(marked.replace("\\[", f"[{WORD_JOINER}"))  # the parser would turn \[1] into a citation
    for token in tokens:
        token.info = ""  # drop the language of code blocks; the page does not use it
        if token.children:
            token.children = [part for child in token.children for part in _link_citations(child, links)]
    html = reader.renderer.render(tokens, reader.options, {})
    for strength, mark in SUPPORT_MARKS.items():
        sign = STRENGTH_BADGES[strength]
        html = html.replace(mark, _BADGE_HTML.format(sign.colour, sign.icon, sign.word))
    return Markup(html)  # noqa: S704 — all markup comes from the escaping renderer or this module


@cache
def _markdown_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    return reader.disable(["image", "link", "autolink", "html_inline", "html_block", "reference"])


def _link_citations(token: Token, links: Mapping[int, tuple[str, str]]) -> list[Token]:
    """Split a text token at citations of known sources."""
    if token.type != "text":
        return [token]
    return [_citation_token(part, links) for part in _CITATION_MARKER.split(token.content) if part]


def _citation_token(part: str, links: Mapping[int, tuple[str, str]]) -> Token:
    from markdown_it.token import Token

    found = links.get(int(part[1:-1])) if _CITATION_MARKER.fullmatch(part) else None
    if found is None:
        return Token("text", "", 0, content=part)
    link = Markup('<a class="cite" href="#{}" title="{}">{}</a>').format(*found, part)
    return Token("html_inline", "", 0, content=str(link))


LinkPolicy = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class HighlightedQuote:
    """Text in three parts; the middle one is emphasized and may be empty."""

    before: str
    strong: str
    after: str


@dataclass(frozen=True, slots=True)
class SourceView:
    """One source under an answer. `address` is empty for a file; `link` is empty if a link is not allowed."""

    n: int
    anchor: str
    title: str
    place: str
    web: bool
    address: str
    link: str
    fetched: str
    quoted: HighlightedQuote


@dataclass(frozen=True, slots=True)
class AnswerView:
    """One answer with everything the page shows about it."""

    number: int
    question: str
    engine_change: str
    badge: Badge
    facts: str
    made: str
    version: str
    text: Markup
    table: Sequence[Sequence[str]]
    table_note: str
    ending: str
    sent: str
    notes: Sequence[str]
    sources: Sequence[SourceView]
    thought: str
    steps: Sequence[StepDescription]
    feedback: str
    calls: Sequence[ModelCall]


def build_answer_view(
    number: int,
    run: SharedRun,
    versions: Sequence[SharedRun],
    may_link: LinkPolicy,
    *,
    calls: Iterable[ModelCall] = (),
    engine_change: str = "",
) -> AnswerView:
    """Build the view of a run's answer, which is number `number` on its page."""
    trace = Trace().apply_all(run.events)
    sources = [_source_view(number, cited, trace, run, may_link) for cited in trace.citations]
    links = {one.n: (one.anchor, one.place) for one in sources}
    sentences = () if trace.outcome == "not_answered" else trace.sentences
    return AnswerView(
        number=number,
        question=strip_invisible(run.question),
        engine_change=to_one_line(engine_change),
        badge=run_labels.answer_badge(trace),
        facts=" · ".join(run_labels.answer_facts(trace)),
        made=" · ".join(fact for fact in (_model_text(trace), format_date_time(run.started_at)) if fact),
        version=version_label(versions.index(run) + 1, len(versions), run.change) if len(versions) > 1 else "",
        text=render_answer(trace.text, links, sentences),
        table=_result_rows(trace.table),
        table_note=describe_cut(trace.table) if trace.table else "",
        ending=_ending_text(trace),
        sent=describe_sent_query(trace),
        notes=[to_one_line(note) for note in trace.notes],
        sources=sources,
        thought=strip_invisible(trace.thought).strip(),
        steps=describe_steps(trace),
        feedback=_feedback_text(run),
        calls=list(calls),
    )


def _result_rows(result: TableResult | None) -> list[list[str]]:
    """Return the names of the columns and the rows of a result; nothing if it is one figure."""
    if result is None or result.is_figure:
        return []
    return [[write_cell(cell) for cell in row] for row in (result.columns, *result.rows)]


def _model_text(trace: Trace) -> str:
    return to_one_line(translate_text(model_label(trace.model))) if trace.model else ""


def _feedback_text(run: SharedRun) -> str:
    if run.feedback is None:
        return ""
    word = _("Found helpful") if run.feedback.helpful else _("Found not helpful")
    return f"{word}: {to_one_line(run.feedback.reason)}" if run.feedback.reason else word


def _ending_text(trace: Trace) -> str:
    if trace.state == "failed":
        return to_one_line(translate_text(f"{trace.error} {trace.remedy}")) or _("The answer failed.")
    return _(UNFINISHED_NOTES.get(trace.state, ""))


def _source_view(number: int, cited: Citation, trace: Trace, run: SharedRun, may_link: LinkPolicy) -> SourceView:
    passage = trace.passages.get(cited.passage_id)
    address = strip_invisible(cited.location) if has_web_scheme(cited.location) else ""
    return SourceView(
        n=cited.n,
        anchor=f"a{number}-source-{cited.n}",
        title=to_one_line(cited.title),
        place=format_place(to_one_line(cited.title), to_one_line(cited.locator)),
        web=cited.origin == "web",
        address=address,
        link=address if address == cited.location and may_link(address) else "",
        fetched=format_date_time(run.started_at) if cited.origin == "web" else "",
        quoted=HighlightedQuote("", to_one_line(cited.row), "")
        if cited.row
        else _highlight_quote(passage.text if passage else cited.quote, cited.quote),
    )


def _highlight_quote(text: str, quote: str) -> HighlightedQuote:
    """Split the passage around the quote, ignoring whitespace; return the quote alone if the passage lacks it."""
    text, quote = to_one_line(text), to_one_line(quote)
    if not quote or quote not in text:
        return HighlightedQuote("", quote, "") if quote else HighlightedQuote(text, "", "")
    before, strong, after = text.partition(quote)
    return HighlightedQuote(before, strong, after)


@dataclass(frozen=True, slots=True)
class _PageView:
    """Title, facts and answers of a page."""

    title: str
    facts: str
    answers: Sequence[AnswerView]


def render_conversation_page(shared: SharedConversation, may_link: LinkPolicy) -> str:
    """Render the displayed branch."""
    runs = {run.id: run for run in shared.runs}
    shown = [runs[message.run] for message in shared.shown_messages() if message.run in runs]
    changes = describe_engine_changes(shown)
    answers = [
        build_answer_view(number, run, shared.versions(run), may_link, engine_change=changes[run.id])
        for number, run in enumerate(shown, start=1)
    ]
    facts = f"{format_count(len(answers), 'question')} · {format_date_time(shared.created_at)}"
    return _template().render(page=_PageView(strip_invisible(shared.title), facts, answers))


def render_run_page(
    run: SharedRun, versions: Sequence[SharedRun], calls: Sequence[ModelCall], may_link: LinkPolicy
) -> str:
    """Render one answer with the prompts that were sent for it."""
    view = build_answer_view(1, run, versions, may_link, calls=calls)
    return _template().render(
        page=_PageView(strip_invisible(run.question)[:200], format_date_time(run.started_at), [view])
    )


@cache
def _template() -> Template:
    return load_page_template("page.html.jinja", Path(__file__).parent)
