"""SearXNG: a search engine that people host themselves, without a key (https://docs.searxng.org/dev/search_api.html)."""

from __future__ import annotations

from typing import Any

from crag.errors import WebSearchFailed
from crag.settings import url_host
from crag.types import strip_unstorable
from crag.websearch.search import FoundPage, fetch_json, read_results

_MAX_ENGINES, _MAX_REASONS = 5, 200  # named in the message, and its length


class SearxngBackend:
    """Asks a SearXNG instance, which must allow JSON."""

    name = "SearXNG"

    def __init__(self, base_url: str) -> None:
        self._url = f"{base_url}/search"
        self.host = url_host(base_url)

    def fetch(self, query: str, results: int, timeout: float) -> list[FoundPage]:  # noqa: ARG002 — as all backends are called
        """See `SearchBackend`."""
        asked = {"q": query, "format": "json"}
        reply = fetch_json(self.name, self._url, asked, timeout, find_fault=_find_fault)
        found = read_results(self.name, reply.get("results") if isinstance(reply, dict) else None)
        if not found and (silent := _list_silent_engines(reply)):
            raise WebSearchFailed.make("searxng.no_engine", engines=silent)
        return [FoundPage(one.get("title"), one.get("url"), one.get("content"), one.get("score")) for one in found]


def _find_fault(status: int, _reply: Any) -> str:
    return {403: "searxng.no_json", 429: "searxng.limiter"}.get(status, "")


def _list_silent_engines(reply: dict[str, Any]) -> str:
    """Return the search engines that SearXNG asked in vain, each with the reason that it gives."""
    silent = reply.get("unresponsive_engines")
    pairs = [pair for pair in silent if isinstance(pair, list)] if isinstance(silent, list) else []
    engines = ", ".join(f"{pair[0]} ({pair[1]})" for pair in pairs[:_MAX_ENGINES] if len(pair) == 2)
    return " ".join(strip_unstorable(engines).split())[:_MAX_REASONS]
