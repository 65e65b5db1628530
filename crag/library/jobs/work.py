"""What a job does: adds what it names, and tells the truth about what it had added before it was interrupted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypedDict

from crag.errors import NotFound
from crag.library.jobs.rows import Job
from crag.library.jobs.spool import Spool
from crag.library.library import Library
from crag.library.web.site import SiteLimits
from crag.progress import Report
from crag.stopping import Stop
from crag.types import AddResult


class _Way(TypedDict):
    """What every way of adding takes."""

    collection: str
    progress: Report
    stop: Stop


def add_all(library: Library, spool: Spool, job: Job, report: Report, stop: Stop) -> Iterator[AddResult]:
    """One result for each file of the job. Raises `CragError`, `Stopped`."""
    way: _Way = {"collection": job.collection, "progress": report, "stop": stop}
    if job.kind == "upload":
        for result in library.add_upload(job.name, spool.get(job.id), **way):
            older = library.namesakes(result.id) if result.id and result.status != "unchanged" else []
            yield replace(result, older=tuple(source.id for source in older))
    elif job.kind == "address":
        yield from library.add_address(job.spec, found_by=job.options.get("found_by", ""), **way)
    elif job.kind == "site":
        yield from library.add_site(job.spec, SiteLimits(**job.options["limits"]), **way)
    else:
        yield from library.add(job.spec, **way)


def as_first_told(result: AddResult, job: Job, library: Library, others: Sequence[Job]) -> AddResult:
    """What a job that was interrupted says of a file that it finds already there: if it was itself, *added*.

    It was itself if it said so then, or if the source is younger than the job and no other job has claimed it.
    """
    if not job.resumed or result.status != "unchanged" or result.id is None:
        return result
    if told := next((kept for kept in job.results if kept.source == result.source), None):
        return told
    claimed = {
        kept.id for other in others if other.id != job.id for kept in other.results if kept.status != "unchanged"
    }
    try:
        own = library.source(result.id).added_at >= job.submitted_at and result.id not in claimed
    except NotFound:
        return result
    return replace(result, status="added") if own else result
