"""Tavily web search and its faults."""

from __future__ import annotations

from typing import Any

from crag.errors import WebSearchFailed
from crag.settings import url_host
from crag.text.formatting import format_retry_after
from crag.websearch.search import FoundPage


def fault_from_status(status: int, retry_after: str = "") -> WebSearchFailed:
    """Return the fault for a status code. `retry_after` is the header of that name (RFC 9110, section 10.2.3)."""
    if status < 300:
        return WebSearchFailed.make("tavily.bad_reply")
    return WebSearchFailed.from_status("tavily", status, wait=format_retry_after(retry_after))


def fault_from_exception(error: Exception, retry_after: str = "", status: int = 0) -> WebSearchFailed:
    """Return the fault for an exception of the client, which hides the status of a refusal, or its HTTP library."""
    import requests
    from tavily import errors

    match error:
        case errors.InvalidAPIKeyError():
            return fault_from_status(401)
        case errors.UsageLimitExceededError():
            return fault_from_status(429, retry_after)
        case errors.ForbiddenError():
            return fault_from_status(status or 403)
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


class TavilyBackend:
    """Asks Tavily with a key. Raises `ValueError` without one, because the client would send the query anyway."""

    name = "Tavily"

    def __init__(self, key: str, base_url: str) -> None:
        if not key:
            raise ValueError("a search without a key would still leave the machine")
        self._key = key
        self._base_url = base_url
        self.host = url_host(base_url)

    def fetch(self, query: str, results: int, timeout: float) -> list[FoundPage]:
        """See `SearchBackend`."""
        answer = self._request(query, results, timeout)
        found = answer.get("results") if isinstance(answer, dict) else None
        if not isinstance(found, list):
            raise WebSearchFailed.make("tavily.bad_reply")
        pages = [item for item in found if isinstance(item, dict)]
        return [FoundPage(one.get("title"), one.get("url"), one.get("content"), one.get("score")) for one in pages]

    def _request(self, query: str, results: int, timeout: float) -> Any:
        import requests  # imported late because only a search needs it
        from tavily import TavilyClient

        from crag.websearch.bounded_session import BoundedSession

        replies: list[requests.Response] = []  # whose status and Retry-After the client discards
        with BoundedSession() as session:  # the query goes only to the address that was shown
            session.hooks["response"].append(lambda reply, **_: replies.append(reply))
            client = TavilyClient(api_key=self._key, api_base_url=self._base_url, session=session)
            try:
                return client.search(query, max_results=results, timeout=timeout)
            except Exception as error:
                reply = replies[-1] if replies else requests.Response()
                wait, status = reply.headers.get("Retry-After", ""), int(reply.status_code or 0)
                raise fault_from_exception(error, wait, status) from error
