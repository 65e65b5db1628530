"""The person's documents: added, kept, and found again. Importing this is cheap; what is heavy is loaded when used."""

from crag.library.jobs import IngestJobs, Job
from crag.library.library import Library
from crag.library.retriever import LibraryRetriever

__all__ = ["IngestJobs", "Job", "Library", "LibraryRetriever"]
