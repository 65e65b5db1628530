"""Source drawer: one passage in its document, with its verdict and the actions on it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from crag.errors import CragError
from crag.runs import Trace
from crag.types import Passage, Ruling, Strip, Verdict
from pages.parts import found, markdown, pins, steps, web_source, words
from pages.parts.device import is_phone
from pages.parts.resources import application

_CONTEXT_LENGTH = 6_000
_SENTENCES, _SENTENCE_LENGTH = 3, 160
_RULINGS: dict[Ruling, tuple[str, str]] = {
    "use": ("Use it", ":material/add:"),
    "drop": ("Drop it", ":material/remove:"),
}


@dataclass(frozen=True, slots=True)
class SourceView:
    """Passage of a run to show, with the sentence that supports the answer."""

    run_id: str
    passage_id: int
    quote: str = ""


@dataclass(frozen=True, slots=True)
class Actions:
    """Callbacks of the drawer.

    `only` receives the source id when the next questions are limited to that source; `overrule` receives the run,
    the passage and the user's ruling.
    """

    close: Callable[[], None]
    only: Callable[[str], None]
    overrule: Callable[[str, int, Ruling], None]


def open_drawer(view: SourceView, actions: Actions) -> None:
    """Draw the drawer over the page."""
    trace = application().runs.trace(view.run_id)
    passage = trace.passages.get(view.passage_id)
    if passage is None:
        return
    icon = ":material/public:" if passage.origin == "web" else ":material/description:"
    title = markdown.label(passage.title, 120) or "Untitled"
    dialog = st.dialog(title, width=720, position="right", icon=icon, on_dismiss=actions.close)
    dialog(_draw)(view, trace, passage, actions)


def open_passage(passage_id: int, on_close: Callable[[], None]) -> None:
    """Draw the drawer for a passage of the library that belongs to no run."""
    passage = application().library.passage(passage_id)
    title = markdown.label(passage.title, 120) if passage else "This document is no longer in the library"
    dialog = st.dialog(title, width=720, position="right", icon=":material/description:", on_dismiss=on_close)
    dialog(_draw_alone)(passage)


def _draw_alone(passage: Passage | None) -> None:
    if passage is not None:
        _draw_original(SourceView("", passage.id), passage, ())


def _draw(view: SourceView, trace: Trace, passage: Passage, actions: Actions) -> None:
    verdict, cut = trace.verdicts.get(passage.id), trace.strips.get(passage.id, ())
    st.markdown(f"{words.verdict_badge(verdict)} :small[{_why(verdict, trace)}]")
    if passage.origin == "web":
        web_source.draw(view.run_id, passage)
    with st.container(horizontal=True, vertical_alignment="center"):
        _rulings(view, trace, actions)
        if passage.origin == "library" and st.button(
            "Only this document", icon=":material/filter_alt:", type="tertiary"
        ):
            actions.only(passage.source_id)
            st.rerun()
        pins.draw_switch(view.run_id, passage)
    _resting(passage, trace)
    if passage.origin == "web":
        _text(view, passage, cut)
    else:
        _draw_original(view, passage, cut)


def _resting(passage: Passage, trace: Trace) -> None:
    """Draw the sentences of the answer that this passage supports."""
    numbers = {cited.n for cited in trace.citations if cited.passage_id == passage.id}
    resting = [sentence for sentence in trace.sentences if numbers & set(sentence.citations)]
    if not resting:
        return
    label = f"Sentences of the answer that rest on this {words.grey(str(len(resting)))}"
    with st.expander(label, type="compact", key=f"resting-{passage.id}"), st.container(gap="xxsmall"):
        for sentence in resting[:_SENTENCES]:
            badge = words.strength_badge(sentence.strength)
            st.markdown(f":small[{badge} {markdown.sentence(sentence.sentence, _SENTENCE_LENGTH)}]")
        if len(resting) > _SENTENCES:
            st.caption(f"and {len(resting) - _SENTENCES} more")


def _why(verdict: Verdict | None, trace: Trace) -> str:
    """Return the grader's reason; for an overridden verdict, prefixed with the grader's own word."""
    if verdict is None:
        return ""
    reason = markdown.label(verdict.reason)
    if verdict.ruling is None or trace.thresholds is None:
        return reason
    return f"The grader says {trace.thresholds.word(verdict.score)}. {reason}"


def _rulings(view: SourceView, trace: Trace, actions: Actions) -> None:
    """Draw the buttons that override the grader; each creates another version of the answer."""
    verdict = trace.verdicts.get(view.passage_id)
    if verdict is None or trace.state in ("running", "waiting"):
        return
    for ruling, (word, icon) in _RULINGS.items():
        useless = verdict.word == ("relevant" if ruling == "use" else "irrelevant")
        if not useless and st.button(
            f"{word} and answer again",
            icon=icon,
            key=f"{ruling}-{view.passage_id}",
            on_click=actions.overrule,
            args=(view.run_id, view.passage_id, ruling),
        ):
            st.rerun()


def _draw_original(view: SourceView, passage: Passage, cut: Sequence[Strip]) -> None:
    """Draw which web search found the document, the page image where there is one, and the text."""
    _draw_found(passage)
    path = _picture_file(passage)
    if path is None or passage.page is None:
        _text(view, passage, cut)
        return
    try:
        pages = _page_count(str(path))
    except CragError as error:
        st.caption(markdown.label(str(error)))
        _text(view, passage, cut)
        return
    page_tab, text_tab = st.tabs(["Page", "Text"])
    with page_tab:
        _page(view, passage, path, pages)
    with text_tab:
        _text(view, passage, cut)


def _draw_found(passage: Passage) -> None:
    try:
        origin = found.line(application().library.source(passage.source_id))
    except CragError:  # removed since the answer was written
        return
    if origin:
        st.caption(origin)


def _picture_file(passage: Passage) -> Path | None:
    """Return the stored original if its pages can be rendered."""
    library = application().library
    try:
        return library.original(passage.source_id) if library.source(passage.source_id).kind == "pdf" else None
    except CragError:  # removed since the answer was written; the trace still has its text
        return None


def _page(view: SourceView, passage: Passage, path: Path, pages: int) -> None:
    """Draw the part of the page around the passage, or the whole page; other pages are always whole."""
    key = f"page-{view.run_id}-{view.passage_id}"
    own = passage.page or 1
    number = min(max(1, st.session_state.get(key, own)), pages)
    here = number == own
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        meaning = f" · {_meaning(view)}" if here else ""
        st.markdown(f":small[Page {number} of {pages}{words.grey(meaning)}]", width="content")
        _turning(key, number, pages)
    cut = here and not st.toggle("Whole page", key=f"{key}-whole", persist_state="session")
    picture = _picture(str(path), number, passage.text if here else "", view.quote if here else "", cut=cut)
    with st.container(border=True):
        width = "content" if cut and not is_phone() else "stretch"
        st.image(picture, width=width, alt=f"Page {number} of {passage.title}")


def _turning(key: str, number: int, pages: int) -> None:
    with st.container(horizontal=True, width="content"):
        for word, icon, side, to in (
            ("Back", ":material/chevron_left:", "left", (number - 2) % pages + 1),
            ("Next", ":material/chevron_right:", "right", number % pages + 1),
        ):
            st.button(
                word,
                icon=icon,
                icon_position=side,
                type="tertiary",
                disabled=pages == 1,  # never otherwise: Esc does not reach the drawer from a disabled button with focus
                key=f"{key}-{word}",
                on_click=_turn,
                args=(key, to),
            )


def _meaning(view: SourceView) -> str:
    return "pale: the graded passage, strong: what the answer rests on" if view.run_id else "marked: the passage"


def _turn(key: str, number: int) -> None:
    st.session_state[key] = number


@st.cache_data(max_entries=256, show_spinner=False)
def _page_count(path: str) -> int:
    from crag.library.pictures import page_count

    return page_count(Path(path))


@st.cache_data(max_entries=64, show_spinner=False)
def _picture(path: str, page: int, highlight: str, strong: str, *, cut: bool) -> bytes:
    from crag.library.pictures import page_picture

    return page_picture(Path(path), page, highlight, strong, around_passage=cut)


def _text(view: SourceView, passage: Passage, cut: Sequence[Strip]) -> None:
    before, found, after = passage.context.partition(passage.text)
    if not found:
        before, after = "", ""
    if before.strip():
        _context(before[-_CONTEXT_LENGTH:])
    if cut:
        for strip in cut:
            st.markdown(steps.strip_line(strip, view.quote))
    else:
        st.markdown(steps.marked(passage.text, view.quote))
    if after.strip():
        _context(after[:_CONTEXT_LENGTH])


def _context(text: str) -> None:
    """Draw the surrounding text paragraph by paragraph, since a colour directive ends with its paragraph."""
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        st.markdown(f":gray[{markdown.paragraphs(paragraph)}]")
