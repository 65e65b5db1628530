"""Results of ingest: one line for a single file, a folded list for many, and counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from crag.types import AddResult, AddStatus
from pages.parts import markdown, words
from pages.parts.resources import application

if TYPE_CHECKING:
    from crag.library.jobs.rows import Job

_LISTED = 100
_NAMED = 8
_ORDER: dict[AddStatus, str] = {
    "failed": "refused",
    "added": "added",
    "replaced": "replaced",
    "unchanged": "unchanged",
}


def counted(results: Sequence[AddResult], status: AddStatus) -> str:
    """Return the number of results with this status and its word; empty for none."""
    number = sum(result.status == status for result in results)
    return f"{number:,} {_ORDER[status]}" if number else ""


def summarize(results: Sequence[AddResult]) -> str:
    """Return the counts by status, such as *1 refused, 3 added*."""
    return ", ".join(fact for status in _ORDER if (fact := counted(results, status)))


def draw_refusals(results: Sequence[AddResult]) -> None:
    """Draw why the first few files were refused, and how many more were."""
    refused = [(result.title, result.error.message) for result in results if result.error is not None]
    for title, message in refused[:_NAMED]:
        st.caption(f":red[:material/error:] {markdown.label(title, 80)}: {markdown.label(message)}")
    if len(refused) > _NAMED:
        st.caption(f"and {len(refused) - _NAMED:,} more")


def draw_results(job: Job) -> None:
    """Draw the results of a job."""
    if len(job.results) == 1 and job.kind not in ("path", "site"):
        st.markdown(f":small[{became(job.results[0])}]")
    else:
        _draw_list(job)
    if job.finished:
        _draw_older(job)


def _draw_list(job: Job) -> None:
    with st.expander(f":small[{summarize(job.results)}]", type="compact", key=f"results-{job.id}"):
        chosen = sorted(job.results, key=lambda result: list(_ORDER).index(result.status))[:_LISTED]
        lines = (f"{markdown.label(result.title, 80)} {became(result)}" for result in chosen)
        st.markdown("\n".join(f"- :small[{line}]" for line in lines))
        if len(job.results) > _LISTED:
            st.caption(f"and {len(job.results) - _LISTED:,} more")


def became(result: AddResult) -> str:
    """Return the result of one file in a few words; safe Markdown."""
    if result.error is not None:
        first, stop, rest = result.error.message.partition(". ")
        return f":red[{markdown.label(first + stop.strip())}] {markdown.label(rest)}"
    if result.status == "unchanged":
        return f":gray[Unchanged: the same file was already here, as “{markdown.label(result.title, 80)}”]"
    pages = f"{words.count(result.pages, 'page')}, " if result.pages else ""
    word = "Replaced" if result.status == "replaced" else "Added"
    older = ". An older one of this name stays, too" if result.older else ""
    note = f" :orange[{markdown.label(result.note)}]" if result.note else ""
    return f":gray[{word}: {pages}{words.count(result.passages, 'passage')}{older}]{note}"


def _draw_older(job: Job) -> None:
    """Draw the button that removes older documents of the same name.

    An upload with the same name and other content may be a new version or something else, so the user decides.
    """
    named = {older for result in job.results for older in result.older}
    older = [source.id for source in application().library.sources() if source.id in named] if named else []
    if older:
        st.button(
            f"Remove {words.count(len(older), 'older document')}",
            icon=":material/delete:",
            type="tertiary",
            key=f"older-{job.id}",
            on_click=_remove,
            args=(older,),
        )


def _remove(source_ids: list[str]) -> None:
    application().library.remove(source_ids)
    st.rerun()
