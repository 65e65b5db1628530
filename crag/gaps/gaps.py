"""The gaps of one library, as the rest of the application sees them."""

from __future__ import annotations

from typing import Protocol
from urllib.parse import urlsplit

from crag.errors import BadRequest
from crag.runs import RunService, Trace

_FETCHED = ("http", "https")


class SubmitAddress(Protocol):
    """Begins to add what an address holds, in the background."""

    def __call__(self, url: str, collection: str, *, found_by: str) -> str:
        """The job's id. `found_by` is the question whose web search found the address."""


class Gaps:
    """Safe to share between threads; several processes may work on one home."""

    def __init__(self, runs: RunService, submit: SubmitAddress) -> None:
        self._runs = runs
        self._submit = submit

    def add_page(self, location: str, collection: str, found_by: str) -> str:
        """Adds a page that the web search of the run `found_by` returned, marked with its question; the job's id.

        It is fetched as any address is, with the same guards. Raises `BadRequest` for an address that this search did
        not return or that is no web page, `NotFound` when the run is gone.
        """
        trace = self._runs.trace(found_by)
        if location not in web_results(trace):
            raise BadRequest("The web search of this answer did not return this page.", "Add its address in Documents.")
        if urlsplit(location).scheme.lower() not in _FETCHED:
            raise BadRequest("Only addresses that begin with http:// or https:// can be added.")
        return self._submit(location, collection, found_by=trace.question)


def web_results(trace: Trace) -> frozenset[str]:
    """The addresses that the web search of a run returned."""
    return frozenset(trace.passages[number].location for number in trace.found.get("web", ()))
