"""Ingest jobs: their progress, and what they added and refused."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from crag.ingest.intake import split_member_location
from crag.text.formatting import format_count, format_done, format_location, format_number, format_pages
from crag.translation import N_, _, translate_text
from crag.types import AddResult, AddStatus
from pages.parts import labels, markdown
from pages.parts.layout import draw_folded, draw_watching, progress_share
from pages.parts.services import application

if TYPE_CHECKING:
    from crag.library.job_queue import Job, JobState


_RESULTS_IN_VIEW = 12
_RESULT_LIST_HEIGHT = 340  # pixels
_REFUSALS_SHOWN = 8
_RESULT_WORDS: dict[AddStatus, str] = {
    "failed": N_("{count} refused"),
    "added": N_("{count} added"),
    "replaced": N_("{count} replaced"),
    "unchanged": N_("{count} unchanged"),
}


def _count_results(results: Sequence[AddResult], status: AddStatus) -> str:
    """Return the number of results with this status and its word; empty for none."""
    number = sum(result.status == status for result in results)
    return _(_RESULT_WORDS[status]).format(count=format_number(number)) if number else ""


def summarize_results(results: Sequence[AddResult]) -> str:
    """Return the counts by status, such as *1 refused, 3 added*."""
    return ", ".join(fact for status in _RESULT_WORDS if (fact := _count_results(results, status)))


def draw_refusals(results: Sequence[AddResult]) -> None:
    """Draw why the first few files were refused, and how many more were."""
    refused = [(result.title, translate_text(result.error.message)) for result in results if result.error is not None]
    for title, message in refused[:_REFUSALS_SHOWN]:
        st.caption(f":red[:material/error:] {markdown.escape_line(title, 80)}: {markdown.escape_line(message)}")
    if len(refused) > _REFUSALS_SHOWN:
        st.caption(_("and {refused} more").format(refused=format_number(len(refused) - _REFUSALS_SHOWN)))


def _draw_results(job: Job) -> None:
    """Draw the results of a job."""
    if len(job.results) == 1 and _adds_one_document(job):
        st.markdown(f":small[{describe_result(job.results[0])}]")
    else:
        label = f":small[{summarize_results(job.results)}]"
        draw_folded(label, f"results-{job.id}", lambda: _draw_all_results(job), type="compact")
    if job.finished:
        _draw_remove_older(job)


def _adds_one_document(job: Job) -> bool:
    """Return whether the job is one file or page: no folder, site or archive."""
    return job.kind not in ("files", "site") and not any(split_member_location(result.source) for result in job.results)


def _draw_all_results(job: Job) -> None:
    """Name every file, refused ones first."""
    chosen = sorted(job.results, key=lambda result: list(_RESULT_WORDS).index(result.status))
    lines = (f"{markdown.escape_line(_result_name(result), 80)} {describe_result(result)}" for result in chosen)
    with st.container(height=_RESULT_LIST_HEIGHT if len(chosen) > _RESULTS_IN_VIEW else "content", border=False):
        st.markdown("\n".join(f"- :small[{line}]" for line in lines))


def _result_name(result: AddResult) -> str:
    """Return the name of a file in an archive, else the title."""
    member = split_member_location(result.source)
    return member[1] if member else result.title


def describe_result(result: AddResult) -> str:
    """Return the result of one file in a few words; safe Markdown."""
    if result.error is not None:
        first, stop, rest = translate_text(result.error.message).partition(". ")
        return f":red[{markdown.escape_line(first + stop.strip())}] {markdown.escape_line(rest)}"
    if result.status == "unchanged":
        return _(":gray[Unchanged: already added as “{title}”]").format(title=markdown.escape_line(result.title, 80))
    pages = f"{format_pages(result.pages, result.kind)}, " if result.pages else ""
    word = _("Replaced") if result.status == "replaced" else _("Added")
    older = _(". An older document with this name was kept") if result.older else ""
    note = f" :orange[{markdown.escape_line(translate_text(result.note))}]" if result.note else ""
    return f":gray[{word}: {pages}{format_count(result.passages, 'passage')}{older}]{note}"


def _draw_remove_older(job: Job) -> None:
    """Draw the button that removes older documents of the same name.

    An upload with the same name and other content may be a new version or something else, so the user decides.
    """
    named = {older for result in job.results for older in result.older}
    older = [source.id for source in application().library.sources() if source.id in named] if named else []
    if older:
        st.button(
            _("Remove {documents}").format(documents=format_count(len(older), "older document")),
            icon=":material/delete:",
            type="tertiary",
            key=f"older-{job.id}",
            on_click=_remove_documents,
            args=(older,),
        )


def _remove_documents(source_ids: list[str]) -> None:
    application().remove_documents(source_ids)
    st.rerun()


_JOB_NAME_WIDTH, _JOB_OUTCOME_WIDTH = 260, 500  # pixels: one below the other where the row is narrower
_JOBS_SHOWN = 30
_JOBS_IN_VIEW = 8
_JOB_LIST_HEIGHT = 340  # pixels: eight rows, and the top of the ninth
_UNFINISHED_STATES = ("waiting", "working")
# Running and failed jobs first, each newest first: a long list is cut at its end.
_JOB_ORDER: dict[JobState, int] = {"working": 0, "failed": 1, "waiting": 2, "cancelled": 3, "done": 3}


def mark_jobs_seen() -> None:
    """Keep the jobs that have finished by now off the start page; Documents still lists them."""
    st.session_state.jobs_seen_at = time.time()


def draw_jobs(*, unseen_only: bool = False) -> None:
    """Draw running and finished jobs, refreshed every second while one is active.

    `unseen_only` leaves out finished jobs of earlier visits and those that `mark_jobs_seen` covers.
    """
    since = st.session_state.setdefault("jobs_seen_at", time.time()) if unseen_only else 0.0
    service = application().jobs
    with st.container():  # kept even when empty, so that the elements below do not move or flicker
        if _listed_jobs(since):
            is_active = service.active
            interval = 1.0 if is_active else None
            draw_watching(is_active, lambda: service.active, interval, lambda: _draw_job_block(_listed_jobs(since)))


def draw_jobs_notice(place: str) -> None:
    """Say in one line that documents are being added or were refused, and in which `place` of the page they are."""
    jobs = _listed_jobs(0.0)
    if any(not job.finished for job in jobs):
        st.caption(_(":material/progress_activity: Adding documents. You can follow it {place}.").format(place=place))
    elif any(job.has_failed for job in jobs):
        st.caption(
            _(":orange[:material/error:] Not everything was added. The reasons are {place}.").format(place=place)
        )


def _listed_jobs(since: float) -> list[Job]:
    """Return the unfinished jobs and those submitted after this moment, newest first."""
    jobs = application().jobs.jobs()
    return [job for job in reversed(jobs) if not job.finished or job.submitted_at >= since]


def _draw_job_block(jobs: list[Job]) -> None:
    service = application().jobs
    if not jobs:
        return
    with st.container(border=True, gap="xxsmall"):
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            st.markdown(_jobs_headline(jobs), width="content")
            if service.active:
                st.button(_("Cancel all"), type="tertiary", key="cancel-all", on_click=service.cancel_all)
            else:
                st.button(_("Dismiss all"), type="tertiary", key="dismiss-all", on_click=_dismiss_finished_jobs)
        with st.container(
            gap="xxsmall", height=_JOB_LIST_HEIGHT if len(jobs) > _JOBS_IN_VIEW else "content", border=False
        ):
            for job in sorted(jobs, key=_job_rank)[:_JOBS_SHOWN]:
                _draw_job(job)
            if len(jobs) > _JOBS_SHOWN:
                st.caption(_("and {jobs} more").format(jobs=format_number(len(jobs) - _JOBS_SHOWN)))


def _job_rank(job: Job) -> int:
    """Return the sort rank of a job; a job with a refused file counts as failed."""
    refused = any(result.status == "failed" for result in job.results)
    return _JOB_ORDER["failed" if refused and job.finished else job.state]


def _jobs_headline(jobs: list[Job]) -> str:
    results = [result for job in jobs for result in job.results]
    added = sum(result.status in ("added", "replaced") for result in results)
    working = sum(job.state in _UNFINISHED_STATES for job in jobs)
    if working:
        title = (
            _("Adding {documents}").format(documents=format_count(len(jobs), "document"))
            if len(results) <= len(jobs)
            else _("Adding documents")
        )
        facts = [
            _("{count} done").format(count=added) if added else "",
            _("{working} in progress").format(working=working),
        ]
    else:
        title = (
            _("Added {documents}").format(documents=format_count(added, "document")) if added else _("Nothing added")
        )
        facts = []
    cancelled = sum(job.state == "cancelled" for job in jobs)
    facts += [
        _count_results(results, "unchanged"),
        _count_results(results, "failed"),
        _("{count} cancelled").format(count=cancelled) if cancelled else "",
    ]
    collections = {job.collection for job in jobs}
    where = (
        _("to {collection}").format(collection=markdown.escape_line(collections.pop(), 60))
        if len(collections) == 1 and (added or working)
        else ""
    )
    counts = ", ".join(fact for fact in facts if fact)
    return f"**{title}** {labels.grey_text(' · '.join(fact for fact in (where, counts) if fact))}"


def _draw_job(job: Job) -> None:
    waiting = job.state in _UNFINISHED_STATES
    tall = len(job.results) > 1 or any(result.older for result in job.results)
    with st.container(horizontal=True, vertical_alignment="top" if tall else "center", wrap=False):
        with st.container(horizontal=True, vertical_alignment="top" if tall else "center", gap="xsmall"):
            with st.container(width=_JOB_NAME_WIDTH):
                _draw_job_name(job)
            with st.container(width=_JOB_OUTCOME_WIDTH):
                _draw_job_outcome(job)
        if job.has_failed:
            _draw_retry(job)
        word, act = (_("Cancel"), application().jobs.cancel) if waiting else (_("Dismiss"), _dismiss_job)
        st.button(word, type="tertiary", key=f"{word.lower()}-{job.id}", on_click=act, args=(job.id,))


def _draw_retry(job: Job) -> None:
    """Draw the button that adds again what failed, or what to do where its file or address was not kept."""
    if application().jobs.can_retry(job):
        st.button(
            _("Retry"),
            icon=":material/refresh:",
            type="tertiary",
            key=f"retry-{job.id}",
            on_click=_retry_job,
            args=(job.id,),
        )
    else:
        st.caption(_("Add it again to retry."), width="content")


def _retry_job(job_id: str) -> None:
    application().jobs.retry(job_id)
    st.rerun()


def _draw_job_name(job: Job) -> None:
    """Draw the title of the document, and below it the name of the file or the address; only that until it is added."""
    name = format_location(job.name)
    title = _document_title(job) or name
    with st.container(gap=None):
        st.markdown(f":small[{_job_icon(job)} {markdown.escape_line(title, 120)}]", wrap=False)
        if title != name:
            st.caption(markdown.escape_line(name, 120), wrap=False)


def _document_title(job: Job) -> str:
    """Return the title of the only document that the job has added; empty if it has added none or several."""
    added = [result.title for result in job.results if result.id is not None]
    return added[0] if len(job.results) == len(added) == 1 and _adds_one_document(job) else ""


def _job_icon(job: Job) -> str:
    """Return the icon of the state; orange if only some of the files were refused."""
    if job.state == "done" and job.has_failed:
        return ":orange[:material/error:]"
    return {
        "waiting": ":gray[:material/schedule:]",
        "working": ":gray[:material/progress_activity:]",
        "done": ":green[:material/check_circle:]",
        "failed": ":red[:material/error:]",
    }.get(job.state, ":gray[:material/block:]")


def _draw_job_outcome(job: Job) -> None:
    if job.state == "working":
        st.progress(progress_share(job.progress.done, job.progress.total), text=labels.grey_text(_job_stage(job)))
    elif job.state == "waiting":
        st.caption(_("waiting to resume") if job.resumed else _("waiting"))
    elif job.state == "cancelled":
        st.caption(
            _("Cancelled. The files listed here had already been added.")
            if job.results
            else _("Cancelled. Nothing was added.")
        )
    if job.results:
        _draw_results(job)


def _job_stage(job: Job) -> str:
    stage = markdown.escape_line(translate_text(job.progress.stage), 60)
    if job.progress.total:
        stage = f"{stage} {format_done(job.progress.done, job.progress.total)}"
    return (
        _("{files} done · {stage}").format(files=format_count(len(job.results), "file"), stage=stage)
        if job.results
        else stage
    )


def _dismiss_job(job_id: str) -> None:
    application().jobs.dismiss(job_id)
    st.rerun()


def _dismiss_finished_jobs() -> None:
    application().jobs.dismiss_finished()
    st.rerun()
