"""Everything that can go wrong with a web search, through the whole application over real HTTP.

Each time the answer comes from the library with one honest note, nothing is asked twice, no key is kept or shown, and
the next question is answered as ever.
"""

import ipaddress
import json
import sys
import threading
from functools import partial

import pytest

from crag.app import reports
from crag.options import RunOptions
from crag.runs.trace import Trace
from crag.websearch.search import ProviderSearch
from tests.applications import opened_with, wait
from tests.doubles import mcp_search
from tests.doubles.ollama import closed_address
from tests.doubles.search_api import SearchApi
from tests.doubles.tavily import TavilyServer
from tests.doubles.web import serving
from tests.waiting import PATIENCE

KEY = "tvly-never-to-be-seen"
NOTES = {
    "traces.md": "After two failed recordings the fragment is blacklisted, which means it is never recorded again.",
    "kitchen.md": "The espresso machine is descaled every six weeks with citric acid, and its tank is rinsed twice.",
}
QUESTION = "When is a fragment blacklisted?"
ELSEWHERE = "Who won the 2024 NBA finals?"
CELTICS = {
    "title": "2024 NBA Finals",
    "url": "https://example.org/finals",
    "content": "The Boston Celtics won the 2024 NBA finals against the Dallas Mavericks.",
}
WEB = RunOptions(web="auto", policy="any")  # one passage that does not answer is enough to want the web


@pytest.fixture(scope="module")
def tavily():
    with TavilyServer() as server:
        yield server


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


def opened(home, url, key=KEY, documents=NOTES):
    given = {"allow_private_urls": (ipaddress.ip_network("127.0.0.1/32"),), "chat_model": "auto"}
    return opened_with(home, documents, tavily_api_key=key, tavily_url=url, **given)


@pytest.fixture(scope="module")
def application(home, tavily):
    with opened(home, tavily.url) as made:
        yield made


@pytest.fixture(autouse=True)
def _fresh_script(tavily):
    fresh = TavilyServer()
    for name in ("results", "status", "body", "headers", "delay", "requests"):
        setattr(tavily, name, getattr(fresh, name))


def ask(application, question=QUESTION, options=WEB, conversation=None) -> Trace:
    return wait(application.runs.start(conversation, question, options))


def assert_answered_from_the_library(trace, word):
    assert (trace.state, trace.outcome) == ("done", "quoted")
    assert "blacklisted" in trace.text
    (note,) = trace.notes
    assert word in note.lower()
    assert note.endswith("Only your documents were used.")


def assert_all_is_well(application, home, caplog):
    """The next question is answered as ever, and the key is nowhere but in the settings."""
    trace = ask(application, options=RunOptions())
    assert (trace.state, trace.outcome, trace.notes) == ("done", "quoted", [])
    assert KEY not in caplog.text
    assert not [path for path in home.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


@pytest.mark.parametrize(
    ("status", "body", "headers", "word"),
    [
        (401, b'{"detail":{"error":"Unauthorized: missing or invalid API key."}}', {}, "key"),
        (429, b"{}", {"Retry-After": "1"}, "limit"),
        (432, b"{}", {}, "used up"),
        (500, b"<html><h1>502</h1></html>", {"Content-Type": "text/html"}, "reported an error"),
        (200, b"<html>Sign in</html>", {}, "could not be read"),
    ],
)
def test_a_failure_costs_one_request_and_one_note(application, home, tavily, caplog, status, body, headers, word):
    before = application.outbound_log.count_since(kind="web search")
    tavily.status, tavily.body, tavily.headers = status, body, headers
    trace = ask(application)
    assert_answered_from_the_library(trace, word)
    assert len(tavily.requests) == 1
    assert application.outbound_log.count_since(kind="web search") == before + 1
    assert KEY not in json.dumps(reports.answer_json("r", trace))
    assert_all_is_well(application, home, caplog)


def test_without_a_key_nothing_is_sent(tmp_path, tavily):
    with opened(tmp_path, tavily.url, key="") as keyless:
        trace = ask(keyless)
        assert (trace.state, trace.outcome, tavily.requests) == ("done", "quoted", [])
        assert trace.web_skipped == "No web search is set up, so the web was not searched."
        assert keyless.outbound_log.entries() == []


def test_offline(tmp_path, caplog):
    with opened(tmp_path, closed_address()) as alone:
        assert_answered_from_the_library(ask(alone), "cannot be reached")
        assert_all_is_well(alone, tmp_path, caplog)


def test_a_server_that_hangs_is_left_when_time_is_up(application, home, tavily, caplog, monkeypatch):
    monkeypatch.setattr("crag.app.run_resources.ProviderSearch", partial(ProviderSearch, timeout=0.5))
    tavily.delay = threading.Event()
    assert_answered_from_the_library(ask(application), "in time")
    tavily.delay.set()
    monkeypatch.undo()
    assert len(tavily.requests) == 1
    assert_all_is_well(application, home, caplog)


def test_stop_does_not_wait_for_a_server_that_hangs(application, home, tavily, caplog, monkeypatch):
    monkeypatch.setattr("crag.app.run_resources.ProviderSearch", partial(ProviderSearch, timeout=3600))
    tavily.delay = threading.Event()
    run = application.runs.start(None, QUESTION, WEB)
    next(event for _, event in run.follow(seconds=PATIENCE) if event.type == "web_query_sent")
    application.runs.stop(run.id)
    assert wait(run).state == "stopped"
    tavily.delay.set()
    assert_all_is_well(application, home, caplog)


@pytest.mark.parametrize(
    "results", [[], [None, 7, {}], [{"title": None, "url": None, "content": None, "score": None}]], ids=str
)
def test_nothing_that_can_be_used_is_not_a_failure(application, home, tavily, caplog, results):
    tavily.results = results
    trace = ask(application)
    assert (trace.state, trace.outcome, trace.notes) == ("done", "quoted", [])
    assert_all_is_well(application, home, caplog)


def test_results_with_private_addresses_are_text_without_a_link(tmp_path, tavily):
    urls = ["http://10.0.0.5/admin", "http://localhost:8501/", "http://127.0.0.2/", "file:///etc/passwd"]
    tavily.results = [CELTICS | {"url": url} for url in urls] + [CELTICS]
    with opened(tmp_path, tavily.url, documents={}) as fresh:
        trace = ask(fresh, ELSEWHERE, RunOptions(web="auto", web_results=5))
    assert (trace.state, trace.outcome) == ("done", "web")
    assert {trace.passages[number].location for number in trace.found["web"]} == {"", CELTICS["url"]}
    told = json.dumps(reports.answer_json("r", trace))
    assert not [url for url in urls if url in told]


def test_full_pages_are_read_on_demand_and_logged(application, tavily):
    body = f"<html><body><article><p>{CELTICS['content']} The series took five games.</p></article></body></html>"
    with serving() as web:
        good, gone = web.page("/finals", body.encode()), web.url("/gone")
        tavily.results = [CELTICS | {"url": url, "content": "About basketball."} for url in (good, gone)]
        conversation = application.conversations.for_user("ann").create().id
        trace = ask(application, ELSEWHERE, RunOptions(web="auto", fetch_pages=True), conversation)
    texts = [trace.passages[number].text for number in trace.found["web"]]
    assert "five games" in texts[0]
    assert texts[1] == "About basketball."
    assert "1 page on the web could not be read; the excerpts of the search were used instead." in trace.notes
    assert {row.what for row in application.outbound_log.for_user("ann").entries()} == {tavily.queries[0], good, gone}
    assert application.outbound_log.for_user("ben").count_since() == 0


@pytest.mark.parametrize("chosen", ["auto", "brave", "searxng", "mcp", "retriever"])
def test_a_provider_that_is_set_up_is_not_called_until_somebody_allows_it(tmp_path, monkeypatch, chosen):
    """Whatever can search: opening, checking, and asking with the web off or with consent pending sends nothing."""
    monkeypatch.setitem(globals(), "called", [])
    program = f"{sys.executable} -c \"open('{tmp_path}/started', 'w')\" #find"
    with SearchApi({"results": []}) as canary:
        keys = {"tavily_api_key": KEY, "brave_api_key": KEY, "mcp_search": program}
        urls = {"tavily_url": canary.url, "brave_url": canary.url, "searxng_url": canary.url}
        others = {"chat_model": "auto", "web_search": chosen, "search_retriever": f"{__name__}:open_retriever"}
        with opened_with(tmp_path / "home", NOTES, **keys, **urls, **others) as application:
            application.diagnose()
            assert ask(application, options=RunOptions(web="off", policy="any")).state == "done"
            waiting = ask(application, ELSEWHERE, RunOptions(web="ask"))
            assert waiting.waiting is not None
    assert (canary.asked, called, (tmp_path / "started").exists()) == ([], [], False)
    with opened_with(tmp_path / "home") as reopened:
        assert reopened.outbound_log.entries() == []


called: list[str] = []


def open_retriever():
    """Notes that it was called, as the retriever of the environment."""
    called.append("retriever")


def test_a_tool_of_an_mcp_server_answers_after_consent(tmp_path):
    with (
        mcp_search.serving(mcp_search.make_server()) as url,
        opened_with(tmp_path / "home", NOTES, chat_model="auto", mcp_search=f"{url}#find_structured") as application,
    ):
        run = application.runs.start(None, ELSEWHERE, RunOptions(web="ask"))
        waiting = wait(run)
        assert (waiting.waiting.host, waiting.waiting.provider) == (url.split("/")[2], "find_structured")
        assert application.outbound_log.entries() == []
        trace = wait(application.runs.answer_consent(run.id, waiting.waiting.query))
        passage = trace.passages[trace.found["web"][0]]
        assert (passage.title, passage.location) == ("Finals", "https://example.org/f")
        assert passage.id in trace.verdicts
        (entry,) = application.outbound_log.entries()
        assert (entry.host, entry.kind, entry.what) == (url.split("/")[2], "web search", waiting.waiting.query)
