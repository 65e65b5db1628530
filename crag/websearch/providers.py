"""The providers of web search. To add one: a module with its backend, and a line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from crag.settings import Settings
from crag.websearch.brave import BraveBackend
from crag.websearch.langchain_retriever import RetrieverBackend
from crag.websearch.mcp_tool import McpToolBackend
from crag.websearch.search import SearchBackend
from crag.websearch.searxng import SearxngBackend
from crag.websearch.tavily import TavilyBackend


@dataclass(frozen=True, slots=True)
class SearchProvider:
    """A provider as shown; `variable` of the environment sets it up, as in `example`, and `open` makes its backend."""

    label: str
    variable: str
    example: str
    open: Callable[[Settings], SearchBackend]


PROVIDERS: dict[str, SearchProvider] = {
    "tavily": SearchProvider(
        "Tavily",
        "TAVILY_API_KEY",
        "tvly-YOUR-KEY",
        lambda settings: TavilyBackend(settings.tavily_api_key, settings.tavily_url),
    ),
    "brave": SearchProvider(
        "Brave",
        "BRAVE_API_KEY",
        "YOUR-KEY",
        lambda settings: BraveBackend(settings.brave_api_key, settings.brave_url),
    ),
    "searxng": SearchProvider(
        "SearXNG",
        "CRAG_SEARXNG_URL",
        "http://127.0.0.1:8080",
        lambda settings: SearxngBackend(settings.searxng_url),
    ),
    "mcp": SearchProvider(
        "MCP server",
        "CRAG_MCP_SEARCH",
        "https://HOST/mcp#TOOL",
        lambda settings: McpToolBackend(settings.mcp_search, settings.mcp_token),
    ),
    "retriever": SearchProvider(
        "LangChain retriever",
        "CRAG_SEARCH_RETRIEVER",
        "package.module:Name",
        lambda settings: RetrieverBackend(settings.search_retriever, settings.keys),
    ),
}
"""By their names in `Settings.web_search_provider`."""


def find_provider(settings: Settings) -> SearchProvider | None:
    """Return what searches the web; None if nothing is set up."""
    return PROVIDERS.get(settings.web_search_provider)
