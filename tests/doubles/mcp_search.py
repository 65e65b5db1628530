"""An MCP server with tools that search, over streamable HTTP, or over standard input and output when run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer
from mcp_types import CallToolResult, ListToolsResult, ResourceLink, TextContent, Tool
from pydantic import BaseModel
from starlette.types import Receive, Scope, Send

from tests.served import serve


class Page(BaseModel):
    """A result with structure."""

    title: str
    url: str
    snippet: str


def make_server() -> MCPServer:
    server = MCPServer("pages", log_level="ERROR")

    @server.tool()
    def find_pages(*, limit: int = 3, question: str, language: str = "en") -> str:
        return f"{limit} found about {question} in {language}"

    @server.tool()
    def need_more(query: str, limit: int) -> str:
        return "unreachable"

    @server.tool()
    def find_structured(query: str) -> list[Page]:
        return [Page(title="Finals", url="https://example.org/f", snippet=f"About {query}")]

    @server.tool()
    def find_json(query: str) -> Annotated[CallToolResult, Any]:
        """Sends JSON as a text, as older servers do."""
        text = '{"results": [{"id": 1, "title": "Finals", "url": "https://example.org/f"}, 7]}'
        return CallToolResult(content=[TextContent(text=text), TextContent(text="{broken")])

    @server.resource("pages://finals")
    def finals() -> str:
        return "The Celtics won."

    @server.tool()
    def find_links(query: str) -> Annotated[CallToolResult, Any]:
        described = ResourceLink(name="one", title="One", uri="https://example.org/1", description="A description.")
        return CallToolResult(content=[described, ResourceLink(name="finals", uri="pages://finals")])

    @server.tool()
    def find_nothing(query: str) -> list[Page]:
        return []

    @server.tool()
    def fail(query: str) -> str:
        raise ValueError("secret")

    @server.tool()
    async def hang(query: str) -> str:
        await asyncio.sleep(3600)
        return ""

    return server


def make_described(tool: Tool, found: dict[str, Any]) -> Server[Any]:
    """A server with one tool, described by whatever the tool says of itself, which finds this."""

    async def list_tools(_context: object, _params: object) -> ListToolsResult:
        return ListToolsResult(tools=[tool])

    async def call_tool(_context: object, _params: object) -> CallToolResult:
        return CallToolResult(content=[TextContent(text="About NBA")], structured_content=found)

    return Server("described", on_list_tools=list_tools, on_call_tool=call_tool)


@contextmanager
def serving(server: MCPServer | Server[Any], token: str = "") -> Iterator[str]:
    """Yield the address of the server; with a token it refuses requests without."""
    inner = server.streamable_http_app()

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope.get("headers", ()))
        if scope["type"] == "http" and token and headers.get(b"authorization") != f"Bearer {token}".encode():
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        await inner(scope, receive, send)

    with serve(guarded, lifespan="on") as address:
        yield f"{address}/mcp"


if __name__ == "__main__":
    make_server().run()
