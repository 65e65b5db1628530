"""Both answers of a comparison in two columns, stacked on narrow screens."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from crag.inspection.differences import Piece, compared
from crag.runs import Trace
from pages.chat import consent
from pages.chat.answer import draw_text, headline
from pages.compare.sides import Side
from pages.parts import markdown, steps, words


def draw(one: Side, other: Side) -> None:
    """Draw each answer with its name, outcome, text, sources and notes; words unique to it are marked."""
    marked = _marked(one, other)
    for column, side, pieces in zip(st.columns(2, gap="large"), (one, other), marked, strict=True):
        with column:
            st.header(f"{side.name} {words.grey(side.detail)}", anchor=False)
            _draw(side.run_id, side.trace, pieces)
    if any(marked):
        st.caption(":yellow-background[Marked]: words that only this answer has.")
    elif one.trace.text and one.trace.text == other.trace.text:
        st.caption("Both answers say the same, word for word.")


def _marked(one: Side, other: Side) -> tuple[list[Piece], list[Piece]]:
    """Split both texts into pieces if both are complete, differ, and have enough in common."""
    texts = one.trace.text, other.trace.text
    if one.on_its_way or other.on_its_way or not all(texts) or texts[0] == texts[1]:
        return [], []
    return compared(*texts) or ([], [])


def _draw(run_id: str, trace: Trace, pieces: Sequence[Piece]) -> None:
    st.markdown(steps.under_way(trace) if trace.state == "running" else headline(trace))
    if trace.waiting:
        consent.draw(run_id, trace)
    elif pieces:
        st.markdown("".join(map(_piece, pieces)))
    elif trace.text:
        draw_text(run_id, trace, links=False)
    if trace.state == "failed":
        st.markdown(f"**{markdown.label(trace.error)}** {markdown.answer(trace.remedy)}")
    for cited in trace.citations:
        st.markdown(f":small[:blue[**{cited.n}**] {markdown.place_label(cited.title, cited.page, 90)}]")
    for note in trace.notes:
        st.caption(f":material/info: {markdown.label(note)}")


def _piece(piece: Piece) -> str:
    """Return plain text, highlighted line by line if unique to this answer: a highlight cannot span lines."""
    if not piece.own:
        return markdown.verbatim(piece.text)
    lines = (_yellow(line) for line in piece.text.split("\n"))
    return "  \n".join(lines)


def _yellow(line: str) -> str:
    bare = line.strip()
    if not bare:
        return line
    before, after = line[: len(line) - len(line.lstrip())], line[len(line.rstrip()) :]
    return f"{before}:yellow-background[{markdown.verbatim(bare)}]{after}"
