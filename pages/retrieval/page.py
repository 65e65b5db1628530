"""Retrieval page: the passages that a query finds and their scores, without a model answer."""

from __future__ import annotations

import time

import streamlit as st

from crag.ledger import on_behalf_of
from crag.types import Hit
from pages.parts import heading, markdown, source, words
from pages.parts.person import person
from pages.parts.resources import application
from pages.retrieval import hits

_EVERYTHING = "All documents"
_LONGEST_QUERY = 2_000
_MOST_HITS = 50
_MEANING = "What a question finds in your documents, and why. No model is asked, nothing is graded."
_LEGEND = {
    "Score": "words and meaning weighed together, 1.00 at most",
    "Words": "rank and score (BM25) by the words it shares with the question",
    "Meaning": "rank and cosine by vectors, 1.00 at most",
}


def main() -> None:
    """Draw the page."""
    heading.legend("How to read a hit", _LEGEND)
    heading.draw("Try retrieval", _MEANING)
    if not application().library.size():
        st.caption("The library is empty: add documents first, then see here what a question finds in them.")
        return
    query, k, collection = _ask()
    if query:
        _search(query, k, collection)
    if passage_id := st.session_state.get("opened_passage"):
        source.open_passage(passage_id, _close)


def _ask() -> tuple[str, int, str]:
    """Draw the inputs; return the query, the number of hits, and the collection, empty for all."""
    query = st.text_input(
        "Question or words",
        icon=":material/search:",
        placeholder="When is the lift serviced?",
        key="retrieval_query",
    )
    names = [collection.name for collection in application().library.collections()]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.selectbox("Within", [_EVERYTHING, *names], key="retrieval_collection", width=320)
        k = st.number_input("Hits", 1, _MOST_HITS, 4, key="retrieval_hits", width=140)
    return (query or "").strip()[:_LONGEST_QUERY], int(k), "" if chosen == _EVERYTHING else chosen


def _search(query: str, k: int, collection: str) -> None:
    library = application().library
    began = time.perf_counter()
    with on_behalf_of(person() or ""):
        found = library.explain(query, k, collection)
    seconds = time.perf_counter() - began
    if notice := library.spaces.answering.notice():
        st.caption(f":orange[:material/info:] {markdown.label(notice)}")
    st.caption(_facts(found, library.size(collection), seconds))
    with st.container(gap="medium"):
        for number, hit in enumerate(found, start=1):
            hits.draw(number, hit, _open)


def _facts(found: list[Hit], size: int, seconds: float) -> str:
    """Return the number of hits, the searched passages, the duration and the embedding space."""
    space = markdown.label(application().embedders.answering(), 60)
    if not found:
        return f"Nothing found among {words.count(size, 'passage')}. Other words, or all documents, may find more."
    return (
        f"{words.count(len(found), 'hit')} of {words.count(size, 'passage')}, found in {words.duration(seconds)}."
        f" Meaning by *{space}*. **Bold** is what the question and the passage share."
    )


def _open(passage_id: int) -> None:
    st.session_state.opened_passage = passage_id


def _close() -> None:
    st.session_state.pop("opened_passage", None)


main()
