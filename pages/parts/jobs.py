"""Ingest jobs: one row each with progress, refusal or result."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from crag.types import Progress
from pages.parts import markdown, words
from pages.parts.device import is_phone
from pages.parts.resources import application
from pages.parts.results import counted, draw_results

if TYPE_CHECKING:
    from crag.library.jobs.rows import Job, JobState

_NAME_WIDTH = 260
_ROWS = 30
_ROWS_IN_VIEW = 8
_TALL = 340  # pixels: eight rows, and the top of the ninth
_WAITING = ("waiting", "working")
# Running and failed jobs first: a long list is cut at its end.
_ORDER: dict[JobState, int] = {"working": 0, "failed": 1, "waiting": 2, "cancelled": 3, "done": 3}


def draw() -> None:
    """Draw running and finished jobs, refreshed every second while one is active."""
    jobs = application().jobs
    with st.container():  # kept even when empty, so that the elements below do not move or flicker
        if jobs.jobs():
            st.fragment(_block, run_every=1.0 if jobs.active else None)(jobs.active)


def _block(was_active: bool) -> None:
    service = application().jobs
    jobs = service.jobs()
    if was_active and not service.active:
        st.rerun()
    with st.container(border=True, gap="xxsmall"):
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            st.markdown(_headline(jobs), width="content")
            if service.active:
                st.button("Cancel all", type="tertiary", key="cancel-all", on_click=service.cancel_all)
            else:
                st.button("Dismiss all", type="tertiary", key="dismiss-all", on_click=_dismiss_all)
        with st.container(gap="xxsmall", height=_TALL if len(jobs) > _ROWS_IN_VIEW else "content", border=False):
            for job in sorted(jobs, key=_rank)[:_ROWS]:
                _row(job)
            if len(jobs) > _ROWS:
                st.caption(f"and {len(jobs) - _ROWS:,} more")


def _rank(job: Job) -> int:
    """Return the sort rank of a job; a job with a refused file counts as failed."""
    refused = any(result.status == "failed" for result in job.results)
    return _ORDER["failed" if refused and job.finished else job.state]


def _headline(jobs: list[Job]) -> str:
    results = [result for job in jobs for result in job.results]
    added = sum(result.status in ("added", "replaced") for result in results)
    working = sum(job.state in _WAITING for job in jobs)
    if working:
        title = f"Adding {words.count(len(jobs), 'document')}" if len(results) <= len(jobs) else "Adding documents"
        facts = [f"{added} done" if added else "", f"{working} in progress"]
    else:
        title = f"Added {words.count(added, 'document')}" if added else "Nothing added"
        facts = []
    cancelled = sum(job.state == "cancelled" for job in jobs)
    facts += [counted(results, "unchanged"), counted(results, "failed"), f"{cancelled} cancelled" if cancelled else ""]
    collections = {job.collection for job in jobs}
    where = f"to {markdown.label(collections.pop(), 60)}" if len(collections) == 1 and (added or working) else ""
    counts = ", ".join(fact for fact in facts if fact)
    return f"**{title}** {words.grey(' · '.join(fact for fact in (where, counts) if fact))}"


def _row(job: Job) -> None:
    waiting = job.state in _WAITING
    tall = len(job.results) > 1 or any(result.older for result in job.results)
    with st.container(horizontal=True, vertical_alignment="top" if tall else "center", wrap=False):
        if is_phone():  # too narrow for two columns
            with st.container(gap=None):
                _name(job)
                _outcome(job)
        else:
            with st.container(width=_NAME_WIDTH):
                _name(job)
            with st.container():
                _outcome(job)
        word, act = ("Cancel", _cancel) if waiting else ("Dismiss", _dismiss)
        st.button(word, type="tertiary", key=f"{word.lower()}-{job.id}", on_click=act, args=(job.id,))


def _name(job: Job) -> None:
    st.markdown(f":small[{_sign(job)} {markdown.label(job.name, 120)}]", wrap=False)


def _sign(job: Job) -> str:
    return {
        "waiting": ":gray[:material/schedule:]",
        "working": ":gray[:material/progress_activity:]",
        "done": ":green[:material/check_circle:]",
        "failed": ":red[:material/error:]",
    }.get(job.state, ":gray[:material/block:]")


def _outcome(job: Job) -> None:
    if job.state == "working":
        st.progress(_share(job.progress), text=words.grey(_stage(job)))
    elif job.state == "waiting":
        st.caption("waiting to go on" if job.resumed else "waiting")
    elif job.state == "cancelled":
        st.caption(
            "Cancelled. What is listed here was added before." if job.results else "Cancelled. Nothing was stored."
        )
    if job.results:
        draw_results(job)


def _share(progress: Progress) -> float:
    return min(1.0, progress.done / progress.total) if progress.total else 0.0


def _stage(job: Job) -> str:
    stage = markdown.label(job.progress.stage, 60)
    if job.progress.total:
        stage = f"{stage} {job.progress.done:,} of {job.progress.total:,}"
    return f"{words.count(len(job.results), 'file')} done · {stage}" if job.results else stage


def _cancel(job_id: str) -> None:
    application().jobs.cancel(job_id)


def _dismiss(job_id: str) -> None:
    application().jobs.dismiss(job_id)
    st.rerun()


def _dismiss_all() -> None:
    application().jobs.dismiss_finished()
    st.rerun()
