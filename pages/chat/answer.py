"""One finished answer: origin, text, sources, support by sentence, thinking."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

import streamlit as st

from crag.app import model_checks
from crag.inspection import run_labels
from crag.inspection.steps import describe_sent_query
from crag.runs.trace import Trace
from crag.text.formatting import format_count, format_duration
from crag.translation import N_, _, translate_text
from crag.types import Citation, Message, Support
from pages.chat import answer_actions, consent, failures, route_result, state, versions
from pages.chat.answer_actions import AnswerMarks
from pages.chat.questions import regenerate_answer, search_web_for
from pages.parts import labels, markdown, setup_checklist
from pages.parts.address import open_page
from pages.parts.routes import Page
from pages.parts.services import application
from pages.parts.session import is_phone

_SPACE_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:ms|s|min)\b)")  # a line must not end between them
_SENTENCE_LENGTH, _QUOTE_LENGTH = 400, 260
_ENGINE_NOTICE = N_(
    "No language model is in use. These sentences match the words of your question: check that they answer it."
)
_SUMMARY_NOTICE = N_(
    "No language model is in use, so the summary quotes the sentences that have most in common with their section."
)


def _draw_support(run_id: str, trace: Trace) -> None:
    """Draw a folded row that is filled when opened; nothing for an answer without citations."""
    if not trace.sentences or not trace.citations or trace.outcome == "not_answered":
        return
    folded = st.expander(_("Source of each sentence"), type="compact", key=f"rests-{run_id}", on_change="rerun")
    if folded.open:
        with folded, st.container(gap="medium"):
            for number, sentence in enumerate(trace.sentences):
                _draw_sentence_support(run_id, trace, sentence, f"rests-{run_id}-{number}")


def _draw_sentence_support(run_id: str, trace: Trace, sentence: Support, key: str) -> None:
    with st.container(gap="xxsmall"):
        shown = markdown.escape_sentence(sentence.sentence, _SENTENCE_LENGTH)
        st.markdown(f":small[{labels.badge_markdown(run_labels.STRENGTH_BADGES[sentence.strength])} {shown}]")
        for cited in trace.citations_of(sentence):
            repeated = markdown.escape_sentence(cited.readable_quote, _SENTENCE_LENGTH) == shown
            if cited.quote and not repeated:
                st.caption(f"“{markdown.escape_line(cited.readable_quote, _QUOTE_LENGTH)}”")
            st.button(
                f":blue[**{cited.n}**] {markdown.escape_place(cited.title, cited.locator, _place_length())}",
                icon=":material/format_quote:",
                type="tertiary",
                key=f"{key}-{cited.n}",
                on_click=state.open_source,
                args=(run_id, cited.passage_id, cited.quote),
            )


_SENTENCE_ENDS = re.compile(r"(?<=[.!?。！？])\s*|\n+")
_THOUGHT_LENGTH = 90


def _draw_thinking(run_id: str, trace: Trace) -> None:
    """Draw the folded thinking with its duration; the text is sent to the browser only when opened."""
    if not trace.thought.strip():
        return
    seconds = trace.thought_until - trace.thought_from
    taken = format_duration(seconds) if seconds >= 1 else ""
    folded = st.expander(
        _("Reasoned for {taken}").format(taken=taken) if taken else _("Reasoned"),
        type="compact",
        icon=":material/neurology:",
        key=f"thought-{run_id}",
        on_change="rerun",
    )
    if folded.open:
        with folded:
            st.caption(markdown.escape_paragraphs(trace.thought))


def is_thinking(trace: Trace) -> bool:
    """Return whether the model is thinking and has not started to answer."""
    return bool(trace.thought) and not trace.text and trace.state == "running"


def last_thought(trace: Trace) -> str:
    """Return the last complete sentence of the thinking; safe Markdown, empty before the first one."""
    sentences = [part for part in _SENTENCE_ENDS.split(trace.thought[-2000:]) if part.strip()]
    return markdown.escape_line(sentences[-2], _THOUGHT_LENGTH) if len(sentences) > 1 else ""


ANSWER_AVATAR = ":material/fact_check:"
_NEAREST_SHOWN = 4
_SEARCHES_OFFERED = 3
_LINK_GAP = "\u2003"
_CUT_PROMPT_NOTE = N_("may be based on less than is shown")


def draw_answer(message: Message, trace: Trace, question_id: int, marks: AnswerMarks, *, last: bool) -> None:
    """Draw an answer; unless it is the last one, with few elements: each costs the browser a millisecond or more."""
    run_id = message.run_id or ""
    if trace.outcome == "talk":
        draw_answer_text(run_id, trace)
        if last and not application().library.counts()[0]:
            _draw_add_documents(run_id)
        answer_actions.draw_more_menu(run_id, trace, question_id, marks, with_trace=True)
        return
    _draw_head(message, run_id, trace, last=last)
    _draw_thinking(run_id, trace)
    if trace.text:
        draw_answer_text(run_id, trace)
    route_result.draw_route_result(run_id, trace)
    _draw_notes(trace)
    failures.draw_failure(run_id, trace, last=last)
    if last:
        _draw_details(run_id, trace)
    else:
        _draw_source_links(run_id, trace)
    answer_actions.draw_actions(run_id, trace, question_id, marks, last=last)


def _draw_details(run_id: str, trace: Trace) -> None:
    """Draw what is between the text and its actions: sources, suggestions."""
    if trace.citations:
        _draw_sources(run_id, trace)
        _draw_support(run_id, trace)
    if trace.outcome == "not_answered":
        _draw_alternatives(run_id, trace)
    _draw_unsupported_sentences(run_id, trace)
    _draw_engine_notice(run_id, trace)


def draw_engine_change(trace: Trace, earlier: Iterable[Trace]) -> None:
    """Draw a line if another engine answers than before; `earlier` as in `describe_engine_change`."""
    if change := run_labels.describe_engine_change(trace, earlier):
        st.caption(f":material/memory: {markdown.sanitize_answer(change)}")


def draw_waiting_answer(run_id: str, trace: Trace) -> None:
    """Draw an answer that waits for consent to a web search."""
    _draw_headline(run_id, answer_headline(trace))
    versions.draw_earlier_version(run_id)
    consent.draw_consent_card(run_id, trace)


def draw_answer_text(run_id: str, trace: Trace, *, links: bool = True) -> None:
    """Draw the answer's text with unsupported sentences marked; `links` makes its citations clickable."""
    known = {cited.n: cited for cited in trace.citations} if links else {}
    checked = () if trace.outcome == "not_answered" else trace.sentences
    cited = [trace.citations_of(sentence) for sentence in checked] if links else ()
    st.markdown(markdown.sanitize_answer(trace.text, known, run_id, checked, cited), anchors=False)


def outcome_sentence(trace: Trace) -> str:
    """Return how a run ended, for screen readers."""
    if trace.state != "done" or trace.outcome is None:
        return {"stopped": _("Stopped"), "failed": failures.failure_title(trace)}.get(trace.state, "")
    if trace.outcome == "talk":
        return _("Reply ready")
    return _("Answer ready, {word}, {sources}").format(
        word=run_labels.answer_badge(trace).word, sources=format_count(len(trace.citations), "source")
    )


def answer_headline(trace: Trace, *, imported: bool = False) -> str:
    """Return the answer's origin as a badge, followed by its facts."""
    facts = run_labels.answer_facts(trace) + ([_("imported")] if imported else [])
    grey = _SPACE_BEFORE_UNIT.sub("\u00a0", " · ".join(facts))
    return f"{labels.badge_markdown(run_labels.answer_badge(trace))} {labels.grey_text(grey)}"


def _draw_head(message: Message, run_id: str, trace: Trace, *, last: bool) -> None:
    headline = answer_headline(trace, imported=message.imported)
    if not last and message.versions < 2:
        st.markdown(headline)
        return
    with st.container(gap=None):
        if last:
            _draw_headline(run_id, headline)
        else:
            st.markdown(headline)
        if message.versions > 1:
            versions.draw_versions(run_id)


def _draw_headline(run_id: str, headline: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(headline, width="content")
        st.button(
            _("Trace"),
            icon=":material/account_tree:",
            type="tertiary",
            key=f"trace-of-{run_id}",
            on_click=state.open_trace,
            args=(run_id,),
        )


def _draw_notes(trace: Trace) -> None:
    if trace.state == "stopped":
        st.caption(_("Stopped by you. {kept_sentence}").format(kept_sentence=failures.kept_sentence(trace)))
    elif trace.state == "interrupted":
        st.caption(
            _("The app closed while writing this answer. {kept_sentence}").format(
                kept_sentence=failures.kept_sentence(trace)
            )
        )
    if sent := describe_sent_query(trace):
        st.caption(f":material/arrow_circle_up: {markdown.escape_line(sent, 600)}")
    for note in trace.notes:
        sign = (
            ":orange[:material/warning:]" if trace.usage.prompt_cut and _CUT_PROMPT_NOTE in note else ":material/info:"
        )
        st.caption(f"{sign} {markdown.escape_line(translate_text(note))}")


def _draw_unsupported_sentences(run_id: str, trace: Trace) -> None:
    """Offer one web search per unsupported sentence, or say how to set up a search."""
    unsupported = [item.sentence for item in trace.sentences if item.strength == "unsupported"]
    if not unsupported or trace.outcome == "not_answered":
        return
    if not state.has_web_search():
        count = format_count(len(unsupported), "sentence")
        st.caption(
            _("{count} without a source. To search the web for one, add TAVILY_API_KEY to .env.").format(count=count)
        )
        return
    with st.container(gap="xsmall"):
        for index, sentence in enumerate(unsupported[:_SEARCHES_OFFERED]):
            which = (
                _("the sentence without a source")
                if len(unsupported) == 1
                else f"“{markdown.escape_line(sentence, 60)}”"
            )
            st.button(
                _("Search the web for {which}").format(which=which),
                icon=":material/travel_explore:",
                type="tertiary",
                key=f"look-{run_id}-{index}",
                on_click=search_web_for,
                args=(run_id, sentence),
            )


def _draw_engine_notice(run_id: str, trace: Trace) -> None:
    """Draw, below an answer of the built-in engine, what it is and how to install a model."""
    if trace.prompt is None or trace.prompt.window or trace.outcome == "not_answered":
        return
    notice = _(_SUMMARY_NOTICE) if trace.route == "document" else _(_ENGINE_NOTICE)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(notice, width="content")
        setup_checklist.draw_check_action(model_checks.LLAMA_CHECK, f"notice-{run_id}")


def _draw_sources(run_id: str, trace: Trace) -> None:
    locators = run_labels.source_locators(trace)
    with st.container(horizontal=True, gap="small"):
        for cited in trace.citations:
            st.button(
                _source_label(cited, locators),
                key=f"source-{run_id}-{cited.n}",
                type="tertiary",
                help=_full_place(cited, locators),
                on_click=state.open_source,
                args=(run_id, cited.passage_id, cited.quote),
            )


def _full_place(cited: Citation, locators: Mapping[int, str]) -> str | None:
    """Return the title and locator if the label cuts them; a phone has no pointer to show them at."""
    whole, cut = (markdown.escape_place(cited.title, locators[cited.n], most) for most in (300, _place_length()))
    return None if whole == cut or is_phone() else whole


def _draw_source_links(run_id: str, trace: Trace) -> None:
    """Draw the sources as links in a single element."""
    if trace.citations:
        locators = run_labels.source_locators(trace)
        links = (markdown.citation_link(cited, run_id, _source_label(cited, locators)) for cited in trace.citations)
        st.markdown(f":small[{_LINK_GAP.join(links)}]")


def _source_label(cited: Citation, locators: Mapping[int, str]) -> str:
    icon = ":material/public:" if cited.origin == "web" else ":material/description:"
    return f":blue[**{cited.n}**] {icon} {markdown.escape_place(cited.title, locators[cited.n], _place_length())}"


def _place_length() -> int:
    """Return the number of characters of a title and locator that fit a line."""
    return 32 if is_phone() else 60


def _draw_alternatives(run_id: str, trace: Trace) -> None:
    nearest = {(passage.title, passage.locator): passage for passage in reversed(trace.nearest_passages)}
    if nearest:
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            st.caption(_("Nearest passages:"), width="content")
            for passage in [*reversed(nearest.values())][:_NEAREST_SHOWN]:
                st.button(
                    markdown.escape_place(passage.title, passage.locator, _place_length()),
                    icon=":material/description:",
                    key=f"nearest-{run_id}-{passage.id}",
                    type="tertiary",
                    on_click=state.open_source,
                    args=(run_id, passage.id),
                )
    with st.container(horizontal=True):
        if trace.wants_web and not trace.query_sent and state.has_web_search():
            st.button(
                _("Allow web search and try again"),
                icon=":material/public:",
                key=f"web-{run_id}",
                on_click=regenerate_answer,
                args=(run_id, replace(trace.options, web="ask")),
            )
        if trace.options.is_limited:
            st.button(
                _("Search all documents"),
                icon=":material/search:",
                key=f"all-{run_id}",
                on_click=regenerate_answer,
                args=(run_id, replace(trace.options, collection="", source_ids=())),
            )
        _draw_add_documents(run_id)


def _draw_add_documents(run_id: str) -> None:
    if st.button(_("Add documents"), icon=Page.DOCUMENTS.icon, key=f"add-{run_id}"):
        open_page(Page.DOCUMENTS)
