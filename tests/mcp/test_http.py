"""The server of the Model Context Protocol over HTTP, used by the official client."""

from __future__ import annotations

import socket
from contextlib import asynccontextmanager

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult

from crag.cli.main import main
from crag.mcp.http import create_http_app
from crag.mcp.server import Access, CragServer
from tests.applications import opened_with
from tests.doubles.tavily import TavilyServer
from tests.mcp.test_server import QUESTION, application
from tests.served import serve

__all__ = ["application"]


@pytest.fixture
def address(application):
    server = CragServer(application, Access(local_files=False), in_conversations=False)
    with serve(create_http_app(server, None), lifespan="on") as found:
        yield f"{found}/mcp"


@asynccontextmanager
async def connect(address, application, *scopes, **options):
    _, secret = application.api_tokens.make("a program", scopes)
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {secret}"}) as http,
        Client(streamable_http_client(address, http_client=http), **options) as client,
    ):
        yield client


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_question_is_answered_over_http(address, application, mode):
    async with connect(address, application, "ask", "read", mode=mode) as client:
        answer = (await client.call_tool("ask", QUESTION)).structured_content
        assert "1931" in answer["answer"]
        assert {one.name for one in (await client.list_resources()).resources} == {"Light"}


@pytest.mark.anyio
async def test_a_document_is_added_only_with_the_scope(address, application):
    note = {"text": "The ferry leaves at nine.", "title": "Ferry"}
    async with connect(address, application, "ask", "read") as client:
        refused = await client.call_tool("add_document", note)
        assert refused.is_error
        assert "This token may not add documents." in refused.content[0].text
    async with connect(address, application, "ask", "read", "write") as client:
        assert not (await client.call_tool("add_document", note)).is_error
        by_path = await client.call_tool("add_document", {"location": "/etc/hostname"})
        assert "Files of the server" in by_path.content[0].text


@pytest.mark.anyio
@pytest.mark.parametrize("scopes", [("ask", "read"), ("ask", "read", "web")])
async def test_the_web_is_searched_only_with_the_scope(tmp_path, scopes):
    async def agree(_context, _params):
        return ElicitResult(action="accept", content={"allow": True})

    page = {"title": "Finals", "url": "http://127.0.0.1:9/", "content": "The Celtics won the 2024 finals.", "score": 1}
    with (
        TavilyServer(results=[page]) as tavily,
        opened_with(tmp_path / "home", tavily_api_key="tvly-x", tavily_url=tavily.url) as opened,
    ):
        server = CragServer(opened, Access(), in_conversations=False)
        with serve(create_http_app(server, None), lifespan="on") as found:
            async with connect(f"{found}/mcp", opened, *scopes, elicitation_callback=agree) as client:
                question = {"question": "Who won the 2024 finals?", "web": "ask"}
                assert not (await client.call_tool("ask", question)).is_error
        assert len(tavily.requests) == ("web" in scopes)


@pytest.mark.anyio
async def test_a_token_without_the_scope_lets_no_query_go_that_another_began(tmp_path):
    with (
        TavilyServer(results=[]) as tavily,
        opened_with(tmp_path / "home", tavily_api_key="tvly-x", tavily_url=tavily.url) as opened,
    ):
        _, asking = opened.api_tokens.make("a program", ("ask", "read", "web"))
        _, other = opened.api_tokens.make("another program", ("ask", "read"))
        server = CragServer(opened, Access(), in_conversations=False)

        async def agree(_context, _params):
            http.headers["Authorization"] = f"Bearer {other}"
            return ElicitResult(action="accept", content={"allow": True})

        with serve(create_http_app(server, None), lifespan="on") as found:
            async with (
                httpx2.AsyncClient(headers={"Authorization": f"Bearer {asking}"}) as http,
                Client(streamable_http_client(f"{found}/mcp", http_client=http), elicitation_callback=agree) as client,
            ):
                await client.call_tool("ask", {"question": "Who won the 2024 finals?", "web": "ask"})
        assert http.headers["Authorization"] == f"Bearer {other}"
        assert not tavily.requests


@pytest.mark.parametrize(
    ("user", "scopes", "headers", "status"),
    [
        (None, None, {}, 401),
        (None, ("ask",), {}, 403),
        (None, ("read", "write", "web"), {}, 403),
        ("a" * 32, ("ask", "read"), {}, 403),
        (None, ("ask", "read"), {"Host": "example.com"}, 421),
        (None, ("ask", "read"), {"Origin": "https://example.com"}, 403),
    ],
)
def test_others_are_refused(address, application, user, scopes, headers, status):
    if scopes:
        _, secret = application.api_tokens.for_user(user).make("a program", scopes)
        headers = headers | {"Authorization": f"Bearer {secret}"}
    greeting = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accepted = {"Accept": "application/json, text/event-stream"}
    assert httpx2.post(address, json=greeting, headers=accepted | headers).status_code == status


def test_a_port_in_use_is_said(tmp_path, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["mcp", "--home", str(tmp_path), "--http", port]) == 1
    said = capsys.readouterr().err
    assert f"Port {port} is in use." in said
    assert "Serving" not in said
