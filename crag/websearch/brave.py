"""Brave Search (https://api-dashboard.search.brave.com/app/documentation/web-search)."""

from __future__ import annotations

import html
import re
from typing import Any

from crag.settings import url_host
from crag.websearch.search import FoundPage, fetch_json, read_results

_PATH = "/res/v1/web/search"
_TAG = re.compile(r"</?[a-z]+>")
_MAX_RESULTS = 20
_FAULTS = {  # a wrong key and a wrong query have the same status, and so have both limits
    "SUBSCRIPTION_TOKEN_INVALID": "search.401",
    "SUBSCRIPTION_NOT_FOUND": "search.403",
    "QUOTA_LIMITED": "search.402",
    "RATE_LIMITED": "search.429",
    "VALIDATION": "search.400",
}


class BraveBackend:
    """Asks Brave with a key."""

    name = "Brave"

    def __init__(self, key: str, base_url: str) -> None:
        self._url = f"{base_url}{_PATH}"
        self._headers = {"X-Subscription-Token": key, "Accept": "application/json"}
        self.host = url_host(base_url)

    def fetch(self, query: str, results: int, timeout: float) -> list[FoundPage]:
        """See `SearchBackend`."""
        asked = {"q": query, "count": str(min(results, _MAX_RESULTS)), "text_decorations": "false"}
        reply = fetch_json(self.name, self._url, asked, timeout, self._headers, _find_fault)
        web = reply.get("web", {"results": []}) if isinstance(reply, dict) else None
        found = read_results(self.name, web.get("results") if isinstance(web, dict) else None)
        return [FoundPage(one.get("title"), one.get("url"), _snippets(one)) for one in found]


def _find_fault(_status: int, reply: Any) -> str:
    error = reply.get("error") if isinstance(reply, dict) else None
    return _FAULTS.get(str(error.get("code")), "") if isinstance(error, dict) else ""


def _snippets(result: dict[str, Any]) -> str:
    """Return the description and further snippets, without the marks that Brave sets in them."""
    more = result.get("extra_snippets")
    texts = [result.get("description"), *(more if isinstance(more, list) else [])]
    return "\n".join(html.unescape(_TAG.sub("", text)) for text in texts if isinstance(text, str))
