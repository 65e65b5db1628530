"""Tavily through its real client over real HTTP: each failure in words, no retries."""

import json

import pytest

from crag.cancellation import Cancellation
from crag.errors import HomeFault, WebSearchFailed
from crag.websearch.search import ProviderSearch
from crag.websearch.tavily import TavilyBackend
from tests.doubles.outbound_log import ListOutboundLog
from tests.doubles.tavily import TavilyServer

CELTICS = {"title": "2024 NBA Finals", "url": "https://example.org/finals", "content": "The Celtics won.", "score": 0.9}


def tavily(url: str, outbound_log: ListOutboundLog | None = None, timeout: float = 5) -> ProviderSearch:
    backend = TavilyBackend("tvly-key", url)
    return ProviderSearch(backend, outbound_log or ListOutboundLog(), lambda url: url.startswith("https:"), timeout)


def search(server: TavilyServer, query: str = "2024 NBA finals", timeout: float = 5) -> list:
    return tavily(server.url, timeout=timeout).search(query, 3, Cancellation())


def test_results_become_numbered_web_passages():
    with TavilyServer(results=[CELTICS, CELTICS | {"title": None}]) as server:
        first, second = search(server)
    assert (first.id, first.origin, first.title, first.location) == (-1, "web", CELTICS["title"], CELTICS["url"])
    assert first.text == "The Celtics won."
    assert (second.id, second.title) == (-2, CELTICS["url"])


def test_only_the_query_is_sent_and_within_the_limit_of_the_api():
    with TavilyServer() as server:
        assert search(server, "x" * 900) == []
    assert server.queries == ["x" * 400]


def test_more_results_than_asked_for_are_cut():
    with TavilyServer(results=[CELTICS] * 9) as server:
        assert [passage.id for passage in search(server)] == [-1, -2, -3]


def test_hostile_fields_are_made_harmless():
    hostile = {"title": 7, "url": "javascript:alert(1)", "content": "a\x00b\ud800", "score": "high"}
    body = json.dumps({"results": [None, {"content": None}, hostile]}).encode()
    with TavilyServer(body=body) as server:
        (passage,) = search(server)
    assert (passage.text, passage.location, passage.score) == ("ab", "", 0.0)
    assert passage.title == "Web result"


def test_a_result_with_a_private_address_has_no_link():
    inside = {"title": None, "url": "http://127.0.0.1:8501/", "content": "An inner page."}
    with TavilyServer(results=[inside, CELTICS]) as server:
        first, second = search(server)
    assert (first.text, first.location, first.title) == ("An inner page.", "", "Web result")
    assert second.location == CELTICS["url"]


def test_a_megabyte_of_content_is_cut():
    with TavilyServer(results=[CELTICS | {"content": "word " * 200_000, "title": "t" * 100_000}]) as server:
        (passage,) = search(server)
    assert (len(passage.text), len(passage.context), len(passage.title)) == (6_000, 6_000, 200)


def test_the_query_is_written_down_before_it_is_sent():
    outbound_log = ListOutboundLog()
    with TavilyServer(status=500, body=b"") as server, pytest.raises(WebSearchFailed):
        tavily(server.url, outbound_log).search("who won? " * 100, 3, Cancellation())
    assert outbound_log.entries == [(server.url.removeprefix("http://"), "web search", server.queries[0])]


def test_a_query_that_cannot_be_written_down_is_not_sent():
    with TavilyServer() as server, pytest.raises(WebSearchFailed, match="The disk is full"):
        tavily(server.url, ListOutboundLog(HomeFault("The disk is full."))).search("q", 3, Cancellation())
    assert server.requests == []


def test_a_password_in_the_address_is_neither_shown_nor_logged():
    assert tavily("https://user:secret@proxy.example:8443/tavily").host == "proxy.example:8443"


@pytest.mark.parametrize(
    ("header", "words"),
    [({"Retry-After": "30"}, "Wait 30 seconds"), ({"Retry-After": "300"}, "Wait 5 minutes"), ({}, "Wait a while"),
     ({"Retry-After": "soon"}, "Wait a while"), ({"Retry-After": "9" * 30}, "Wait a while")],
)  # fmt: skip
def test_how_long_to_wait_is_said_where_the_server_says_it(header, words):
    with TavilyServer(status=429, body=b"{}", headers=header) as server, pytest.raises(WebSearchFailed) as failure:
        search(server)
    assert words in failure.value.remedy
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "body", "word"),
    [
        (401, b"{}", "key"),
        (429, b'{"detail":{"error":"slow down"}}', "limit"),
        (432, b"{}", "used up"),
        (433, b"{}", "used up"),
        (403, b"{}", "plan"),
        (400, b"{}", "query"),
        (500, b"<html>oops</html>", "error"),
        (200, b"<html>login</html>", "could not be read"),
        (200, b"[1]", "could not be read"),
        (200, b'{"results": null}', "could not be read"),
        (204, b"", "could not be read"),
    ],
)
def test_each_failure_is_told_in_words_after_one_request(status, body, word):
    with TavilyServer(status=status, body=body) as server, pytest.raises(WebSearchFailed) as failure:
        search(server)
    assert word in str(failure.value).lower()
    assert "tvly-key" not in str(failure.value)
    assert len(server.requests) == 1


def test_without_a_key_there_is_no_client_at_all():
    with pytest.raises(ValueError, match="key"):
        TavilyBackend("", "http://127.0.0.1:9")
