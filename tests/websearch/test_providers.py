"""Providers of web search over real HTTP: results, each failure in words, and which one is chosen."""

from __future__ import annotations

import gzip
import os
import threading
from types import SimpleNamespace

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda

from crag.cancellation import Cancellation
from crag.errors import WebSearchFailed
from crag.settings import Settings
from crag.websearch.providers import PROVIDERS, find_provider
from crag.websearch.search import ProviderSearch
from tests.doubles.ollama import closed_address
from tests.doubles.outbound_log import ListOutboundLog
from tests.doubles.search_api import SearchApi
from tests.waiting import PATIENCE

FOUND = {"title": "Finals", "url": "https://example.org/f"}
SEARXNG = {"results": [FOUND | {"content": "The Celtics won.", "score": 2.5}]}
BRAVE = {
    "web": {"results": [FOUND | {"description": "The <strong>Celtics</strong> &amp; Co", "extra_snippets": ["won."]}]}
}


def settings_for(name: str, url: str, **more) -> Settings:
    given = {
        "brave": {"brave_api_key": "key", "brave_url": url},
        "searxng": {"searxng_url": url},
        "tavily": {"tavily_api_key": "key", "tavily_url": url},
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
        ({"status": 429, "body": b"slow down", "headers": {"Retry-After": "120"}}, "Wait 2 min"),
        ({"status": 402}, "quota is used up"),
        ({"status": 500, "body": b"<html>"}, "reported an error"),
        ({"status": 302, "headers": {"Location": "http://127.0.0.1:9/"}}, "redirects elsewhere"),
        ({"body": b"<html>hello"}, "could not be read"),
        ({"reply": ["no", "object"]}, "could not be read"),
        ({"reply": {"results": 7, "web": 7}}, "could not be read"),
        ({"body": b"[" * 100_000}, "could not be read"),
        ({"body": b" " * 5_000_001 + b"{}"}, "could not be read"),
        ({"body": b""}, "could not be read"),
        ({"hangs": True}, "did not answer in time"),
    ],
)
def test_each_failure_has_words_and_is_not_tried_again(name, script, words):
    hangs = "hangs" in script
    scripted = SearchApi(delay=threading.Event()) if hangs else SearchApi(**script)
    with scripted as server, pytest.raises(WebSearchFailed, match=words):
        search(settings_for(name, server.url), timeout=0.5 if hangs else 5)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("name", "status", "reply", "words"),
    [
        ("searxng", 403, None, r"json to search\.formats in its settings\.yml"),
        ("searxng", 429, None, r"pass_ip in its limiter\.toml"),
        ("searxng", 200, {"results": [], "unresponsive_engines": [["google", "CAPTCHA\ud800"]]}, r"google \(CAPTCHA\)"),
        ("brave", 422, {"error": {"code": "SUBSCRIPTION_TOKEN_INVALID"}}, "refused the key"),
        ("brave", 422, {"error": {"code": "VALIDATION"}}, "did not accept the query"),
        ("brave", 403, {"error": None}, "refused the search"),
        ("brave", 404, {"error": {"code": "SUBSCRIPTION_NOT_FOUND"}}, "Check the key and its plan"),
        ("brave", 429, {"error": {"code": "QUOTA_LIMITED"}}, "quota is used up"),
        ("brave", 429, {"error": {"code": "RATE_LIMITED"}}, "rate limit is reached"),
    ],
)
def test_what_only_one_provider_says_has_its_own_words(name, status, reply, words):
    with SearchApi(reply, status=status) as server, pytest.raises(WebSearchFailed, match=words):
        search(settings_for(name, server.url))


ENDLESS = {"endless": b" " * 65_536, "headers": {"Content-Type": "application/json"}}
CALLED = ["brave", "searxng", "tavily", "mcp"]


@pytest.mark.parametrize("name", CALLED)
def test_a_reply_without_end_is_not_read_any_further(name):
    words = "could not be read|does not answer as an MCP server"
    with SearchApi(**ENDLESS) as server, pytest.raises(WebSearchFailed, match=words):
        search(settings_for(name, server.url), timeout=60)


@pytest.mark.parametrize("name", CALLED)
def test_of_a_redirect_nothing_more_is_read(name):
    headers = ENDLESS["headers"] | {"Location": "http://127.0.0.1:9/"}
    scripted = SearchApi(**ENDLESS | {"headers": headers}, status=302)
    with scripted as server, pytest.raises(WebSearchFailed, match="redirects elsewhere"):
        search(settings_for(name, server.url), timeout=60)


@pytest.mark.parametrize("name", CALLED)
def test_a_small_reply_that_is_large_once_unpacked_is_refused(name):
    bomb = gzip.compress(b" " * (200 << 20), 1)
    headers = ENDLESS["headers"] | {"Content-Encoding": "gzip"}
    words = "could not be read|does not answer as an MCP server"
    with SearchApi(body=bomb, headers=headers) as server, pytest.raises(WebSearchFailed, match=words):
        search(settings_for(name, server.url), timeout=60)


@pytest.mark.parametrize("name", CALLED)
def test_a_connection_to_a_reply_that_drips_in_is_cut_when_time_is_up(name):
    with SearchApi(endless=b" ", pause=0.01, headers=ENDLESS["headers"]) as server:
        with pytest.raises(WebSearchFailed, match="did not answer in time"):
            search(settings_for(name, server.url), timeout=0.5)
        assert server.gone.wait(PATIENCE)


@pytest.mark.parametrize("name", ["brave", "searxng", "tavily"])
def test_a_wait_that_is_no_time_is_left_out(name):
    with (
        SearchApi(status=429, headers={"Retry-After": "9" * 5000}) as server,
        pytest.raises(WebSearchFailed, match=r"Wait a (while|minute)"),
    ):
        search(settings_for(name, server.url))


@pytest.mark.parametrize("score", [b"NaN", b"1e999", b"9" * 400, b'"high"', b"[]"])
def test_scores_that_are_no_numbers_are_left_out(score):
    body = b'{"results": [{"title": "a", "url": "https://example.org/", "content": "b", "score": %s}]}' % score
    with SearchApi(body=body) as server:
        (found,) = search(settings_for("searxng", server.url))
    assert found.score == 0.0


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


def test_a_retriever_of_langchain_searches(monkeypatch):
    (found,) = search(settings_for("retriever", f"{__name__}:Shelf"))
    assert (found.title, found.location, found.text) == ("Shelf", "https://example.org/s", "About 2024 NBA finals")
    monkeypatch.setenv("SHELF_KEY", "")  # which restores it afterwards
    monkeypatch.delenv("SHELF_KEY")
    assert search(settings_for("retriever", f"{__name__}:make_shelf", keys={"SHELF_KEY": "from .env"})) == [found]


def make_shelf():
    """What makes a retriever, with a key that it looks for in the environment."""
    assert os.environ["SHELF_KEY"] == "from .env"
    return Shelf()


class Needy:
    """A class that cannot be created without arguments."""

    def __init__(self, key):
        self.key = key


BARE = RunnableLambda(lambda query: [SimpleNamespace(page_content="The Celtics won.")])
STRINGS = RunnableLambda(lambda query: ["secret"])


def test_documents_that_say_nothing_about_themselves_are_results():
    (found,) = search(settings_for("retriever", f"{__name__}:BARE"))
    assert (found.title, found.location, found.text) == ("Web result", "", "The Celtics won.")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (f"{__name__}:Broken", "Broken reported an error"),
        (f"{__name__}:Nowhere", "cannot be loaded"),
        (f"{__name__}", "cannot be loaded"),
        ("no_such_package:Retriever", "install its package"),
        (f"{__name__}:Needy", "cannot be created without arguments"),
        (f"{__name__}:STRINGS", "does not return LangChain documents"),
        (f"{__name__}:PLAIN", "does not return LangChain documents"),
    ],
)
def test_a_retriever_that_fails_is_described_without_its_error(name, words):
    with pytest.raises(WebSearchFailed, match=words) as failed:
        search(settings_for("retriever", name))
    assert "secret" not in str(failed.value)


PLAIN = dict  # can be made, but is no retriever


def test_the_first_one_that_is_set_up_searches_unless_another_is_named():
    assert find_provider(Settings()) is None
    both = {"tavily_api_key": "tvly-x", "searxng_url": "http://127.0.0.1:9"}
    assert find_provider(Settings(**both)) is PROVIDERS["tavily"]
    assert find_provider(Settings(**both, web_search="searxng")) is PROVIDERS["searxng"]
    assert find_provider(Settings(**both, web_search="brave")) is None
