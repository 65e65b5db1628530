"""Support of each sentence of an answer by its sources, folded below the answer."""

from __future__ import annotations

from collections.abc import Iterator

import streamlit as st

from crag.runs import Trace
from crag.types import Citation, Support
from pages.chat import state
from pages.parts import markdown, words

_SENTENCE, _QUOTE = 400, 260


def draw(run_id: str, trace: Trace) -> None:
    """Draw a folded row that is filled when opened; nothing for an answer without citations."""
    if not trace.sentences or not trace.citations or trace.outcome == "not_answered":
        return
    folded = st.expander("What each sentence rests on", type="compact", key=f"rests-{run_id}", on_change="rerun")
    if folded.open:
        with folded, st.container(gap="medium"):
            for number, sentence in enumerate(trace.sentences):
                _draw_sentence(run_id, trace, sentence, f"rests-{run_id}-{number}")


def sources_of(trace: Trace, sentence: Support) -> Iterator[tuple[Citation, str]]:
    """Yield the sources of a sentence, each with the quote that supports it, or the citation's own quote."""
    for cited in trace.citations:
        if cited.n in sentence.citations:
            passage = trace.passages.get(cited.passage_id)
            carries = bool(sentence.quote and passage and sentence.quote in passage.text)
            yield cited, sentence.quote if carries else cited.quote


def _draw_sentence(run_id: str, trace: Trace, sentence: Support, key: str) -> None:
    with st.container(gap="xxsmall"):
        shown = markdown.sentence(sentence.sentence, _SENTENCE)
        st.markdown(f":small[{words.strength_badge(sentence.strength)} {shown}]")
        for cited, quote in sources_of(trace, sentence):
            if quote and markdown.sentence(quote, _SENTENCE) != shown:  # else it repeats the sentence
                st.caption(f"“{markdown.label(quote, _QUOTE)}”")
            st.button(
                f":blue[**{cited.n}**] {markdown.place_label(cited.title, cited.page, 70)}",
                icon=":material/format_quote:",
                type="tertiary",
                key=f"{key}-{cited.n}",
                on_click=state.open_source,
                args=(run_id, cited.passage_id, quote),
            )
