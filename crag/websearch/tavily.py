"""Tavily behind the `WebSearch` protocol: its results as passages, its failures in the user's words."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from crag.errors import WebSearchFailed
from crag.protocols import QUERY_LIMIT
from crag.stopping import Stop
from crag.types import Passage

_TIMEOUT_SECONDS = 20
_TEXT_LIMIT = 6_000
_TITLE_LIMIT = 200


class TavilySearch:
    """One search is one request to `host` that holds the query and nothing else of the person."""

    name = "Tavily"

    def __init__(self, key: str, base_url: str, timeout: float = _TIMEOUT_SECONDS) -> None:
        """Raises `ValueError` without a key: the client would send the query all the same."""
        if not key:
            raise ValueError("a search without a key would still leave the machine")
        self._key = key
        self._base_url = base_url
        self._timeout = timeout
        self.host = urlsplit(base_url).netloc

    def search(self, query: str, results: int, stop: Stop) -> list[Passage]:
        """At most `results` passages, best first, ids -1, -2, …. Raises `WebSearchFailed`, `Stopped`."""
        stop.check()
        answer = _await(lambda: self._request(query[:QUERY_LIMIT], results), stop)
        found = answer.get("results") if isinstance(answer, dict) else None
        if not isinstance(found, list):
            raise WebSearchFailed("Tavily's reply could not be read.", "Try again later.")
        usable = [item for item in found if isinstance(item, dict) and _text(item.get("content"))][:results]
        return [_passage(-number, item) for number, item in enumerate(usable, start=1)]

    def _request(self, query: str, results: int) -> Any:
        import requests  # imported late, like all that only a search needs
        from tavily import TavilyClient

        with requests.Session() as session:
            session.max_redirects = 0  # the query goes to the address that was shown, and nowhere else
            client = TavilyClient(api_key=self._key, api_base_url=self._base_url, session=session)
            try:
                return client.search(query, max_results=results, timeout=self._timeout)
            except Exception as error:
                raise _translate(error) from error


def _await(work: Callable[[], Any], stop: Stop) -> Any:
    """The result of `work`, left to itself in its thread when the person stops: a blocking request cannot be cut."""
    outcome: list[Any] = []
    failure: list[Exception] = []
    over = threading.Event()

    def run() -> None:
        try:
            outcome.append(work())
        except WebSearchFailed as error:
            failure.append(error)
        finally:
            over.set()

    thread = threading.Thread(target=run, name="web-search", daemon=True)
    with stop.breaking(over.set):
        thread.start()
        over.wait()
    stop.check()
    if failure:
        raise failure[0]
    return outcome[0] if outcome else None


def _translate(error: Exception) -> WebSearchFailed:
    import requests
    from tavily import errors

    match error:
        case errors.InvalidAPIKeyError():
            return WebSearchFailed("Tavily refused the key.", "Check TAVILY_API_KEY.")
        case errors.UsageLimitExceededError():
            return WebSearchFailed("Tavily's limit is reached for now.", "Wait a while, then ask again.")
        case errors.ForbiddenError():
            return WebSearchFailed("Tavily's plan or key does not allow this search.", "Look at your Tavily account.")
        case errors.BadRequestError():
            return WebSearchFailed("Tavily did not accept the query.", "Ask in other words.")
        case errors.TimeoutError() | requests.Timeout():
            return WebSearchFailed("Tavily did not answer in time.", "Try again later.")
        case requests.TooManyRedirects():
            return WebSearchFailed("Tavily's address leads elsewhere and was not followed.", "Check CRAG_TAVILY_URL.")
        case requests.exceptions.JSONDecodeError():
            return WebSearchFailed("Tavily's reply could not be read.", "Try again later.")
        case requests.HTTPError():
            return WebSearchFailed("Tavily has a fault of its own.", "Try again later.")
        case requests.ConnectionError():
            return WebSearchFailed("Tavily cannot be reached.", "Check the connection, then try again.")
    return WebSearchFailed("Tavily's reply could not be read.", "Try again later.")


def _passage(number: int, item: dict[str, Any]) -> Passage:
    text, url = _text(item.get("content"))[:_TEXT_LIMIT], _text(item.get("url"))
    score = item.get("score")
    return Passage(
        id=number,
        source_id="",
        title=_text(item.get("title"))[:_TITLE_LIMIT] or url,
        location=url if url.startswith(("http://", "https://")) else "",
        text=text,
        context=text,
        origin="web",
        score=float(score) if isinstance(score, int | float) else 0.0,
    )


def _text(value: Any) -> str:
    """A string that every database and screen can hold; anything else is empty."""
    return value.encode("utf-8", "ignore").decode().replace("\x00", "").strip() if isinstance(value, str) else ""
