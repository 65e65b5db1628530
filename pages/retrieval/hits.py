"""One hit: its rank, its score components, and its text with matching words in bold."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from crag.types import Hit
from pages.parts import markdown, words

_LONGEST_TEXT = 1_500


def draw(number: int, hit: Hit, on_open: Callable[[int], None]) -> None:
    """Draw a hit; `on_open` receives the passage id when the user opens the document."""
    passage = hit.passage
    with st.container(border=True, gap="xsmall", key=f"hit-{number}"):
        st.button(
            f"**{number}** · {markdown.place_label(passage.title, passage.page, 120)}",
            icon=":material/description:",
            type="tertiary",
            wrap=False,
            key=f"open-{passage.id}",
            on_click=on_open,
            args=(passage.id,),
        )
        if passage.heading not in ("", passage.title):
            st.caption(markdown.label(passage.heading, 160))
        st.markdown(f":small[{_scores(hit)}]")
        st.markdown(_text(hit))
        if passage.also_in:
            st.caption(f":material/content_copy: {_folded(passage.also_in)}")


def _scores(hit: Hit) -> str:
    """Return the fused score, and rank and score by words and by vectors."""
    by_words = f"{_nth(hit.words_rank)}, {hit.words:.1f}" if hit.words_rank else "none shared"
    if hit.cosine is None:
        by_meaning = "no vector yet"
    else:
        by_meaning = f"{_nth(hit.meaning_rank)}, {hit.cosine:.2f}" if hit.meaning_rank else f"{hit.cosine:.2f}"
    return f"**Score {hit.passage.score:.2f}** · words {by_words} · meaning {by_meaning}"


def _nth(rank: int | None) -> str:
    """Return an English ordinal: 1st, 22nd, 13th."""
    number = rank or 0
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _text(hit: Hit) -> str:
    """Return the text of the passage, truncated if very long, with words of the question in bold."""
    from crag.library.search.marking import find_terms

    text = hit.passage.text[:_LONGEST_TEXT]
    parts, end = [], 0
    for start, stop in find_terms(text, hit.matched):
        parts += [markdown.verbatim(text[end:start]), f"**{markdown.verbatim(text[start:stop])}**"]
        end = stop
    rest = markdown.verbatim(text[end:])
    return "".join([*parts, rest, "…" if len(hit.passage.text) > _LONGEST_TEXT else ""])


def _folded(titles: tuple[str, ...]) -> str:
    """Return the other documents that contain the same text."""
    named = ", ".join(markdown.label(title, 80) for title in titles[:4])
    more = f" and {words.count(len(titles) - 4, 'other document')}" if len(titles) > 4 else ""
    return f"The same text is also in {named}{more}."
