"""A tool of an MCP server as one more place to search (https://modelcontextprotocol.io/specification)."""

from __future__ import annotations

import json
import logging
import os
import shlex
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

from crag.errors import WebSearchFailed
from crag.settings import is_web_address, url_host
from crag.text.sanitization import to_one_line
from crag.websearch.search import FoundPage

LOCAL_PROGRAM = "a local program"
_TOOL_MARK, _ARGUMENT_MARK = "#", ":"
_MAX_TOOL_PAGES, _MAX_NAMES = 10, 200  # of a server's list; characters of it in a message
_LOGGERS = ("mcp.client", "client")  # they log what a server sends
_MAX_READ_LINKS = 5
_TEXT_NAMES = ("text", "content", "page_content", "snippet", "description", "summary", "body")
_TITLE_NAMES = ("title", "name")
_URL_NAMES = ("url", "link", "uri", "href", "source")


class McpToolBackend:
    """Calls a tool of an MCP server.

    `target` is the address of a server of streamable HTTP, or the command of one that this machine runs, then `#`, the
    tool's name, `:` and the argument that takes the query: `https://host/mcp#search:query`. A tool that is the only one
    need not be named; the argument is otherwise the first required text. A server over HTTP gets the `token`.
    """

    def __init__(self, target: str, token: str = "") -> None:
        server, _, chosen = target.rpartition(_TOOL_MARK) if _TOOL_MARK in target else (target, "", "")
        self._server = server.strip()
        self._tool, _, self._argument = chosen.strip().partition(_ARGUMENT_MARK)
        self._token = token
        self._is_remote = is_web_address(self._server)
        self.name = self._tool or "MCP"
        self.host = url_host(self._server) if self._is_remote else LOCAL_PROGRAM

    def fetch(self, query: str, results: int, timeout: float) -> list[FoundPage]:
        """See `SearchBackend`. A program of this machine is started for each search, and ends with it."""
        import anyio

        statuses: list[int] = []
        try:
            return anyio.run(self._search, query, results, timeout, statuses)
        except TimeoutError as error:
            raise WebSearchFailed.make("search.timeout", name=self.host) from error
        except Exception as error:
            raise _find_fault(error) or self._connection_fault(statuses) from error

    async def _search(self, query: str, results: int, timeout: float, statuses: list[int]) -> list[FoundPage]:
        import anyio
        from mcp import MCPError

        with anyio.fail_after(timeout):
            async with self._connect(timeout, statuses) as client:
                tool = await self._find_tool(client)
                # Its pattern for results could keep the processor busy for years, and none is needed to read them.
                client.session.validate_tool_result = _accept_result
                name = _shorten(tool.name)
                argument = self._argument or _query_argument(tool.input_schema)
                if missing := [name for name in tool.input_schema.get("required", ()) if name != argument]:
                    also = _shorten(", ".join(missing))
                    raise WebSearchFailed.make("mcp.other_arguments", name=name, missing=also)
                try:
                    result = await client.call_tool(tool.name, {argument: query})
                except MCPError as error:
                    raise WebSearchFailed.make("mcp.tool_error", name=name) from error
                if result.is_error:
                    raise WebSearchFailed.make("mcp.tool_error", name=name)
                structured = list(_read_structured(result.structured_content))
                return structured or await _read_contents(client, result.content[:results], tool.title or tool.name)

    @asynccontextmanager
    async def _connect(self, timeout: float, statuses: list[int]) -> AsyncIterator[Any]:
        """Yield a client; `statuses` gets those of the replies over HTTP."""
        from mcp.client import Client
        from mcp.client.stdio import StdioServerParameters, stdio_client
        from mcp.client.streamable_http import streamable_http_client
        from mcp.shared._httpx_utils import create_mcp_http_client

        for name in _LOGGERS:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        if not self._is_remote:
            command, *arguments = shlex.split(self._server) or [""]
            program = StdioServerParameters(command=command, args=arguments)
            with open(os.devnull, "w") as discarded:  # noqa: PTH123 — a device
                async with Client(stdio_client(program, discarded)) as client:
                    yield client
            return

        async def note_status(reply: Any) -> None:
            statuses.append(reply.status_code)
            reply.aiter_bytes = self._bound(reply.aiter_bytes)  # by which the client reads: it has no limit of its own

        async with create_mcp_http_client({"Authorization": f"Bearer {self._token}"} if self._token else None) as http:
            http.timeout = timeout
            http.event_hooks = {"response": [note_status]}
            async with Client(streamable_http_client(self._server, http_client=http)) as client:
                yield client

    def _bound(self, read: Callable[..., AsyncIterator[bytes]]) -> Callable[..., AsyncIterator[bytes]]:
        from crag.websearch.bounded_session import MAX_REPLY_BYTES

        async def read_within_limit(*arguments: Any) -> AsyncIterator[bytes]:
            left = MAX_REPLY_BYTES
            async for piece in read(*arguments):
                left -= len(piece)
                if left < 0:
                    raise WebSearchFailed.make("mcp.bad_reply", host=self.host)
                yield piece

        return read_within_limit

    async def _find_tool(self, client: Any) -> Any:
        tools: list[Any] = []
        cursor = None
        for _ in range(_MAX_TOOL_PAGES):
            listed = await client.list_tools(cursor=cursor)
            tools += listed.tools
            if not (cursor := listed.next_cursor):
                break
        fitting = [tool for tool in tools if tool.name == self._tool] if self._tool else tools
        if len(fitting) == 1:
            return fitting[0]
        names = _shorten(", ".join(tool.name for tool in tools)) or "none"
        fault = "mcp.no_tool" if self._tool else "mcp.which_tool"
        raise WebSearchFailed.make(fault, name=self._tool, host=self.host, tools=names)

    def _connection_fault(self, statuses: list[int]) -> WebSearchFailed:
        """Return the fault of an interrupted session, judging by the last reply."""
        if not self._is_remote:
            return WebSearchFailed.make("mcp.not_started")
        status = statuses[-1] if statuses else 0
        if not status:
            return WebSearchFailed.make("search.unreachable", name=self.host)
        if status == 401:
            return WebSearchFailed.make("mcp.401", host=self.host)
        if 300 <= status < 400:
            return WebSearchFailed.make("search.redirected", name=self.host)
        if status in (403, 404, 429) or status >= 500:
            return WebSearchFailed.from_status("search", status, name=self.host, wait="a while")
        return WebSearchFailed.make("mcp.bad_reply", host=self.host)


async def _accept_result(*_: object) -> None:
    """Accept a result that is not of the form that its tool describes."""


def _shorten(names: str) -> str:
    """Return names that a server sent as they may stand in a message."""
    return to_one_line(names[: 10 * _MAX_NAMES])[:_MAX_NAMES]


def _query_argument(schema: dict[str, Any]) -> str:
    properties = schema.get("properties", {})
    named = [*schema.get("required", ()), *properties]
    return next((name for name in named if properties.get(name, {}).get("type") == "string"), "query")


async def _read_contents(client: Any, contents: list[Any], title: str) -> list[FoundPage]:
    """Return the pages in pieces of content: texts, JSON, resources, and links to resources."""
    found: list[FoundPage] = []
    links = 0
    for content in contents:
        if content.type == "text":
            found += list(_read_json(content.text)) or [FoundPage(title, "", content.text)]
        elif content.type == "resource":
            found.append(_resource_page(content.resource, title))
        elif content.type == "resource_link":
            if content.description:
                found.append(FoundPage(content.title or content.name, str(content.uri), content.description))
            elif (links := links + 1) <= _MAX_READ_LINKS:
                resource = await client.read_resource(str(content.uri))
                found += [_resource_page(one, content.title or content.name) for one in resource.contents]
    return found


def _resource_page(resource: Any, title: str) -> FoundPage:
    return FoundPage(title, str(resource.uri), getattr(resource, "text", None))


def _read_json(text: str) -> Iterator[FoundPage]:
    """Yield the pages in a text that is JSON, as servers send it for clients without structured content."""
    try:
        yield from _read_structured(json.loads(text) if text.lstrip()[:1] in ("[", "{") else None)
    except (ValueError, RecursionError):
        return


def _read_structured(value: Any) -> Iterator[FoundPage]:
    """Yield the pages in a list of objects, in an object that holds one, or in a single object with a text."""
    if isinstance(value, dict):
        lists = [inner for inner in value.values() if isinstance(inner, list) and inner and isinstance(inner[0], dict)]
        value = lists[0] if lists else [value]
    for item in value if isinstance(value, list) else []:
        if isinstance(item, dict):
            text, title, url = (_first_text(item, names) for names in (_TEXT_NAMES, _TITLE_NAMES, _URL_NAMES))
            if text or (title and url):
                yield FoundPage(title, url, text or title)


def _first_text(item: dict[str, Any], names: tuple[str, ...]) -> str:
    return next((value for name in names if isinstance(value := item.get(name), str) and value.strip()), "")


def _find_fault(error: BaseException) -> WebSearchFailed | None:
    """Return the fault within an exception group."""
    if isinstance(error, WebSearchFailed):
        return error
    inner = getattr(error, "exceptions", ())
    return next((fault for one in inner if (fault := _find_fault(one))), None)
