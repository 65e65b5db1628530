"""The server of the Model Context Protocol, used by the official client."""

from __future__ import annotations

import os
import sys
import threading
from ipaddress import ip_network
from pathlib import Path

import anyio
import pytest
from mcp import MCPError
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import ElicitResult

from crag.mcp.server import Access, CragServer
from crag.types import Identity
from tests.applications import opened_with
from tests.doubles.ollama import LLAMA, ScriptedOllama
from tests.doubles.tavily import TavilyServer
from tests.doubles.web import serving

TEXT = b"# Light\n\nThe lighthouse of Brill was built in 1931. It is 42 metres tall.\n"
QUESTION = {"question": "When was the lighthouse built?"}


@pytest.fixture
def application(tmp_path):
    loopback = (ip_network("127.0.0.0/8"),)
    with opened_with(tmp_path / "home", {"lighthouse.md": TEXT}, allow_private_urls=loopback) as opened:
        yield opened


def serve(application, **access):
    return CragServer(application, Access(**access), in_conversations=False)


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_question_is_answered_with_verdicts_and_sources(application, mode):
    steps = []

    async def note_progress(progress, total, message):
        steps.append((progress, message))

    async with Client(serve(application), mode=mode) as client:
        result = await client.call_tool("ask", QUESTION, progress_callback=note_progress)
        answer = result.structured_content
        assert "1931" in answer["answer"]
        assert (answer["outcome"], answer["sources"][0]["title"]) == ("quoted", "Light")
        assert answer["verdicts"][0]["verdict"] == "relevant"
        assert [step for step, _ in steps] == [*range(1, len(steps) + 1)]
        assert "retrieve" in [message for _, message in steps]
        read = await client.call_tool("read_passage", {"passage_id": answer["verdicts"][0]["passage_id"]})
        assert "42 metres" in read.structured_content["context"]
        declined = await client.call_tool("ask", {"question": "Who won the 2024 NBA finals?"})
        assert declined.structured_content["outcome"] == "not_answered"
        assert not declined.is_error


@pytest.mark.anyio
async def test_documents_are_added_listed_searched_and_read(application):
    async with Client(serve(application)) as client:
        added = await client.call_tool("add_document", {"text": "The ferry leaves at nine.", "title": "Ferry"})
        assert [source["status"] for source in added.structured_content["sources"]] == ["added"]
        listed = (await client.call_tool("list_documents", {})).structured_content["sources"]
        assert [source["title"] for source in listed] == ["Ferry", "Light"]
        hits = (await client.call_tool("search", {"query": "ferry", "passages": 1})).structured_content["hits"]
        assert [hit["title"] for hit in hits] == ["Ferry"]
        first = (await client.call_tool("list_documents", {"limit": 1})).structured_content
        second = (await client.call_tool("list_documents", {"cursor": first["next_cursor"]})).structured_content
        assert ([*first["sources"], *second["sources"]], first["total"], second["next_cursor"]) == (listed, 2, None)
        resources = (await client.list_resources()).resources
        assert (await client.list_resources(cursor=first["next_cursor"])).resources == resources[1:]
        with pytest.raises(MCPError, match="This cursor is not known"):
            await client.list_resources(cursor="x")
        assert {one.name for one in resources} == {"Ferry", "Light"}
        light = next(one for one in resources if one.name == "Light")
        (content,) = (await client.read_resource(light.uri)).contents
        assert "built in 1931" in content.text


@pytest.mark.anyio
async def test_a_folder_of_this_machine_is_added_without_what_is_no_file(application, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "ferry.md").write_text("The ferry leaves at nine.")
    (folder / "elsewhere.md").symlink_to("/etc/hostname")
    (folder / "again").symlink_to(folder)
    os.mkfifo(folder / "pipe.md")
    totals = {}

    async def note_progress(_done, total, stage):
        totals[stage] = total

    async with Client(serve(application)) as client:
        added = await client.call_tool("add_document", {"location": str(folder)}, progress_callback=note_progress)
        assert not added.is_error, added.content[0].text
        found = {Path(one["source"]).name: one["status"] for one in added.structured_content["sources"]}
        assert found == {"ferry.md": "added"}, "links may lead anywhere"
        assert totals["Embedding passages"] == 1
        assert 0 not in totals.values(), "a client divides by the total"
        for special in (folder / "pipe.md", Path("/dev/zero")):
            result = await client.call_tool("add_document", {"location": str(special)})
            assert [one["status"] for one in result.structured_content["sources"]] == ["failed"]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("ask", {"question": " "}, "question"),
        (
            "ask",
            {"question": "Why?", "collection": "Nowhere"},
            "There is no collection “Nowhere”. Collections: Documents.",
        ),
        ("search", {"query": "x", "collection": "Nowhere"}, "There is no collection “Nowhere”."),
        ("list_documents", {"collection": "Nowhere"}, "There is no collection “Nowhere”."),
        ("list_documents", {"cursor": "x"}, "This cursor is not known."),
        ("ask", {"question": "Why?", "conversation": "unknown"}, "This conversation no longer exists."),
        ("search", {"query": "x", "passages": 1000}, "20"),
        ("read_passage", {"passage_id": 999}, "There is no such passage."),
        ("read_passage", {"passage_id": 1 << 63}, "There is no such passage."),
        ("search", {"query": "x" * 2001}, "2000"),
        ("add_document", {}, "Give either a location or a text."),
        ("add_document", {"location": "/etc/hostname"}, "Files of the server cannot be named from here."),
    ],
)
async def test_what_cannot_be_done_is_said_in_words(application, tool, arguments, words):
    async with Client(serve(application, local_files=False)) as client:
        result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert words in result.content[0].text
    assert "Traceback" not in result.content[0].text


@pytest.mark.anyio
async def test_a_client_that_may_only_read_cannot_add(application):
    async with Client(serve(application, may_add=False)) as client:
        assert "add_document" not in [tool.name for tool in (await client.list_tools()).tools]


@pytest.mark.anyio
async def test_additions_count_against_the_limit_of_an_account(application):
    limited = application.for_user(application.accounts.log_in(Identity("idp", "ann", "ann@example.org")).id)
    async with Client(CragServer(limited, Access(), in_conversations=True)) as client:
        for _ in range(600):
            limited.jobs.admit("")
        result = await client.call_tool("add_document", {"text": "The ferry leaves at nine."})
    assert result.is_error
    assert "The limit is 600 added documents an hour." in result.content[0].text


@pytest.mark.anyio
async def test_a_cancelled_call_stops_the_answer(tmp_path):
    with ScriptedOllama() as ollama:
        ollama.first_token_after = 60.0
        model = {"chat_model": f"ollama:{LLAMA.name}", "ollama_host": ollama.url}
        with opened_with(tmp_path / "home", {"lighthouse.md": TEXT}, **model) as opened:
            async with Client(serve(opened)) as client:
                with anyio.move_on_after(1.5):
                    await client.call_tool("ask", QUESTION)
            with anyio.fail_after(10):
                while sum(opened.runs.count_live()):
                    await anyio.sleep(0.05)


@pytest.mark.anyio
async def test_a_cancelled_call_stops_adding(application):
    left = threading.Event()

    def never_end(handler):
        handler.reply(b"<p>", Content_Length="1000000")
        handler.rfile.read(1)  # returns when the client closes the connection
        left.set()

    with serving() as web:
        web.scripts["/endless"] = never_end
        async with Client(serve(application)) as client, anyio.create_task_group() as calls:
            calls.start_soon(client.call_tool, "add_document", {"location": web.url("/endless")})
            with anyio.fail_after(10):
                while not web.seen:
                    await anyio.sleep(0.01)
            calls.cancel_scope.cancel()
        assert await anyio.to_thread.run_sync(left.wait, 10)


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("reply", ["allow", "refuse", "decline", None])
async def test_the_web_is_searched_only_if_the_user_agrees(tmp_path, mode, reply):
    page = {"title": "Finals", "url": "http://127.0.0.1:9/", "content": "The Celtics won the 2024 finals.", "score": 1}
    asked = []

    async def answer(_context, params):
        asked.append(params.message)
        if reply == "decline":
            return ElicitResult(action="decline")
        return ElicitResult(action="accept", content={"allow": reply == "allow"})

    with (
        TavilyServer(results=[page]) as tavily,
        opened_with(tmp_path / "home", tavily_api_key="tvly-x", tavily_url=tavily.url) as opened,
    ):
        async with Client(serve(opened), mode=mode, elicitation_callback=answer if reply else None) as client:
            question = {"question": "Who won the 2024 finals?", "web": "ask"}
            result = await client.call_tool("ask", question)
        assert not result.is_error, result.content[0].text
        assert result.structured_content["web"]["used"] == (reply == "allow")
        assert len(tavily.requests) == (1 if reply == "allow" else 0)
        assert len(asked) == (1 if reply else 0)


@pytest.mark.anyio
async def test_the_command_speaks_over_standard_input_and_output(application, tmp_path):
    command = ["-m", "crag", "mcp", "--home", str(tmp_path / "home")]
    server = StdioServerParameters(command=sys.executable, args=command, cwd=Path(__file__).parents[2])
    async with Client(stdio_client(server)) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} >= {"ask", "search", "add_document"}
        result = await client.call_tool("ask", QUESTION)
    assert "1931" in result.structured_content["answer"]
