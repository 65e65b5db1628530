"""Source drawer: one passage in its document, with its verdict and the actions on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from crag.errors import CragError
from crag.inspection.run_labels import STRENGTH_BADGES, VERDICT_BADGES
from crag.runs.trace import Trace
from crag.text.formatting import format_date
from crag.text.tables import find_columns
from crag.translation import N_, _, translate_text
from crag.types import Passage, Ruling, Source, Strip, Verdict
from pages.parts import labels, markdown, notes, page_view, pins
from pages.parts.components import draw_page_picture
from pages.parts.services import application
from pages.parts.session import is_phone
from pages.parts.trace import strip_markdown

if TYPE_CHECKING:
    from crag.library.page_images import PageImage


def _draw_web_page(run_id: str, passage: Passage) -> None:
    """Draw the address as plain text, the fetch date, and a menu of collections."""
    st.text(passage.location)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if moment := web_fetch_time(run_id):
            st.caption(_("Fetched {moment}").format(moment=format_date(moment)), width="content")
        key = f"keep-{run_id}-{passage.id}"
        st.menu_button(
            _("Add this page to…"),
            [collection.name for collection in application().library.collections()],
            format_func=lambda name: markdown.escape_line(name, 60),
            icon=":material/library_add:",
            type="tertiary",
            key=key,
            on_click=_add_web_page,
            args=(key, run_id, passage.location),
        )


def web_fetch_time(run_id: str) -> float | None:
    """Return when the web was searched for a run, in epoch seconds; None if no query was sent.

    For a version that reused earlier results, return the time of the original search.
    """
    runs = application().runs
    trace = runs.trace(run_id)
    try:
        while not trace.query_sent and trace.parent:
            trace = runs.trace(trace.parent)
    except CragError:  # the parent version was deleted
        return None
    step = trace.step("web_search")
    return trace.started_at + step.started + (step.seconds or 0.0) if step and trace.query_sent else None


def _add_web_page(key: str, run_id: str, location: str) -> None:
    collection = st.session_state[key]
    application().gaps.add_page(location, collection, found_by=run_id)
    st.toast(
        _("Adding the page to {collection}: see Documents.").format(collection=markdown.escape_line(collection, 60)),
        icon=":material/library_add:",
    )


FOUND_BY_WEB_SEARCH = N_("found by a web search")


def _found_by_line(source: Source) -> str:
    """Return that a web search found the source, with the question if it is the user's own; safe Markdown or empty."""
    if not source.found_on_web:
        return ""
    found = _(FOUND_BY_WEB_SEARCH).capitalize()
    if source.found_by:
        question = markdown.escape_line(source.found_by, 160)
        found = _("{found} for “{found_by}”").format(found=found, found_by=question)
    return f":material/travel_explore: {found}"


_CONTEXT_LENGTH, _CONTEXT_STYLE = 6_000, ":gray[{}]"
_REASON_LENGTH, _PHONE_REASON_LENGTH = 300, 90  # shorter on a phone, so that the cited sentence is in view
_SENTENCES_SHOWN, _SENTENCE_LENGTH = 3, 160
_RULING_BUTTONS: dict[Ruling, tuple[str, str]] = {
    "use": (N_("Use anyway"), ":material/add:"),
    "drop": (N_("Leave out"), ":material/remove:"),
}


@dataclass(frozen=True, slots=True)
class SourceView:
    """Passage to show, with the sentence that supports the answer; without a run, a passage of the library.

    Each view has a number of its own, so that pages turned in one do not matter to the next.
    """

    run_id: str
    passage_id: int
    quote: str = ""
    number: int = field(default_factory=page_view.next_view_number)


@dataclass(frozen=True, slots=True)
class DrawerActions:
    """Callbacks of the drawer.

    `only` receives the source id when the next questions are limited to that source; `overrule` receives the run,
    the passage and the user's ruling.
    """

    close: Callable[[], None]
    only: Callable[[str], None]
    overrule: Callable[[str, int, Ruling], None]


def open_drawer(view: SourceView, actions: DrawerActions) -> None:
    """Draw the drawer over the page."""
    trace = application().runs.trace(view.run_id)
    passage = trace.passages.get(view.passage_id)
    if passage is None:
        return
    icon = ":material/public:" if passage.origin == "web" else ":material/description:"
    dialog = st.dialog(
        markdown.escape_title(passage.title), width=720, position="right", icon=icon, on_dismiss=actions.close
    )
    dialog(_draw_run_passage)(view, trace, passage, actions)


def open_passage(view: SourceView, on_close: Callable[[], None]) -> None:
    """Draw the drawer for a passage of the library that belongs to no run."""
    passage = application().library.passage(view.passage_id)
    title = markdown.escape_title(passage.title) if passage else _("This document is no longer in the library")
    dialog = st.dialog(title, width=720, position="right", icon=":material/description:", on_dismiss=on_close)
    dialog(_draw_library_passage)(view, passage)


def _draw_library_passage(view: SourceView, passage: Passage | None) -> None:
    if passage is not None:
        _draw_original(view, passage, ())


def _draw_run_passage(view: SourceView, trace: Trace, passage: Passage, actions: DrawerActions) -> None:
    verdict, cut = trace.verdicts.get(passage.id), trace.strips.get(passage.id, ())
    st.markdown(f"{labels.verdict_badge(verdict)} :small[{_verdict_reason(verdict, trace)}]")
    if passage.origin == "web":
        _draw_web_page(view.run_id, passage)
    upper, lower = st.container(), st.container()
    is_picture_first = is_phone() and passage.page is not None and page_view.pdf_file(passage.source_id) is not None
    with lower if is_picture_first else upper:
        _draw_actions(view, trace, passage, actions)
        _draw_supported_sentences(passage, trace)
    with upper if is_picture_first else lower:
        if passage.origin == "web":
            _draw_passage_text(view, passage, cut)
        else:
            _draw_original(view, passage, cut)


def _draw_actions(view: SourceView, trace: Trace, passage: Passage, actions: DrawerActions) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        _draw_rulings(view, trace, actions)
        if passage.origin == "library" and st.button(
            _("Only this document"), icon=":material/filter_alt:", type="tertiary"
        ):
            actions.only(passage.source_id)
            st.rerun()
        notes.draw_keep_button(view.run_id, passage)
        pins.draw_pin_switch(view.run_id, passage)


def _draw_supported_sentences(passage: Passage, trace: Trace) -> None:
    """Draw the sentences of the answer that this passage supports."""
    numbers = {cited.n for cited in trace.citations if cited.passage_id == passage.id}
    resting = [sentence for sentence in trace.sentences if numbers & set(sentence.citations)]
    if not resting:
        return
    label = _("Sentences of the answer that cite this source {resting}").format(
        resting=labels.grey_text(str(len(resting)))
    )
    with st.expander(label, type="compact", key=f"resting-{passage.id}"), st.container(gap="xxsmall"):
        for sentence in resting[:_SENTENCES_SHOWN]:
            badge = labels.badge_markdown(STRENGTH_BADGES[sentence.strength])
            st.markdown(f":small[{badge} {markdown.escape_sentence(sentence.sentence, _SENTENCE_LENGTH)}]")
        if len(resting) > _SENTENCES_SHOWN:
            st.caption(_("and {resting} more").format(resting=len(resting) - _SENTENCES_SHOWN))


def _verdict_reason(verdict: Verdict | None, trace: Trace) -> str:
    """Return the grader's reason; for an overridden verdict, prefixed with the grader's own word."""
    if verdict is None:
        return ""
    reason = markdown.escape_line(
        translate_text(verdict.reason), _PHONE_REASON_LENGTH if is_phone() else _REASON_LENGTH
    )
    if verdict.ruling is None or trace.thresholds is None:
        return reason
    word = VERDICT_BADGES[trace.thresholds.verdict_for(verdict.score)].word
    return _("The grader says {word}. {reason}").format(word=word, reason=reason)


def _draw_rulings(view: SourceView, trace: Trace, actions: DrawerActions) -> None:
    """Draw the buttons that override the grader; each creates another version of the answer."""
    verdict = trace.verdicts.get(view.passage_id)
    if verdict is None or trace.state in ("running", "waiting"):
        return
    for ruling, (word, icon) in _RULING_BUTTONS.items():
        useless = verdict.word == ("relevant" if ruling == "use" else "irrelevant")
        if not useless and st.button(
            _("{word} and answer again").format(word=_(word)),
            icon=icon,
            key=f"{ruling}-{view.passage_id}",
            on_click=actions.overrule,
            args=(view.run_id, view.passage_id, ruling),
        ):
            st.rerun()


def _draw_original(view: SourceView, passage: Passage, cut: Sequence[Strip]) -> None:
    """Draw which web search found the document, the page image where there is one, and the text."""
    _draw_found_by(passage)
    if passage.sheet:
        st.caption(markdown.escape_line(_("Sheet {sheet}").format(sheet=passage.sheet)))
    path = page_view.pdf_file(passage.source_id)
    if path is None or passage.page is None:
        _draw_passage_text(view, passage, cut)
        return
    try:
        pages = page_view.count_pages(str(path))
    except CragError as error:
        st.caption(markdown.escape_line(translate_text(str(error))))
        _draw_passage_text(view, passage, cut)
        return
    page_tab, text_tab = st.tabs([_("Page"), _("Text")])
    with page_tab:
        _draw_page(view, passage, path, pages)
    with text_tab:
        _draw_passage_text(view, passage, cut)


def _draw_found_by(passage: Passage) -> None:
    try:
        origin = _found_by_line(application().library.source(passage.source_id))
    except CragError:  # removed since the answer was written
        return
    if origin:
        st.caption(origin)


def _draw_page(view: SourceView, passage: Passage, path: Path, pages: int) -> None:
    """Draw the part of the page around the passage, or the whole page; other pages are always whole."""
    number = page_view.shown_page(view.number, pages, passage.page_of(view.quote) or 1)
    on_page, strong = passage.text_on_page(number), passage.quote_on_page(view.quote, number)
    page_view.draw_page_buttons(view.number, number, pages)
    frame = st.container()
    cut = bool(on_page) and not st.toggle(_("Whole page"), key=f"page-{view.number}-whole")
    image = page_view.page_image(str(path), number, on_page, strong, cut=cut)
    if on_page:
        st.caption(_highlight_meaning(view, image, strong=bool(strong)))
    with frame:
        draw_page_picture(
            image.png,
            _("Page {number} of {title}").format(number=number, title=passage.title),
            f"page-picture-{view.number}",
            mark=image.mark,
            narrow=cut and not is_phone(),
        )


def _highlight_meaning(view: SourceView, image: PageImage, *, strong: bool) -> str:
    if image.mark is None:
        return _("The passage cannot be highlighted here: read it under Text.")
    if strong and view.run_id:
        return _("Light: the passage. Strong: the cited sentence.")
    return _("Highlighted: the passage.")


def _draw_passage_text(view: SourceView, passage: Passage, cut: Sequence[Strip]) -> None:
    before, found, after = passage.context.partition(passage.text)
    if not found:
        before, after = "", ""
    columns = find_columns(passage, passage.text)
    if before.strip():
        st.markdown(markdown.escape_passage(before[-_CONTEXT_LENGTH:], style=_CONTEXT_STYLE, columns=columns))
    if cut:
        for strip in cut:
            st.markdown(strip_markdown(strip, view.quote, columns=find_columns(passage, strip.text)))
    else:
        st.markdown(markdown.escape_passage(passage.text, view.quote, columns=columns))
    if after.strip():
        st.markdown(markdown.escape_passage(after[:_CONTEXT_LENGTH], style=_CONTEXT_STYLE, columns=columns))
