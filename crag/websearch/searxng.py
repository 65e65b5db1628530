"""SearXNG: a search engine of one's own, without a key (https://docs.searxng.org/dev/search_api.html)."""

from __future__ import annotations

from crag.settings import url_host
from crag.websearch.search import FoundPage, fetch_json, read_results


class SearxngBackend:
    """Asks a SearXNG instance, which must allow JSON."""

    name = "SearXNG"

    def __init__(self, base_url: str) -> None:
        self._url = f"{base_url}/search"
        self.host = url_host(base_url)

    def fetch(self, query: str, results: int, timeout: float) -> list[FoundPage]:  # noqa: ARG002 — as all backends are called
        """See `SearchBackend`."""
        asked = {"q": query, "format": "json"}
        reply = fetch_json(self.name, self._url, asked, timeout, faults={403: "searxng.no_json"})
        found = read_results(self.name, reply.get("results") if isinstance(reply, dict) else None)
        return [FoundPage(one.get("title"), one.get("url"), one.get("content"), one.get("score")) for one in found]
