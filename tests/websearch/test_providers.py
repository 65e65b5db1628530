"""Providers of web search over real HTTP: results, each failure in words, and which one is chosen."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager

import pytest
import uvicorn
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from mcp.server.mcpserver import MCPServer

from crag.cancellation import Cancellation
from crag.errors import WebSearchFailed
from crag.settings import Settings
from crag.websearch.providers import PROVIDERS, find_provider
from crag.websearch.search import ProviderSearch
from tests.doubles.ollama import closed_address
from tests.doubles.outbound_log import ListOutboundLog
from tests.doubles.search_api import SearchApi
from tests.waiting import wait_until

FOUND = {"title": "Finals", "url": "https://example.org/f"}
SEARXNG = {"results": [FOUND | {"content": "The Celtics won.", "score": 2.5}]}
BRAVE = {
    "web": {"results": [FOUND | {"description": "The <strong>Celtics</strong> &amp; Co", "extra_snippets": ["won."]}]}
}


def settings_for(name: str, url: str, **more) -> Settings:
    given = {
        "brave": {"brave_api_key": "key", "brave_url": url},
        "searxng": {"searxng_url": url},
        "mcp": {"mcp_search": f"{url}/mcp#find_pages"},
        "retriever": {"search_retriever": url},
    }
    return Settings(**given[name], **more)


def search(settings: Settings, log=None, timeout: float = 5):
    backend = find_provider(settings).open(settings)
    made = ProviderSearch(backend, log or ListOutboundLog(), lambda url: url.startswith("https:"), timeout)
    return made.search("2024 NBA finals", 3, Cancellation())


@pytest.mark.parametrize(
    ("name", "reply", "text"),
    [("searxng", SEARXNG, "The Celtics won."), ("brave", BRAVE, "The Celtics & Co\nwon.")],
)
def test_results_become_web_passages_and_only_the_query_is_sent(name, reply, text):
    log = ListOutboundLog()
    with SearchApi(reply) as server:
        (found,) = search(settings_for(name, server.url), log)
    assert (found.id, found.origin, found.title, found.location) == (-1, "web", "Finals", "https://example.org/f")
    assert found.text == text
    ((path, query, headers),) = server.asked
    assert query.pop("q") == "2024 NBA finals"
    assert (path, query, headers.get("X-Subscription-Token")) == {
        "searxng": ("/search", {"format": "json"}, None),
        "brave": ("/res/v1/web/search", {"count": "3", "text_decorations": "false"}, "key"),
    }[name]
    assert log.entries == [(server.url[7:], "web search", "2024 NBA finals")]


@pytest.mark.parametrize("name", ["searxng", "brave"])
@pytest.mark.parametrize(
    ("script", "words"),
    [
        ({"status": 401}, "refused the key"),
        ({"status": 404}, "does not search at this address"),
        ({"status": 429, "headers": {"Retry-After": "120"}}, "Wait 2 min"),
        ({"status": 402}, "quota is used up"),
        ({"status": 500, "body": b"<html>"}, "reported an error"),
        ({"status": 302, "headers": {"Location": "http://127.0.0.1:9/"}}, "redirects elsewhere"),
        ({"body": b"<html>hello"}, "could not be read"),
        ({"reply": ["no", "object"]}, "could not be read"),
        ({"reply": {"results": 7, "web": 7}}, "could not be read"),
        ({"hangs": True}, "did not answer in time"),
    ],
)
def test_each_failure_has_words_and_is_not_tried_again(name, script, words):
    hangs = "hangs" in script
    scripted = SearchApi(delay=threading.Event()) if hangs else SearchApi(**script)
    with scripted as server, pytest.raises(WebSearchFailed, match=words):
        search(settings_for(name, server.url), timeout=0.5 if hangs else 5)
    assert len(server.asked) == 1


def test_searxng_without_json_says_how_to_switch_it_on():
    with SearchApi(status=403) as server, pytest.raises(WebSearchFailed, match=r"settings\.yml"):
        search(settings_for("searxng", server.url))


@pytest.mark.parametrize("name", ["searxng", "brave", "mcp"])
def test_a_provider_that_is_not_there_is_named(name):
    with pytest.raises(WebSearchFailed, match="cannot be reached"):
        search(settings_for(name, closed_address()))


def test_no_results_are_none():
    for name, reply in (("searxng", {"results": []}), ("brave", {"query": {}})):
        with SearchApi(reply) as server:
            assert search(settings_for(name, server.url)) == []


class Shelf(BaseRetriever):
    """A retriever that always finds the same."""

    def _get_relevant_documents(self, query, *, run_manager):
        return [Document(f"About {query}", metadata={"title": "Shelf", "source": "https://example.org/s"})]


class Broken(BaseRetriever):
    """A retriever that never finds anything."""

    def _get_relevant_documents(self, query, *, run_manager):
        raise OSError("secret")


def test_a_retriever_of_langchain_searches():
    (found,) = search(settings_for("retriever", f"{__name__}:Shelf"))
    assert (found.title, found.location, found.text) == ("Shelf", "https://example.org/s", "About 2024 NBA finals")
    for name, words in (("Broken", "Broken cannot be reached"), ("Nowhere", "cannot be loaded")):
        with pytest.raises(WebSearchFailed, match=words) as failed:
            search(settings_for("retriever", f"{__name__}:{name}"))
        assert "secret" not in str(failed.value)


@contextmanager
def serving_tools():
    """The address of an MCP server with a tool that finds pages, and one that fails."""
    server = MCPServer("pages", log_level="ERROR")

    @server.tool()
    def find_pages(question: str) -> str:
        return f"Found about {question}"

    @server.tool()
    def fail(question: str) -> str:
        raise ValueError("secret")

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        running = uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="error"))
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
        thread.start()
        wait_until(lambda: running.started)
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            running.should_exit = True
            thread.join()


def test_a_tool_of_an_mcp_server_searches():
    with serving_tools() as url:
        (found,) = search(settings_for("mcp", url))
        assert found.text == "Found about 2024 NBA finals"
        for tool, words in (("nothing", "has no tool called nothing"), ("fail", "The tool fail reported an error")):
            with pytest.raises(WebSearchFailed, match=words):
                search(Settings(mcp_search=f"{url}/mcp#{tool}"))


def test_the_first_one_that_is_set_up_searches_unless_another_is_named():
    assert find_provider(Settings()) is None
    both = {"tavily_api_key": "tvly-x", "searxng_url": "http://127.0.0.1:9"}
    assert find_provider(Settings(**both)) is PROVIDERS["tavily"]
    assert find_provider(Settings(**both, web_search="searxng")) is PROVIDERS["searxng"]
    assert find_provider(Settings(**both, web_search="brave")) is None
