"""Coverage gaps page: questions without an answer from the documents, grouped by topic."""

from __future__ import annotations

import streamlit as st

from crag.inspection.coverage_gaps import CoverageGap
from crag.text.formatting import format_count, format_done
from crag.translation import N_, _, translate_text
from crag.types import Action, Outcome
from pages.gaps.gap import ask_requested_question, draw_collection_choice, draw_gap, draw_undo, load_page_lookup
from pages.parts import labels, layout
from pages.parts.address import open_page
from pages.parts.document_intake import draw_sharing_notice
from pages.parts.routes import Page
from pages.parts.services import application

_PAGE_SIZE = 20
_SHOWN_KEY = "gaps_shown"
_MEANING = N_(
    "Questions that your documents did not answer, or only together with web pages, grouped "
    "by topic. Add a page that answered, or your own documents, then ask again. Answered "
    "questions leave this list."
)
_LEGEND: dict[tuple[Action, Outcome], str] = {
    ("incorrect", "not_answered"): N_("nothing relevant was found"),
    ("ambiguous", "not_answered"): N_("related passages, but no answer"),
    ("incorrect", "web"): N_("answered from web pages only"),
    ("ambiguous", "documents_and_web"): N_("partly from your documents"),
}


def main() -> None:
    """Draw the page."""
    ask_requested_question()
    layout.draw_heading(Page.GAPS, _(_MEANING))
    legend = {labels.outcome_badge(*result): _(meaning) for result, meaning in _LEGEND.items()}
    layout.draw_sidebar_legend(_("What the badges mean"), legend)
    application().archive.summaries.begin()
    with st.spinner(_("Grouping questions")):
        gaps = application().gaps.list()
    draw_undo()
    if gaps:
        _draw_gaps(gaps)
    else:
        _draw_empty()


def _draw_gaps(gaps: list[CoverageGap]) -> None:
    questions = format_count(sum(len(gap.questions) for gap in gaps), "question")
    st.markdown(_("{questions} on {topics}").format(questions=questions, topics=format_count(len(gaps), "topic")))
    if any(question.pages for gap in gaps for question in gap.questions):
        draw_collection_choice()
        draw_sharing_notice()
    shown = st.session_state.setdefault(_SHOWN_KEY, _PAGE_SIZE)
    lookup = load_page_lookup()
    for gap in gaps[:shown]:
        draw_gap(gap, lookup)
    if len(gaps) > shown and st.button(
        _("Show {page_size} more").format(page_size=min(_PAGE_SIZE, len(gaps) - shown)), icon=":material/expand_more:"
    ):
        st.session_state[_SHOWN_KEY] = shown + _PAGE_SIZE
        st.rerun()


def _draw_empty() -> None:
    if progress := application().archive.summaries.progress:
        st.progress(
            progress.done / progress.total,
            f"{translate_text(progress.stage)}: {format_done(progress.done, progress.total)}",
        )
    with st.container(border=True):
        st.markdown(_(":green[:material/task_alt:] **No coverage gaps**"))
        st.caption(
            _("Questions to which no answer was found in your documents appear here, with the web pages that had one.")
        )
        if st.button(_("Ask your documents"), icon=Page.CHAT.icon):
            open_page(Page.CHAT)


main()
