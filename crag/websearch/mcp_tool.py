"""A tool of an MCP server as one more place to search (https://modelcontextprotocol.io/specification)."""

from __future__ import annotations

from typing import Any

from crag.errors import WebSearchFailed
from crag.settings import url_host
from crag.websearch.search import FoundPage

_TOOL_MARK = "#"


class McpToolBackend:
    """Calls a tool over streamable HTTP; `address` is that of the server, `#` and the tool's name.

    The query goes into the tool's first required argument that takes a text.
    """

    def __init__(self, address: str) -> None:
        self._url, _, self._tool = address.partition(_TOOL_MARK)
        self.name = self._tool
        self.host = url_host(self._url)

    def fetch(self, query: str, results: int, timeout: float) -> list[FoundPage]:  # noqa: ARG002 — as all backends are called
        """See `SearchBackend`."""
        import anyio

        try:
            return anyio.run(self._call, query, timeout)
        except WebSearchFailed:
            raise
        except TimeoutError as error:
            raise WebSearchFailed.make("search.timeout", name=self.name) from error
        except Exception as error:
            raise _find_fault(error) or WebSearchFailed.make("search.unreachable", name=self.host) from error

    async def _call(self, query: str, timeout: float) -> list[FoundPage]:
        import anyio
        from mcp.client import Client

        with anyio.fail_after(timeout):
            async with Client(self._url) as client:
                tool = next((one for one in (await client.list_tools()).tools if one.name == self._tool), None)
                if tool is None:
                    raise WebSearchFailed.make("mcp.no_tool", name=self._tool, host=self.host)
                argument = _query_argument(tool.input_schema)
                result = await client.call_tool(self._tool, {argument: query})
        if result.is_error:
            raise WebSearchFailed.make("mcp.tool_error", name=self._tool)
        return [page for content in result.content if (page := _read_content(content, self.host))]


def _query_argument(schema: dict[str, Any]) -> str:
    properties = schema.get("properties", {})
    named = [*schema.get("required", ()), *properties]
    return next((name for name in named if properties.get(name, {}).get("type") == "string"), "query")


def _read_content(content: Any, host: str) -> FoundPage | None:
    """Return the page of a piece of content: a text, or a resource with one."""
    resource = getattr(content, "resource", None)
    text = getattr(content, "text", None) or getattr(resource, "text", None)
    url = str(getattr(resource, "uri", "") or getattr(content, "uri", ""))
    title = getattr(content, "title", None) or getattr(content, "name", None) or host
    return FoundPage(title, url, text) if text else None


def _find_fault(error: BaseException) -> WebSearchFailed | None:
    """Return the fault within an exception group."""
    if isinstance(error, WebSearchFailed):
        return error
    inner = getattr(error, "exceptions", ())
    return next((fault for one in inner if (fault := _find_fault(one))), None)
