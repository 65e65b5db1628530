"""Web pages that answered, added to a collection with one click, with the progress of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import streamlit as st

from crag.errors import CragError
from crag.gaps import GapPage
from crag.types import DEFAULT_COLLECTION
from pages.parts import markdown, refusals, words
from pages.parts.device import is_phone
from pages.parts.resources import application
from pages.parts.results import became

if TYPE_CHECKING:
    from crag.library.jobs.rows import Job

_COLLECTION = "gaps_collection"


@dataclass(frozen=True, slots=True)
class Shelf:
    """Ingestion state of pages: the last undismissed job per address, and collections by address and source id."""

    jobs: Mapping[str, Job]
    collections: Mapping[str, str]

    def holder(self, location: str, job: Job | None) -> str:
        """Return the collection of a page, or "" if there is none; the page may be stored under another address."""
        known = job.result.id if job and job.result else None
        return self.collections.get(location) or self.collections.get(known or "", "")


def choose_collection() -> None:
    """Draw the choice of the collection that pages are added to."""
    names = [collection.name for collection in application().library.collections()]
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown("Add pages to", width="content")
        st.selectbox("Add pages to", names, key=_COLLECTION, label_visibility="collapsed", width=220)


def look() -> Shelf:
    """Load the current jobs and sources."""
    application_ = application()
    sources = application_.library.sources()
    return Shelf(
        {job.name: job for job in application_.jobs.jobs() if job.kind == "address"},
        {source.location: source.collection for source in sources}
        | {source.id: source.collection for source in sources},
    )


def draw_page(page: GapPage, run_id: str, shelf: Shelf) -> None:
    """Draw one page with its real host; redrawn every second during ingestion."""
    job = shelf.jobs.get(page.location)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", wrap=is_phone()):
        title = markdown.label(page.title, 120) or "Untitled"
        host = words.grey(markdown.label(_host(page.location), 80))
        st.markdown(f":material/public: {title} {host}", width="stretch")
        if job is None or job.finished:
            _draw_state(page, run_id, job, shelf.holder(page.location, job))
        else:
            st.fragment(_draw_progress, run_every=1.0)(page.location)


def _draw_progress(location: str) -> None:
    job = look().jobs.get(location)
    if job is None or job.finished:
        st.rerun()
    st.markdown(f":small[:shimmer[{markdown.label(job.progress.stage, 60)}]]", width="content")


def _draw_state(page: GapPage, run_id: str, job: Job | None, holder: str) -> None:
    if holder:
        st.markdown(f":green[:material/check_circle:] Added to {markdown.label(holder, 60)}", width="content")
        return
    if job and job.result and job.result.error:
        st.markdown(f":small[{became(job.result)}]", width="content")
    collection = st.session_state.get(_COLLECTION, DEFAULT_COLLECTION)
    st.button(
        f"Add to {markdown.label(collection, 40)}",
        icon=":material/library_add:",
        key=f"page-{run_id}-{page.location}",
        on_click=_add,
        args=(page.location, collection, run_id),
    )


def _add(location: str, collection: str, run_id: str) -> None:
    try:
        application().gaps.add_page(location, collection, found_by=run_id)
    except CragError as error:
        refusals.keep(error)


def _host(location: str) -> str:
    """Return the host that will be contacted, without a user name that could look like another host."""
    return urlsplit(location).hostname or location
