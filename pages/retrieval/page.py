"""Retrieval page: the passages that a query finds and their scores, without a model answer."""

from __future__ import annotations

import time
from collections.abc import Callable

import streamlit as st

from crag.text.formatting import format_count, format_duration, format_number
from crag.translation import N_, _
from crag.types import SearchHit
from pages.parts import layout, markdown, source_drawer
from pages.parts.option_controls import draw_collection_select
from pages.parts.routes import Page
from pages.parts.services import application

_MAX_TEXT_LENGTH = 1_500


def draw_hit(number: int, hit: SearchHit, on_open: Callable[[int], None]) -> None:
    """Draw a hit; `on_open` receives the passage id when the user opens the document."""
    passage = hit.passage
    with st.container(border=True, gap="xsmall", key=f"hit-{number}"):
        st.button(
            f"**{number}** · {markdown.escape_place(passage.title, passage.locator, 120)}",
            icon=":material/description:",
            type="tertiary",
            wrap=False,
            key=f"open-{passage.id}",
            on_click=on_open,
            args=(passage.id,),
        )
        if passage.heading not in ("", passage.title):
            st.caption(markdown.escape_line(passage.heading, 160))
        st.markdown(f":small[{_score_line(hit)}]")
        st.markdown(_highlighted_text(hit))
        if passage.also_in:
            st.caption(f":material/content_copy: {_duplicates_note(passage.also_in)}")


def _score_line(hit: SearchHit) -> str:
    """Return the fused score, and rank and score by words and by vectors."""
    by_words = f"{_ordinal(hit.word_rank)}, {hit.word_score:.1f}" if hit.word_rank else _("none shared")
    if hit.cosine is None:
        by_meaning = _("not embedded yet")
    else:
        by_meaning = f"{_ordinal(hit.vector_rank)}, {hit.cosine:.2f}" if hit.vector_rank else f"{hit.cosine:.2f}"
    return _("**Score {score:.2f}** · words {by_words} · meaning {by_meaning}").format(
        score=hit.passage.score, by_words=by_words, by_meaning=by_meaning
    )


def _ordinal(rank: int | None) -> str:
    """Return an English ordinal: 1st, 22nd, 13th."""
    number = rank or 0
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _highlighted_text(hit: SearchHit) -> str:
    """Return the text of the passage, truncated if very long, with words of the question in bold."""
    from crag.retrieval.full_text import find_term_spans

    text = hit.passage.text[:_MAX_TEXT_LENGTH]
    parts, end = [], 0
    for start, stop in find_term_spans(text, hit.matched):
        parts += [markdown.escape_verbatim(text[end:start]), f"**{markdown.escape_verbatim(text[start:stop])}**"]
        end = stop
    rest = markdown.escape_verbatim(text[end:])
    return "".join([*parts, rest, "…" if len(hit.passage.text) > _MAX_TEXT_LENGTH else ""])


def _duplicates_note(titles: tuple[str, ...]) -> str:
    """Return the other documents that contain the same text."""
    named = ", ".join(markdown.escape_line(title, 80) for title in titles[:4])
    if len(titles) > 4:
        others = format_count(len(titles) - 4, "other document")
        return _("The same text is also in {named} and {others}.").format(named=named, others=others)
    return _("The same text is also in {named}.").format(named=named)


_MAX_QUERY_LENGTH = 2_000
_MAX_HITS = 50
_PASSAGE_KEY = "opened_passage"
_MEANING = N_("See what a question finds in your documents, and why. Nothing is graded and no language model is used.")
_LEGEND = {
    N_("Score"): N_("words and meaning combined, up to 1.00"),
    N_("Words"): N_("rank and score (BM25) by words shared with the question"),
    N_("Meaning"): N_("rank and cosine similarity of the embeddings, up to 1.00"),
}


def main() -> None:
    """Draw the page."""
    layout.draw_sidebar_legend(_("How to read a result"), _LEGEND)
    layout.draw_heading(Page.RETRIEVAL, _(_MEANING))
    if not application().library.size():
        st.caption(_("No documents yet. Add some, then see what a question finds in them."))
        return
    query, k, collection = _draw_query_form()
    if query:
        _draw_search_results(query, k, collection)
    if view := st.session_state.get(_PASSAGE_KEY):
        source_drawer.open_passage(view, _close_passage)


def _draw_query_form() -> tuple[str, int, str]:
    """Draw the inputs; return the query, the number of hits, and the collection, empty for all."""
    query = st.text_input(
        _("Question or words"),
        icon=":material/search:",
        placeholder=_("When is the lift serviced?"),
        max_chars=_MAX_QUERY_LENGTH,
        key="retrieval_query",
    )
    names = [collection.name for collection in application().library.collections()]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        collection = draw_collection_select(_("Within"), names, key="retrieval_collection", width=320)
        k = st.number_input(_("Passages"), 1, _MAX_HITS, 4, key="retrieval_hits", width=140)
    return (query or "").strip(), int(k), collection


def _draw_search_results(query: str, k: int, collection: str) -> None:
    library = application().library
    began = time.perf_counter()
    found, notice = library.explain(query, k, collection)
    seconds = time.perf_counter() - began
    if notice:
        st.caption(f":orange[:material/info:] {markdown.escape_line(notice)}")
    st.caption(_search_summary(found, library.size(collection), seconds))
    with st.container(gap="medium"):
        for number, hit in enumerate(found, start=1):
            draw_hit(number, hit, _open_passage)


def _search_summary(found: list[SearchHit], size: int, seconds: float) -> str:
    """Return the number of hits, the searched passages, the duration and the embedding space."""
    space = markdown.escape_line(application().embedders.answering(), 60)
    if not found:
        return _("Nothing found among {passages}. Try other words, or search all documents.").format(
            passages=format_count(size, "passage")
        )
    return _(
        "{found} of {passages}, found in {seconds}. Meaning: *{space}*. Words in **bold** are "
        "in the question and the passage."
    ).format(
        found=format_number(len(found)),
        passages=format_count(size, "passage"),
        seconds=format_duration(seconds),
        space=space,
    )


def _open_passage(passage_id: int) -> None:
    st.session_state[_PASSAGE_KEY] = source_drawer.SourceView("", passage_id)


def _close_passage() -> None:
    st.session_state.pop(_PASSAGE_KEY, None)


main()
