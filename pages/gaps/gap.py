"""One coverage gap: its topic and questions, the web pages that answered, and the actions to close it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import streamlit as st

from crag.inspection.coverage_gaps import CoverageGap, GapPage, GapQuestion
from crag.text.formatting import format_count, format_date
from crag.translation import _, translate_text
from pages.chat import questions, state
from pages.parts import dialogs, labels, markdown
from pages.parts.address import open_page
from pages.parts.ingest_jobs import describe_result
from pages.parts.routes import Page
from pages.parts.services import application
from pages.parts.session import is_phone

if TYPE_CHECKING:
    from crag.library.job_queue import Job


_COLLECTION_KEY = "gaps_collection"


@dataclass(frozen=True, slots=True)
class PageLookup:
    """Ingestion state of pages: the last undismissed job per address, and collections by address and source id."""

    jobs: Mapping[str, Job]
    collections: Mapping[str, str]

    def collection_of(self, location: str, job: Job | None) -> str:
        """Return the collection of a page, or "" if there is none; the page may be stored under another address."""
        known = job.result.id if job and job.result else None
        return self.collections.get(location) or self.collections.get(known or "", "")


def draw_collection_choice() -> None:
    """Draw the choice of the collection that pages are added to."""
    names = [collection.name for collection in application().library.collections()]
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(_("Add pages to"), width="content")
        st.selectbox(_("Add pages to"), names, key=_COLLECTION_KEY, label_visibility="collapsed", width=220)


def load_page_lookup() -> PageLookup:
    """Load the current jobs and sources."""
    application_ = application()
    sources = application_.library.sources()
    return PageLookup(
        {job.name: job for job in application_.jobs.jobs() if job.kind == "address"},
        {source.location: source.collection for source in sources}
        | {source.id: source.collection for source in sources},
    )


def draw_page(page: GapPage, run_id: str, lookup: PageLookup) -> None:
    """Draw one page with its real host; redrawn every second during ingestion."""
    job = lookup.jobs.get(page.location)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", wrap=is_phone()):
        title = markdown.escape_line(page.title, 120) or _("Untitled")
        host = labels.grey_text(markdown.escape_line(_page_host(page.location), 80))
        st.markdown(f":material/public: {title} {host}", width="stretch")
        if job is None or job.finished:
            _draw_page_state(page, run_id, job, lookup.collection_of(page.location, job))
        else:
            st.fragment(_draw_page_progress, run_every=1.0)(page.location)


def _draw_page_progress(location: str) -> None:
    job = load_page_lookup().jobs.get(location)
    if job is None or job.finished:
        st.rerun()
    st.markdown(f":small[:shimmer[{markdown.escape_line(translate_text(job.progress.stage), 60)}]]", width="content")


def _draw_page_state(page: GapPage, run_id: str, job: Job | None, holder: str) -> None:
    if holder:
        st.markdown(
            _(":green[:material/check_circle:] Added to {holder}").format(holder=markdown.escape_line(holder, 60)),
            width="content",
        )
        return
    if job and job.result and job.result.error:
        st.markdown(f":small[{describe_result(job.result)}]", width="content")
    collection = st.session_state.get(_COLLECTION_KEY) or application().library.default_collection
    st.button(
        _("Add to {collection}").format(collection=markdown.escape_line(collection, 40)),
        icon=":material/library_add:",
        key=f"page-{run_id}-{page.location}",
        on_click=application().gaps.add_page,
        args=(page.location, collection, run_id),
    )


def _page_host(location: str) -> str:
    """Return the host that will be contacted, without a user name that could look like another host."""
    return urlsplit(location).hostname or location


_CLOSED_KEY = "gap_closed"


def close_gap(topic: str, run_ids: Sequence[str]) -> None:
    """Take a gap off the list."""
    application().gaps.close(run_ids)
    st.session_state[_CLOSED_KEY] = (topic, run_ids)


def draw_undo() -> None:
    """Offer to reopen the last closed gap, as long as this page is open."""
    if _CLOSED_KEY not in st.session_state:
        return
    topic, run_ids = st.session_state[_CLOSED_KEY]
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(
            _(":gray[:material/check:] “{topic}” removed from the list.").format(topic=markdown.escape_line(topic, 80)),
            width="content",
        )
        st.button(_("Undo"), icon=":material/undo:", type="tertiary", on_click=_reopen_gap, args=(run_ids,))


def _reopen_gap(run_ids: Sequence[str]) -> None:
    application().gaps.reopen(run_ids)
    st.session_state.pop(_CLOSED_KEY, None)


_MAX_QUESTIONS, _MAX_PAGES = 4, 4
_ASK_AGAIN_KEY = "gaps_ask_again"


def draw_gap(gap: CoverageGap, lookup: PageLookup) -> None:
    """Draw the gap."""
    key = gap.run_ids[0]
    with st.container(border=True, key=f"gap-{key}"):
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            st.header(markdown.escape_line(gap.topic, 120), anchor=False, width="content")
            count = format_count(len(gap.questions), "question")
            st.caption(
                _("{count} · last asked {last_asked}").format(count=count, last_asked=format_date(gap.last_asked)),
                width="content",
            )
        with st.container(gap="xsmall"):
            for question in gap.questions[:_MAX_QUESTIONS]:
                _draw_question(question, gap.topic)
            _draw_more_questions(gap.questions[_MAX_QUESTIONS:], key)
        _draw_pages(gap, lookup)
        with st.container(horizontal=True, gap="small"):
            if st.button(_("Add documents"), icon=":material/upload_file:", type="tertiary", key=f"add-{key}"):
                open_page(Page.DOCUMENTS)
            st.button(
                _("Not a gap"),
                icon=":material/check:",
                type="tertiary",
                key=f"close-{key}",
                on_click=close_gap,
                args=(gap.topic, gap.run_ids),
            )


def ask_requested_question() -> None:
    """Ask the requested question again in its conversation; a callback cannot switch pages itself."""
    run_id = st.session_state.pop(_ASK_AGAIN_KEY, None)
    if run_id is None:
        return
    conversation = application().conversations.find_by_run(run_id)
    state.open_conversation(conversation.id if conversation else None)
    if conversation:
        with dialogs.catch_refusals():
            questions.regenerate_answer(run_id, state.current_options())
    else:
        questions.ask_question(application().runs.trace(run_id).question)
    open_page(Page.CHAT)


def _draw_question(question: GapQuestion, heading: str = "") -> None:
    """Draw how often a question was asked and how it was answered, and its text unless that is the heading."""
    text = "" if " ".join(question.question.split()) == heading else markdown.escape_line(question.question, 200)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", wrap=is_phone()):
        badge = labels.outcome_badge(question.action, question.outcome) if question.outcome else ""
        times = (
            labels.grey_text(_("asked {earlier} times").format(earlier=len(question.earlier) + 1))
            if question.earlier
            else ""
        )
        st.markdown(
            " ".join(one for one in (text, badge, times) if one) or labels.grey_text(_("asked once")), width="stretch"
        )
        st.button(
            _("Ask again"),
            icon=":material/refresh:",
            type="tertiary",
            key=f"again-{question.run_id}",
            on_click=_request_question,
            args=(question.run_id,),
        )


def _draw_more_questions(rest: tuple[GapQuestion, ...], key: str) -> None:
    """Draw the other questions once their section is opened."""
    if not rest:
        return
    folded = st.expander(format_count(len(rest), "more", "more"), type="compact", key=f"rest-{key}", on_change="rerun")
    if folded.open:
        with folded:
            for question in rest:
                _draw_question(question)


def _request_question(run_id: str) -> None:
    st.session_state[_ASK_AGAIN_KEY] = run_id


def _draw_pages(gap: CoverageGap, lookup: PageLookup) -> None:
    found = {page.location: (page, question.run_id) for question in gap.questions[::-1] for page in question.pages}
    if not found:
        return
    with st.container(gap="xsmall"):
        st.caption(_("Web pages that answered"))
        for page, run_id in list(found.values())[:_MAX_PAGES]:
            draw_page(page, run_id, lookup)
