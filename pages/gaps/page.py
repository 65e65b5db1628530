"""Coverage gaps page: questions without an answer from the documents, by topic, and how to fill each gap."""

from __future__ import annotations

import streamlit as st

from crag.gaps import Gap
from pages.gaps import closing, filling, groups
from pages.parts import heading, refusals, words
from pages.parts.person import is_one_of_several, person
from pages.parts.resources import application

_STEP = 20
_SHOWN = "gaps_shown"
_MEANING = (
    "Questions that your documents did not answer, or only in part, by what they are about. Add a page that answered, "
    "or documents of your own, then ask again: what is covered leaves this list."
)
_LEGEND = {
    words.outcome_badge("not_answered"): "no answer at all",
    words.outcome_badge("web"): "answered from web pages alone",
    words.outcome_badge("documents_and_web"): "partly from your documents",
    words.outcome_badge("documents"): "from passages that were in doubt",
}


def main() -> None:
    """Draw the page."""
    groups.go_where_wanted()
    heading.draw("What your documents do not cover", _MEANING)
    heading.legend("What became of a question", _LEGEND)
    application().archive.begin()
    with st.spinner("Grouping questions"):
        gaps = application().gaps.list(person())
    refusals.tell()
    closing.draw_undo()
    if gaps:
        _draw(gaps)
    else:
        _draw_empty()


def _draw(gaps: list[Gap]) -> None:
    questions = words.count(sum(len(gap.questions) for gap in gaps), "question")
    st.markdown(f"{questions} on {words.count(len(gaps), 'topic')}")
    if any(question.pages for gap in gaps for question in gap.questions):
        filling.choose_collection()
        if is_one_of_several():
            st.caption("Documents are shared: everybody on this server can read and ask what you add.")
    shown = st.session_state.setdefault(_SHOWN, _STEP)
    shelf = filling.look()
    for gap in gaps[:shown]:
        groups.draw(gap, shelf)
    if len(gaps) > shown and st.button(f"Show {min(_STEP, len(gaps) - shown)} more", icon=":material/expand_more:"):
        st.session_state[_SHOWN] = shown + _STEP
        st.rerun()


def _draw_empty() -> None:
    if progress := application().archive.progress:
        st.progress(progress.done / progress.total, f"{progress.stage}: {progress.done:,} of {progress.total:,}")
    with st.container(border=True):
        st.markdown(":green[:material/task_alt:] **Nothing is missing**")
        st.caption(
            "When your documents do not answer a question, it is listed here with the web pages that did, if the web "
            "was searched."
        )
        if st.button("Ask your documents", icon=":material/forum:"):
            st.switch_page("pages/chat/page.py")


main()
