"""Any retriever of LangChain, named by the administrator of the server: it runs code."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from typing import Any

from crag.errors import WebSearchFailed
from crag.websearch.search import FoundPage


class RetrieverBackend:
    """Asks `package.module:name`, a retriever or what makes one when called without arguments.

    `keys` become variables of the environment, where retrievers look for theirs; those already there stay.
    """

    def __init__(self, dotted_name: str, keys: Mapping[str, str]) -> None:
        self._keys = keys
        self._module, _, self._attribute = dotted_name.partition(":")
        self.name = self._attribute or dotted_name
        self.host = dotted_name

    def fetch(self, query: str, results: int, timeout: float) -> list[FoundPage]:  # noqa: ARG002 — as all backends are called
        """See `SearchBackend`."""
        retriever = self._load()
        try:
            documents = retriever.invoke(query)
        except Exception as error:
            raise WebSearchFailed.make("retriever.failed", name=self.name) from error
        if not isinstance(documents, list) or not all(hasattr(one, "page_content") for one in documents):
            raise WebSearchFailed.make("retriever.no_documents", name=self.name)
        return [_to_page(document) for document in documents]

    def _load(self) -> Any:
        for name, value in self._keys.items():
            os.environ.setdefault(name, value)
        try:
            retriever = getattr(importlib.import_module(self._module), self._attribute)
        except Exception as error:
            raise WebSearchFailed.make("retriever.not_found", name=self.host) from error
        try:
            made = retriever() if isinstance(retriever, type) or not hasattr(retriever, "invoke") else retriever
        except Exception as error:
            raise WebSearchFailed.make("retriever.not_made", name=self.name) from error
        if not hasattr(made, "invoke"):
            raise WebSearchFailed.make("retriever.no_documents", name=self.name)
        return made


def _to_page(document: Any) -> FoundPage:
    about = document.metadata if isinstance(getattr(document, "metadata", None), dict) else {}
    return FoundPage(about.get("title"), about.get("source") or about.get("url"), document.page_content)
