"""Web search by any provider: what leaves is logged first, can be cancelled, and comes back as clean passages."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

from crag.cancellation import Cancellation, call_cancellable
from crag.errors import HomeFault, WebSearchFailed
from crag.protocols import MAX_QUERY_LENGTH
from crag.storage.outbound_log import OutboundLog
from crag.text.formatting import format_retry_after
from crag.text.sanitization import to_one_line
from crag.types import Passage, strip_unstorable

TIMEOUT_SECONDS = 20.0
TEST_QUERY = "corrective retrieval augmented generation"
_TEXT_LIMIT = 6_000
_TITLE_LIMIT = 200
_UNTITLED = "Web result"


@dataclass(frozen=True, slots=True)
class FoundPage:
    """One result as its provider sent it; anything but texts and a number counts as missing."""

    title: Any
    url: Any
    text: Any
    score: Any = 0.0


class SearchBackend(Protocol):
    """Asks one provider. Every call leaves the machine."""

    @property
    def name(self) -> str:
        """Name of the provider as shown, such as `Tavily`."""
        ...

    @property
    def host(self) -> str:
        """Where the query goes, such as `api.tavily.com`."""
        ...

    def fetch(self, query: str, results: int, timeout: float) -> list[FoundPage]:
        """Send the query once and return what came back, best first. Raises `WebSearchFailed`."""
        ...


class ProviderSearch:
    """A `WebSearch` over a backend. One search is one request with only the query; it is never retried."""

    def __init__(
        self,
        backend: SearchBackend,
        outbound_log: OutboundLog,
        may_link: Callable[[str], bool],
        timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        """`may_link` judges the URLs of results: those of private networks are not shown."""
        self._backend = backend
        self._outbound_log = outbound_log
        self._may_link = may_link
        self._timeout = timeout
        self.name = backend.name
        self.host = backend.host

    def search(self, query: str, results: int, stop: Cancellation) -> list[Passage]:
        """Return at most `results` passages, best first, with ids -1, -2, …. The query is logged before it is sent.

        Raises `WebSearchFailed`, also if the query cannot be logged, and `Stopped`.
        """
        stop.check()
        stop.begin_external_call()
        sent = query[:MAX_QUERY_LENGTH]
        try:
            self._outbound_log.record(self.host, "web search", sent)
        except HomeFault as fault:
            raise WebSearchFailed(fault.message, fault.remedy) from fault
        try:
            found = call_cancellable(lambda: self._backend.fetch(sent, results, self._timeout), stop, self._timeout)
        except TimeoutError as error:
            raise WebSearchFailed.make("search.timeout", name=self.name) from error
        usable = [page for page in found if _clean_string(page.text)][:results]
        return [self._passage(-number, page) for number, page in enumerate(usable, start=1)]

    def _passage(self, number: int, page: FoundPage) -> Passage:
        text, url = _clean_string(page.text)[:_TEXT_LIMIT], _clean_string(page.url)
        location = url if self._may_link(url) else ""
        return Passage(
            id=number,
            source_id="",
            title=to_one_line(_clean_string(page.title)[:_TEXT_LIMIT])[:_TITLE_LIMIT] or location or _UNTITLED,
            location=location,
            text=text,
            context=text,
            origin="web",
            score=_read_score(page.score),
        )


FindFault = Callable[[int, Any], str]
"""Returns the key in `FAULTS` for a status and the JSON that came with it (None: no JSON); empty for the usual one."""


def _find_no_fault(_status: int, _reply: Any) -> str:
    return ""


def fetch_json(
    name: str,
    url: str,
    query: Mapping[str, str],
    timeout: float,
    headers: Mapping[str, str] = MappingProxyType({}),
    find_fault: FindFault = _find_no_fault,
) -> Any:
    """Return the JSON that a provider sends. Redirects are not followed: the query goes only where it was shown.

    Raises `WebSearchFailed` with the provider's `name`; `find_fault` knows its own ways to say what is wrong.
    """
    import requests  # imported late because only a search needs it

    from crag.websearch.bounded_session import BoundedSession

    try:
        with BoundedSession() as session:
            reply = session.get(url, params=query, headers=headers, timeout=timeout)
    except requests.TooManyRedirects as error:
        raise WebSearchFailed.make("search.redirected", name=name) from error
    except requests.Timeout as error:
        raise WebSearchFailed.make("search.timeout", name=name) from error
    except requests.exceptions.ContentDecodingError as error:
        raise WebSearchFailed.make("search.bad_reply", name=name) from error
    except requests.RequestException as error:
        raise WebSearchFailed.make("search.unreachable", name=name) from error
    content = _parse_json(reply.content)
    values = {"name": name, "wait": format_retry_after(reply.headers.get("Retry-After", ""))}
    if fault := find_fault(reply.status_code, content):
        raise WebSearchFailed.make(fault, **values)
    if reply.status_code != 200:
        raise WebSearchFailed.from_status("search", reply.status_code, **values)
    if content is None:
        raise WebSearchFailed.make("search.bad_reply", name=name)
    return content


def _parse_json(body: bytes) -> Any:
    """Return the JSON value; None if it is none."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def read_results(name: str, found: Any) -> list[dict[str, Any]]:
    """Return the results of a reply that are objects. Raises `WebSearchFailed` if they are no list."""
    if not isinstance(found, list):
        raise WebSearchFailed.make("search.bad_reply", name=name)
    return [item for item in found if isinstance(item, dict)]


def _read_score(value: Any) -> float:
    """Return a finite number; anything else becomes zero, also an integer that is too large for a float."""
    with suppress(OverflowError):
        return float(value) if isinstance(value, int | float) and math.isfinite(value) else 0.0
    return 0.0


def _clean_string(value: Any) -> str:
    """Return a string without characters that the database cannot store. Anything but a string becomes empty."""
    return strip_unstorable(value).strip() if isinstance(value, str) else ""
