"""Any retriever of LangChain, named by the administrator of the server: it runs code."""

from __future__ import annotations

import importlib
from typing import Any

from crag.errors import WebSearchFailed
from crag.websearch.search import FoundPage


class RetrieverBackend:
    """Asks `package.module:name`, a retriever or a class that makes one without arguments."""

    def __init__(self, dotted_name: str) -> None:
        self._module, _, self._attribute = dotted_name.partition(":")
        self.name = self._attribute or dotted_name
        self.host = dotted_name

    def fetch(self, query: str, results: int, timeout: float) -> list[FoundPage]:  # noqa: ARG002 — as all backends are called
        """See `SearchBackend`."""
        try:
            retriever = getattr(importlib.import_module(self._module), self._attribute)
            if isinstance(retriever, type):
                retriever = retriever()
        except Exception as error:
            raise WebSearchFailed.make("retriever.not_found", name=self.host) from error
        try:
            documents = retriever.invoke(query)
        except Exception as error:
            raise WebSearchFailed.make("search.unreachable", name=self.name) from error
        return [_to_page(document) for document in documents]


def _to_page(document: Any) -> FoundPage:
    about = document.metadata
    return FoundPage(about.get("title"), about.get("source") or about.get("url"), document.page_content)
