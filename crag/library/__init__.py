"""The person's documents: added, kept, and found again.

Names are loaded when they are used, so that the child that parses a file does not load the database with it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crag.library.jobs.rows import Job
    from crag.library.jobs.service import IngestJobs
    from crag.library.library import Library
    from crag.library.retriever import LibraryRetriever

__all__ = ["IngestJobs", "Job", "Library", "LibraryRetriever"]

_HOMES = {
    "IngestJobs": "jobs.service",
    "Job": "jobs.rows",
    "Library": "library",
    "LibraryRetriever": "retriever",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
