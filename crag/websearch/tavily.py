"""Tavily web search and its faults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from crag.cancellation import Cancellation, call_cancellable
from crag.errors import HomeFault, WebSearchFailed
from crag.protocols import MAX_QUERY_LENGTH
from crag.settings import url_host
from crag.storage.outbound_log import OutboundLog
from crag.text.formatting import format_retry_after
from crag.types import Passage, strip_unstorable


def fault_from_status(status: int, retry_after: str = "") -> WebSearchFailed:
    """Return the fault for a status code. `retry_after` is the header of that name (RFC 9110, section 10.2.3)."""
    if status < 300:
        return WebSearchFailed.make("tavily.bad_reply")
    return WebSearchFailed.from_status("tavily", status, wait=format_retry_after(retry_after))


def fault_from_exception(error: Exception, retry_after: str = "") -> WebSearchFailed:
    """Return the fault for an exception of the client or its HTTP library."""
    import requests
    from tavily import errors

    match error:
        case errors.InvalidAPIKeyError():
            return fault_from_status(401)
        case errors.UsageLimitExceededError():
            return fault_from_status(429, retry_after)
        case errors.ForbiddenError():
            return fault_from_status(403)
        case errors.BadRequestError():
            return fault_from_status(400)
        case errors.TimeoutError() | requests.Timeout():
            return WebSearchFailed.make("tavily.timeout")
        case requests.TooManyRedirects():
            return WebSearchFailed.make("tavily.redirected")
        case requests.HTTPError():
            return fault_from_status(500)
        case requests.ConnectionError():
            return WebSearchFailed.make("tavily.unreachable")
    return WebSearchFailed.make("tavily.bad_reply")


_TIMEOUT_SECONDS = 20
_TEXT_LIMIT = 6_000
_TITLE_LIMIT = 200
_UNTITLED = "Web result"


class TavilySearch:
    """Web search by Tavily. One search is one request to `host` with only the query; it is never retried."""

    name = "Tavily"

    def __init__(
        self,
        key: str,
        base_url: str,
        outbound_log: OutboundLog,
        may_link: Callable[[str], bool],
        timeout: float = _TIMEOUT_SECONDS,
    ) -> None:
        """Set up the client. `may_link` judges the URLs of results: those of private networks are not shown.

        Raises `ValueError` without a key, because the client would send the query anyway.
        """
        if not key:
            raise ValueError("a search without a key would still leave the machine")
        self._key = key
        self._base_url = base_url
        self._outbound_log = outbound_log
        self._may_link = may_link
        self._timeout = timeout
        self.host = url_host(base_url)

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
            answer = call_cancellable(lambda: self._request(sent, results), stop, self._timeout)
        except TimeoutError as error:
            raise WebSearchFailed.make("tavily.timeout") from error
        found = answer.get("results") if isinstance(answer, dict) else None
        if not isinstance(found, list):
            raise WebSearchFailed.make("tavily.bad_reply")
        usable = [item for item in found if isinstance(item, dict) and _clean_string(item.get("content"))][:results]
        return [self._passage(-number, item) for number, item in enumerate(usable, start=1)]

    def _request(self, query: str, results: int) -> Any:
        import requests  # imported late because only a search needs it
        from tavily import TavilyClient

        waits: list[str] = []  # Retry-After headers, which the client discards
        with requests.Session() as session:
            session.max_redirects = 0  # the query goes only to the address that was shown
            session.hooks["response"].append(lambda reply, **_: waits.append(reply.headers.get("Retry-After", "")))
            client = TavilyClient(api_key=self._key, api_base_url=self._base_url, session=session)
            try:
                return client.search(query, max_results=results, timeout=self._timeout)
            except Exception as error:
                raise fault_from_exception(error, "".join(waits)) from error

    def _passage(self, number: int, item: dict[str, Any]) -> Passage:
        text, url = _clean_string(item.get("content"))[:_TEXT_LIMIT], _clean_string(item.get("url"))
        location = url if self._may_link(url) else ""
        score = item.get("score")
        return Passage(
            id=number,
            source_id="",
            title=_clean_string(item.get("title"))[:_TITLE_LIMIT] or location or _UNTITLED,
            location=location,
            text=text,
            context=text,
            origin="web",
            score=float(score) if isinstance(score, int | float) else 0.0,
        )


def _clean_string(value: Any) -> str:
    """Return a string without characters that the database cannot store. Anything but a string becomes empty."""
    return strip_unstorable(value).strip() if isinstance(value, str) else ""
