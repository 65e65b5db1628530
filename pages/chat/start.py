"""Start page: what the application does, adding the first documents, set-up."""

from __future__ import annotations

import streamlit as st

from pages.chat.questions import ask
from pages.parts import adding, jobs, markdown, setup, words
from pages.parts.resources import application

_LOOK_AGAIN_SECONDS = 1.0


def draw() -> None:
    """Draw the uploader and the set-up for an empty library, else three suggested questions."""
    st.title("Ask your documents", anchor=False)
    sources, passages, _ = application().library.counts()
    if sources:
        _questions(sources, passages)
        jobs.draw()
        setup.draw(folded=True)
        return
    st.markdown(
        "Every passage that is found is graded before it is used. If your documents do not answer, the question is "
        "rewritten and, when you allow it, the web is searched. You see every step and can overrule it."
    )
    jobs.draw()
    _first_documents()
    st.header("Set-up", anchor=False)
    setup.draw()
    st.fragment(_notice_documents, run_every=_LOOK_AGAIN_SECONDS)(len(application().jobs.jobs()))


def _notice_documents(jobs_drawn: int) -> None:
    """Rerun the page when documents arrive, also from another tab or the command line."""
    if application().library.counts()[0] or len(application().jobs.jobs()) != jobs_drawn:
        st.rerun()


def _first_documents() -> None:
    with st.container(border=True):
        adding.uploader("Add documents")
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            # A form, so that Enter in the field adds the page.
            with st.form("first_page", border=False), st.container(horizontal=True):
                st.text_input(
                    "Or the address of a web page",
                    type="url",
                    icon=":material/link:",
                    placeholder="Or a web address",
                    label_visibility="collapsed",
                    key="first_address",
                )
                st.form_submit_button("Add page", icon=":material/add_link:", on_click=_add_page)
            st.button(
                "Add three example posts",
                icon=":material/auto_stories:",
                type="tertiary",
                on_click=_add_examples,
            )


def _add_page() -> None:
    if adding.add_addresses(st.session_state.first_address):
        st.session_state.first_address = ""


def _add_examples() -> None:
    adding.add_addresses("\n".join(application().example_urls))


def _questions(sources: int, passages: int) -> None:
    counts = f"{words.count(sources, 'document')}, {words.count(passages, 'passage')}"
    st.markdown(f"{counts}. Every passage that is found is graded before it is used.")
    suggested = application().library.suggested_questions(3)
    if not suggested:
        return
    with st.container(gap="xsmall"):
        for index, question in enumerate(suggested):
            st.button(
                markdown.label(question, 160),
                icon=":material/chat_bubble:",
                key=f"suggested-{index}",
                on_click=ask,
                args=(question,),
            )
