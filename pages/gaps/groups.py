"""One coverage gap: its topic, its questions with their outcomes, the web pages that answered, and its actions."""

from __future__ import annotations

import streamlit as st

from crag.gaps import Gap, GapQuestion
from pages.chat import questions as asking
from pages.chat import state as chat
from pages.gaps import closing, filling
from pages.parts import markdown, words
from pages.parts.device import is_phone
from pages.parts.person import person
from pages.parts.resources import application

_QUESTIONS, _PAGES = 4, 4
_CHAT = "pages/chat/page.py"
_DOCUMENTS = "pages/documents/page.py"
_WANTED = "gaps_ask_again"


def draw(gap: Gap, shelf: filling.Shelf) -> None:
    """Draw the gap."""
    key = gap.run_ids[0]
    with st.container(border=True, key=f"gap-{key}"):
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            st.header(markdown.label(gap.topic, 80), anchor=False, width="content")
            count = words.count(len(gap.questions), "question")
            st.caption(f"{count} · last asked {words.day(gap.last_asked)}", width="content")
        with st.container(gap="xsmall"):
            for question in gap.questions[:_QUESTIONS]:
                _draw_question(question)
            _draw_rest(gap.questions[_QUESTIONS:], key)
        _draw_pages(gap, shelf)
        with st.container(horizontal=True, gap="small"):
            if st.button("Add documents", icon=":material/upload_file:", type="tertiary", key=f"add-{key}"):
                st.switch_page(_DOCUMENTS)
            st.button(
                "Nothing is missing",
                icon=":material/check:",
                type="tertiary",
                key=f"close-{key}",
                on_click=closing.close,
                args=(gap.topic, gap.run_ids),
            )


def go_where_wanted() -> None:
    """Ask the requested question again in its conversation; a callback cannot switch pages itself."""
    run_id = st.session_state.pop(_WANTED, None)
    if run_id is None:
        return
    conversation = application().conversations.of_run(run_id, person())
    chat.open_conversation(conversation.id if conversation else None)
    if conversation:
        asking.answer_again(run_id, chat.options())
    else:
        asking.ask(application().runs.trace(run_id).question)
    opened = chat.current()
    st.switch_page(_CHAT, query_params={"c": opened.id} if opened else {})


def _draw_question(question: GapQuestion) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small", wrap=is_phone()):
        badge = words.outcome_badge(question.outcome) if question.outcome else ""
        times = words.grey(f"asked {len(question.earlier) + 1} times") if question.earlier else ""
        st.markdown(f"{markdown.label(question.question, 200)} {badge} {times}", width="stretch")
        st.button(
            "Ask again",
            icon=":material/refresh:",
            type="tertiary",
            key=f"again-{question.run_id}",
            on_click=_want,
            args=(question.run_id,),
        )


def _draw_rest(rest: tuple[GapQuestion, ...], key: str) -> None:
    """Draw the other questions once their section is opened."""
    if not rest:
        return
    folded = st.expander(f"{len(rest)} more", type="compact", key=f"rest-{key}", on_change="rerun")
    if folded.open:
        with folded:
            for question in rest:
                _draw_question(question)


def _want(run_id: str) -> None:
    st.session_state[_WANTED] = run_id


def _draw_pages(gap: Gap, shelf: filling.Shelf) -> None:
    found = {page.location: (page, question.run_id) for question in gap.questions[::-1] for page in question.pages}
    if not found:
        return
    with st.container(gap="xsmall"):
        st.caption("Web pages that answered")
        for page, run_id in list(found.values())[:_PAGES]:
            filling.draw_page(page, run_id, shelf)
