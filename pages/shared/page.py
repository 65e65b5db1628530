"""Shared conversation page: a conversation of another account, read through its link."""

from __future__ import annotations

import streamlit as st

from crag.errors import NotFound
from crag.runs.trace import Trace
from crag.sharing.conversation_document import SharedConversation
from crag.text.formatting import format_date, format_place
from crag.translation import _, translate_text
from crag.types import Citation
from pages.chat.answer import answer_headline, draw_answer_text
from pages.parts import layout, markdown
from pages.parts.address import AddressSelection, read_selections
from pages.parts.routes import Page
from pages.parts.services import application

_LINK = AddressSelection("link")


def main() -> None:
    """Draw the page."""
    (link_id,) = read_selections(_LINK)
    try:
        shared = application().sharing.read_link(link_id)
    except NotFound as error:
        layout.draw_heading(Page.SHARED)
        st.info(markdown.escape_line(translate_text(str(error))), icon=":material/link_off:")
        return
    meaning = _("A conversation of {created_at} that somebody shared with you. You can read it only.").format(
        created_at=format_date(shared.created_at)
    )
    layout.draw_heading(Page.SHARED, meaning, markdown.escape_line(shared.title, 100))
    _draw_messages(shared)


def _draw_messages(shared: SharedConversation) -> None:
    runs = {run.id: run for run in shared.runs}
    for message in shared.shown_messages():
        if message.role == "user":
            with st.chat_message("user", avatar=":material/person:"):
                st.markdown(markdown.escape_paragraphs(message.text))
        elif message.run in runs:
            with st.chat_message("assistant", avatar=":material/fact_check:"):
                _draw_answer(Trace().apply_all(runs[message.run].events))


def _draw_answer(trace: Trace) -> None:
    st.markdown(answer_headline(trace))
    draw_answer_text("", trace, links=False)
    for cited in trace.citations:
        _draw_source(cited)


def _draw_source(cited: Citation) -> None:
    place = markdown.escape_line(format_place(cited.title, cited.locator))
    quote = f": “{markdown.escape_line(cited.readable_quote)}”" if cited.quote.strip() else ""
    st.caption(f"{cited.n} {place}{quote}")


main()
