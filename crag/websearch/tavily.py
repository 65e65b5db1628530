"""Tavily behind the `WebSearch` protocol."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from crag.errors import HomeFault, WebSearchFailed
from crag.ledger import Ledger
from crag.protocols import QUERY_LIMIT
from crag.stopping import Stop
from crag.types import Passage
from crag.websearch.faults import too_slow, translate, unreadable

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
        ledger: Ledger,
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
        self._ledger = ledger
        self._may_link = may_link
        self._timeout = timeout
        self.host = host_of(base_url)

    def search(self, query: str, results: int, stop: Stop) -> list[Passage]:
        """Return at most `results` passages, best first, with ids -1, -2, …. The query is logged before it is sent.

        Raises `WebSearchFailed`, also if the query cannot be logged, and `Stopped`.
        """
        stop.check()
        sent = query[:QUERY_LIMIT]
        try:
            self._ledger.record(self.host, "web search", sent)
        except HomeFault as fault:
            raise WebSearchFailed(fault.message, fault.remedy) from fault
        answer = _await(lambda: self._request(sent, results), stop, self._timeout)
        found = answer.get("results") if isinstance(answer, dict) else None
        if not isinstance(found, list):
            raise unreadable()
        usable = [item for item in found if isinstance(item, dict) and _text(item.get("content"))][:results]
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
                raise translate(error, "".join(waits)) from error

    def _passage(self, number: int, item: dict[str, Any]) -> Passage:
        text, url = _text(item.get("content"))[:_TEXT_LIMIT], _text(item.get("url"))
        location = url if self._may_link(url) else ""
        score = item.get("score")
        return Passage(
            id=number,
            source_id="",
            title=_text(item.get("title"))[:_TITLE_LIMIT] or location or _UNTITLED,
            location=location,
            text=text,
            context=text,
            origin="web",
            score=float(score) if isinstance(score, int | float) else 0.0,
        )


def host_of(base_url: str) -> str:
    """Return the host of a URL as shown and logged, without user name and password."""
    return urlsplit(base_url).netloc.rpartition("@")[2]


def _await(work: Callable[[], Any], stop: Stop, seconds: float) -> Any:
    """Return the result of `work`.

    On timeout or cancellation the thread is abandoned, because it cannot be interrupted.
    """
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
        in_time = over.wait(seconds)
    stop.check()
    if not in_time:
        raise too_slow()
    if failure:
        raise failure[0]
    return outcome[0] if outcome else None


def _text(value: Any) -> str:
    """Return a string without characters that the database cannot store. Anything but a string becomes empty."""
    return value.encode("utf-8", "ignore").decode().replace("\x00", "").strip() if isinstance(value, str) else ""
