"""Tavily's faults, from exceptions of its client or from status codes."""

from __future__ import annotations

from crag.amounts import asked_wait
from crag.errors import WebSearchFailed

_LATER = "Try again later."


def refused(status: int, retry_after: str = "") -> WebSearchFailed:
    """Return the fault for a status code. `retry_after` is the header of that name (RFC 9110, section 10.2.3)."""
    match status:
        case 401:
            return WebSearchFailed("Tavily refused the key.", "Check TAVILY_API_KEY.")
        case 429:
            wait = asked_wait(retry_after)
            return WebSearchFailed("Tavily's limit is reached for now.", f"Wait {wait}, then ask again.")
        case 403 | 432 | 433:
            return WebSearchFailed("Tavily's plan or key does not allow this search.", "Look at your Tavily account.")
        case 400:
            return WebSearchFailed("Tavily did not accept the query.", "Ask in other words.")
        case _ if status >= 300:
            return WebSearchFailed("Tavily has a fault of its own.", _LATER)
    return unreadable()


def unreadable() -> WebSearchFailed:
    """Return the fault for a malformed reply."""
    return WebSearchFailed("Tavily's reply could not be read.", _LATER)


def too_slow() -> WebSearchFailed:
    """Return the fault for a reply that was not complete before the deadline."""
    return WebSearchFailed("Tavily did not answer in time.", _LATER)


def translate(error: Exception, retry_after: str = "") -> WebSearchFailed:
    """Return the fault for an exception of the client or its HTTP library."""
    import requests
    from tavily import errors

    match error:
        case errors.InvalidAPIKeyError():
            return refused(401)
        case errors.UsageLimitExceededError():
            return refused(429, retry_after)
        case errors.ForbiddenError():
            return refused(403)
        case errors.BadRequestError():
            return refused(400)
        case errors.TimeoutError() | requests.Timeout():
            return too_slow()
        case requests.TooManyRedirects():
            return WebSearchFailed("Tavily's address leads elsewhere and was not followed.", "Check CRAG_TAVILY_URL.")
        case requests.HTTPError():
            return refused(500)
        case requests.ConnectionError():
            return WebSearchFailed("Tavily cannot be reached.", "Check the connection, then try again.")
    return unreadable()
