"""Execution of one ingest job."""

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
    """Keyword arguments shared by all methods that add."""

    collection: str
    progress: Report
    stop: Stop


def add_all(library: Library, spool: Spool, job: Job, report: Report, stop: Stop) -> Iterator[AddResult]:
    """Add what the job names; yield one result per file. Raises `CragError`, `Stopped`."""
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
    """Change *unchanged* back to *added* if this job added the file itself before it was interrupted.

    That is the case if the job had stored such a result, or if the source is newer than the job and no other job has
    claimed it.
    """
    if not job.resumed or result.status != "unchanged" or result.id is None:
        return result
    if earlier := next((kept for kept in job.results if kept.source == result.source), None):
        return earlier
    claimed = {
        kept.id for other in others if other.id != job.id for kept in other.results if kept.status != "unchanged"
    }
    try:
        own = library.source(result.id).added_at >= job.submitted_at and result.id not in claimed
    except NotFound:
        return result
    return replace(result, status="added") if own else result
