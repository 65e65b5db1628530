"""View values of one answer on the HTML page: plain and cleaned; the template escapes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from crag.foreign_text import is_web_address, one_line, visible
from crag.inspection import badges
from crag.inspection.badges import Badge
from crag.inspection.names import change_in_words
from crag.model_calls import ModelCall
from crag.models.choice import model_label
from crag.moments import day_and_minute
from crag.runs import Trace
from crag.sharing.answer_text import render_answer
from crag.sharing.document import SharedRun
from crag.sharing.markdown import ENDINGS
from crag.sharing.steps import StepView, view_step
from crag.types import Citation

MayLink = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Quoted:
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
    quoted: Quoted


@dataclass(frozen=True, slots=True)
class AnswerView:
    """One answer with everything the page shows about it."""

    number: int
    question: str
    badge: Badge
    facts: str
    made: str
    version: str
    text: Markup
    ending: str
    sent: str
    notes: Sequence[str]
    sources: Sequence[SourceView]
    thought: str
    steps: Sequence[StepView]
    feedback: str
    calls: Sequence[ModelCall]


def view_answer(
    number: int, run: SharedRun, versions: Sequence[SharedRun], may_link: MayLink, calls: Iterable[ModelCall] = ()
) -> AnswerView:
    """Build the view of a run's answer, which is number `number` on its page."""
    trace = Trace().apply_all(run.events)
    sources = [_source(number, cited, trace, run, may_link) for cited in trace.citations]
    links = {one.n: (one.anchor, one.place) for one in sources}
    sentences = () if trace.outcome == "not_answered" else trace.sentences
    return AnswerView(
        number=number,
        question=visible(run.question),
        badge=badges.of_answer(trace),
        facts=" · ".join(badges.facts(trace)),
        made=" · ".join(fact for fact in (_model(trace), day_and_minute(run.started_at)) if fact),
        version=_version(run, versions),
        text=render_answer(trace.text, links, sentences),
        ending=_ending(trace),
        sent=f"Sent to {one_line(trace.web_provider)}: “{one_line(trace.query_sent)}”" if trace.query_sent else "",
        notes=[one_line(note) for note in trace.notes],
        sources=sources,
        thought=visible(trace.thought).strip(),
        steps=[view_step(step, trace) for step in trace.steps],
        feedback=_feedback(run),
        calls=list(calls),
    )


def _model(trace: Trace) -> str:
    return one_line(model_label(trace.model)) if trace.model else ""


def _version(run: SharedRun, versions: Sequence[SharedRun]) -> str:
    if len(versions) < 2:
        return ""
    change = f" · {one_line(change_in_words(run.change))}" if run.change else ""
    return f"Version {versions.index(run) + 1} of {len(versions)}{change}"


def _feedback(run: SharedRun) -> str:
    if run.feedback is None:
        return ""
    word = "Found helpful" if run.feedback.helpful else "Found not helpful"
    return f"{word}: {one_line(run.feedback.reason)}" if run.feedback.reason else word


def _ending(trace: Trace) -> str:
    if trace.state == "failed":
        return one_line(f"{trace.error} {trace.remedy}") or "The answer failed."
    return ENDINGS.get(trace.state, "")


def _source(number: int, cited: Citation, trace: Trace, run: SharedRun, may_link: MayLink) -> SourceView:
    passage = trace.passages.get(cited.passage_id)
    address = visible(cited.location) if is_web_address(cited.location) else ""
    return SourceView(
        n=cited.n,
        anchor=f"a{number}-source-{cited.n}",
        title=one_line(cited.title),
        place=_place(cited.title, cited.page),
        web=cited.origin == "web",
        address=address,
        link=address if address == cited.location and may_link(address) else "",
        fetched=day_and_minute(run.started_at) if cited.origin == "web" else "",
        quoted=_quoted(passage.text if passage else cited.quote, cited.quote),
    )


def _place(title: str, page: int | None) -> str:
    return one_line(title) if page is None else f"{one_line(title)} · p. {page}"


def _quoted(text: str, quote: str) -> Quoted:
    """Split the passage around the quote, ignoring whitespace; return the quote alone if the passage lacks it."""
    text, quote = one_line(text), one_line(quote)
    if not quote or quote not in text:
        return Quoted("", quote, "") if quote else Quoted(text, "", "")
    before, strong, after = text.partition(quote)
    return Quoted(before, strong, after)
