"""Document drawer: a document of the library from its beginning, page by page."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import streamlit as st

from crag.errors import CragError
from crag.text.formatting import format_date, format_location
from crag.translation import _, translate_text
from crag.types import Source
from pages.parts import dialogs, markdown, page_view
from pages.parts.components import draw_page_picture
from pages.parts.services import application


@dataclass(frozen=True, slots=True)
class DocumentView:
    """A document to show, in a drawer of its own number."""

    source_id: str
    number: int = field(default_factory=page_view.next_view_number)


def draw_document(view: DocumentView) -> None:
    """Draw the drawer over the page."""
    try:
        source = application().library.source(view.source_id)
    except CragError as error:
        dialogs.dialog(_("Document"), icon=":material/description:")(dialogs.draw_error)(error)
        return
    dialogs.dialog(markdown.escape_title(source.title), width=720, position="right", icon=":material/description:")(
        _draw_pages
    )(view, source)


def _draw_pages(view: DocumentView, source: Source) -> None:
    added = _("added {date}").format(date=format_date(source.added_at))
    details = [format_location(source.location), source.collection, added]
    st.caption(markdown.escape_line(" · ".join(one for one in details if one != source.title), 300))
    path = page_view.pdf_file(source.id)
    pages = application().library.count_parts(source)
    number = page_view.shown_page(view.number, pages)
    page_view.draw_page_buttons(view.number, number, pages, are_parts=not source.pages)
    if path is None:
        _draw_text(source, number)
        return
    page_tab, text_tab = st.tabs([_("Page"), _("Text")])
    with page_tab:
        _draw_picture(source, path, number)
    with text_tab:
        _draw_text(source, number)


def _draw_picture(source: Source, path: Path, number: int) -> None:
    try:
        image = page_view.page_image(str(path), number)
    except CragError as error:
        st.caption(markdown.escape_line(translate_text(str(error))))
        return
    label = _("Page {number} of {title}").format(number=number, title=source.title)
    draw_page_picture(image.png, label, f"page-picture-{source.id}")


def _draw_text(source: Source, number: int) -> None:
    text = application().library.read_part(source, number)
    st.markdown(markdown.escape_passage(text))
    if not text:
        st.caption(_("No text was found on this page."))
