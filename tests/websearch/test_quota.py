"""The search quota: our count of a calendar month, and Tavily's own figures for an hour."""

import json
import time

import pytest

from crag.errors import WebSearchFailed
from crag.storage.engine import Database
from crag.storage.outbound_log import OutboundLog
from crag.websearch import quota
from crag.websearch.quota import Quota, SearchQuota, parse_usage
from tests.doubles.tavily import TavilyServer

USAGE = {
    "key": {"usage": 150, "limit": None, "search_usage": 100},
    "account": {"current_plan": "Bootstrap", "plan_usage": 500, "plan_limit": 15000, "paygo_usage": 0},
}


@pytest.fixture
def outbound_log(tmp_path):
    database = Database(tmp_path)
    yield OutboundLog(database)
    database.close()


def test_without_asking_the_queries_of_this_month_are_counted(outbound_log, monkeypatch):
    outbound_log.record("api.tavily.com", "web search", "cats")
    outbound_log.record("example.org", "web page", "https://example.org/")
    outbound_log.record("api.search.brave.com", "web search", "dogs")
    own = SearchQuota("", "https://api.tavily.com", outbound_log)
    assert own.current() == Quota(1, 1000)
    assert own.count("api.search.brave.com") == Quota(1, 0)
    monkeypatch.setattr(quota, "_month_start", lambda: time.time() + 1)
    assert own.current() == Quota(0, 1000)


def test_the_month_begins_on_its_first_day_here():
    began = time.localtime(quota._month_start())
    assert (began.tm_mday, began.tm_hour, began.tm_min) == (1, 0, 0)
    assert (began.tm_year, began.tm_mon) == time.localtime()[:2]


def test_usage_from_tavily_counts_for_an_hour_plus_new_searches(outbound_log, monkeypatch):
    with TavilyServer(usage=USAGE) as server:
        host = server.url.removeprefix("http://")
        outbound_log.record(host, "web search", "before")
        own = SearchQuota("tvly-secret", server.url, outbound_log)
        assert own.fetch() == Quota(500, 15000, "Bootstrap")
        assert server.asked == [("/usage", "Bearer tvly-secret")]
    assert [(row.kind, "secret" in row.what) for row in outbound_log.entries(1)] == [("account", False)]
    outbound_log.record(host, "web search", "after")
    outbound_log.record("api.search.brave.com", "web search", "elsewhere")
    assert own.current() == Quota(501, 15000, "Bootstrap")
    later = time.time() + 3601
    monkeypatch.setattr(quota.time, "time", lambda: later)
    assert own.current() == Quota(2, 1000)


def test_without_a_key_nothing_is_asked(outbound_log):
    with TavilyServer(usage=USAGE) as server, pytest.raises(WebSearchFailed, match="no Tavily key"):
        SearchQuota("", server.url, outbound_log).fetch()
    assert (server.asked, outbound_log.entries()) == ([], [])


@pytest.mark.parametrize(
    ("status", "body", "word"),
    [(401, b"{}", "key"), (429, b"", "limit"), (500, b"<html>", "error"), (302, b"", "error"), (200, b"<html>", "read"),
     (200, b"[1]", "read"), (200, b'{"key": null, "account": {"plan_usage": "many"}}', "read"),
     (200, b'{"key": {"usage": NaN}}', "read"), (200, b'{"key": {"usage": %s}}' % (b"9" * 400), "read")],
)  # fmt: skip
def test_a_useless_reply_is_told_in_words_after_one_request(outbound_log, status, body, word):
    with TavilyServer(status=status, body=body) as server, pytest.raises(WebSearchFailed) as failure:
        SearchQuota("tvly-secret", server.url, outbound_log).fetch()
    assert word in str(failure.value).lower()
    assert "secret" not in str(failure.value)
    assert len(server.asked) == 1


def test_nobody_there(outbound_log):
    with TavilyServer() as server:
        url = server.url
    with pytest.raises(WebSearchFailed, match="reached"):
        SearchQuota("tvly-secret", url, outbound_log).fetch()


def test_the_limit_that_is_nearer_is_the_one_that_counts():
    assert parse_usage(
        json.loads('{"key": {"usage": 9, "limit": 10}, "account": {"plan_usage": 5, "plan_limit": 99}}')
    ) == (Quota(9, 10, "Tavily"))
    assert parse_usage({"key": {"usage": 7, "limit": None}}) == Quota(7, 0, "Tavily")
