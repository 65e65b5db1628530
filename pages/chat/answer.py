"""One finished answer: origin, text, sources, and what the user can do next."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from crag.inspection import badges
from crag.runs import Trace
from crag.types import Citation, Message
from pages.chat import actions, consent, failures, more, state, support, thoughts, versions
from pages.chat.questions import answer_again, search_for
from pages.parts import markdown, setup, words

AVATAR = ":material/fact_check:"
_NEAREST = 4
_SEARCHED = 3
_GAP = "\u2003"
_ALARM = "may rest on less than is shown"


def draw(message: Message, trace: Trace, question_id: int, *, last: bool) -> None:
    """Draw an answer; unless it is the last one, draw few elements until the user opens its actions.

    Each element costs the browser a few milliseconds.
    """
    run_id = message.run_id or ""
    expanded = last or actions.are_open(run_id)
    _head(message, run_id, trace, expanded=expanded)
    thoughts.draw(run_id, trace)
    if trace.text:
        draw_text(run_id, trace)
    _notes(trace)
    failures.draw(run_id, trace, last=last)
    if expanded:
        _whole(run_id, trace, question_id, last=last)
    else:
        _sources_in_short(run_id, trace)
        more.draw(run_id, trace, question_id, folded=True)


def _whole(run_id: str, trace: Trace, question_id: int, *, last: bool) -> None:
    """Draw what is below the text: sources, suggestions, actions."""
    if trace.citations:
        _sources(run_id, trace)
        support.draw(run_id, trace)
    if trace.outcome == "not_answered":
        _ways_out(run_id, trace)
    if last:
        _without_source(run_id, trace)
        _engine_notice(run_id, trace)
    actions.draw(run_id, trace, question_id)


def draw_waiting(run_id: str, trace: Trace) -> None:
    """Draw an answer that waits for consent to a web search."""
    _headline(run_id, trace)
    versions.draw_earlier(run_id)
    consent.draw(run_id, trace)


def draw_text(run_id: str, trace: Trace, *, links: bool = True) -> None:
    """Draw the answer's text with unsupported sentences marked; `links` makes its citations clickable."""
    known = {cited.n: cited for cited in trace.citations} if links else {}
    checked = () if trace.outcome == "not_answered" else trace.sentences
    st.markdown(markdown.answer(trace.text, known, run_id, checked), anchors=False)


def sentence_of_outcome(trace: Trace) -> str:
    """Return how a run ended, for screen readers."""
    if trace.state != "done" or trace.outcome is None:
        return {"stopped": "Stopped", "failed": failures.title(trace)}.get(trace.state, "")
    return f"Answer ready, {words.outcome_word(trace.outcome)}, {words.count(len(trace.citations), 'source')}"


def headline(trace: Trace) -> str:
    """Return the answer's origin as a badge, followed by its facts."""
    return f"{words.badge(badges.of_answer(trace))} {words.grey(' · '.join(badges.facts(trace)))}"


def _head(message: Message, run_id: str, trace: Trace, *, expanded: bool) -> None:
    if not expanded and message.versions < 2:
        st.markdown(headline(trace))
        return
    with st.container(gap=None):
        _headline(run_id, trace)
        if message.versions > 1:
            versions.draw(run_id)


def _headline(run_id: str, trace: Trace) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(headline(trace), width="content")
        st.button(
            "Trace",
            icon=":material/account_tree:",
            type="tertiary",
            key=f"trace-of-{run_id}",
            on_click=state.open_trace,
            args=(run_id,),
        )


def _notes(trace: Trace) -> None:
    if trace.state == "stopped":
        st.caption(f"Stopped by you. {failures.what_is_kept(trace)}")
    elif trace.state == "interrupted":
        st.caption(f"The application was closed while this was written. {failures.what_is_kept(trace)}")
    if trace.query_sent:
        sent = f"Sent to {markdown.label(trace.web_provider)}: “{markdown.label(trace.query_sent)}”"
        st.caption(f":material/arrow_circle_up: {sent}")
    for note in trace.notes:
        sign = ":orange[:material/warning:]" if trace.usage.prompt_cut and _ALARM in note else ":material/info:"
        st.caption(f"{sign} {markdown.label(note)}")


def _without_source(run_id: str, trace: Trace) -> None:
    """Offer one web search per unsupported sentence, or say how to set up a search."""
    unsupported = [item.sentence for item in trace.sentences if item.strength == "unsupported"]
    if not unsupported or trace.outcome == "not_answered":
        return
    if not state.web_is_there():
        count = words.count(len(unsupported), "sentence")
        st.caption(f"{count} without a source. A web search could look for one: put TAVILY_API_KEY into .env.")
        return
    with st.container(gap="xsmall"):
        for index, sentence in enumerate(unsupported[:_SEARCHED]):
            which = "the sentence without a source" if len(unsupported) == 1 else f"“{markdown.label(sentence, 60)}”"
            st.button(
                f"Search the web for {which}",
                icon=":material/travel_explore:",
                type="tertiary",
                key=f"look-{run_id}-{index}",
                on_click=search_for,
                args=(run_id, sentence),
            )


def _engine_notice(run_id: str, trace: Trace) -> None:
    """Draw, below an answer of the built-in engine, what it is and how to install a model."""
    if trace.prompt is None or trace.prompt.window or trace.outcome == "not_answered":
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption("Answers quote what was found; no language model is running.", width="content")
        setup.draw_action(setup.LLAMA, f"notice-{run_id}")


def _sources(run_id: str, trace: Trace) -> None:
    with st.container(horizontal=True, gap="small"):
        for cited in trace.citations:
            st.button(
                _source_words(cited),
                key=f"source-{run_id}-{cited.n}",
                type="tertiary",
                on_click=state.open_source,
                args=(run_id, cited.passage_id, cited.quote),
            )


def _sources_in_short(run_id: str, trace: Trace) -> None:
    """Draw the sources as links in a single element."""
    if trace.citations:
        links = (markdown.citation_link(cited, run_id, _source_words(cited)) for cited in trace.citations)
        st.markdown(f":small[{_GAP.join(links)}]")


def _source_words(cited: Citation) -> str:
    icon = ":material/public:" if cited.origin == "web" else ":material/description:"
    return f":blue[**{cited.n}**] {icon} {markdown.place_label(cited.title, cited.page, 70)}"


def _ways_out(run_id: str, trace: Trace) -> None:
    passages = [trace.passages[found] for found in trace.found.get("library", ())]
    nearest = {markdown.place(passage.title, passage.page): passage for passage in reversed(passages)}
    if nearest:
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            st.caption("Nearest:", width="content")
            for place, passage in [*reversed(nearest.items())][:_NEAREST]:
                st.button(
                    markdown.label(place, 60),
                    icon=":material/description:",
                    key=f"nearest-{run_id}-{passage.id}",
                    type="tertiary",
                    on_click=state.open_source,
                    args=(run_id, passage.id),
                )
    with st.container(horizontal=True):
        if trace.wants_web and not trace.query_sent and state.web_is_there():
            st.button(
                "Allow web search and try again",
                icon=":material/public:",
                key=f"web-{run_id}",
                on_click=answer_again,
                args=(run_id, replace(trace.options, web="ask")),
            )
        if st.button("Add documents", icon=":material/folder_open:", key=f"add-{run_id}"):
            st.switch_page("pages/documents/page.py")
