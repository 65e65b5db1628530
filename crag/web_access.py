"""Access to the web for given options: the part of the composition root that knows web searches."""

from __future__ import annotations

from functools import partial

from crag.ledger import Ledger
from crag.library import Library
from crag.library.web.links import leads_outside
from crag.models.tokens import count_passage_tokens
from crag.options import RunOptions
from crag.protocols import Embedder, PageReader, WebSearch
from crag.settings import Settings
from crag.websearch import TavilySearch

OFF = "Web search is off"
NO_KEY = "There is no Tavily key"


class WebAccess:
    """Web search and page reading under the settings of a home."""

    def __init__(self, settings: Settings, library: Library, builtin_embedder: Embedder, ledger: Ledger) -> None:
        self._settings = settings
        self._library = library
        self._embedder = builtin_embedder
        self._ledger = ledger

    def search(self, options: RunOptions) -> tuple[WebSearch | None, str]:
        """Return the web search, or None and the reason as a clause."""
        key, url = self._settings.tavily_api_key, self._settings.tavily_url
        if options.web == "off":
            return None, OFF
        if not key:
            return None, NO_KEY
        return TavilySearch(key, url, self._ledger, partial(leads_outside, allow=self._settings.allow_private_urls)), ""

    def pages(self, options: RunOptions) -> PageReader | None:
        """Return a reader for the pages that a search found, if the options ask for it."""
        if not options.fetch_pages:
            return None
        from crag.library.adding.reading import GuardedReader
        from crag.library.web.pages import WebPages

        read = GuardedReader(count_passage_tokens, self._settings.max_upload_bytes)
        return WebPages(read, self._embedder, self._library, self._settings, self._ledger)
