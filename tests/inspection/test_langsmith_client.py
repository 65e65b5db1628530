"""Traces at a scripted LangSmith: sent only with permission, logged first, never delaying an answer."""

from __future__ import annotations

import logging
import threading
from contextlib import ExitStack

import pytest

from crag.options import RunOptions
from crag.settings import LangSmithAccount
from crag.storage.outbound_log import on_behalf_of
from tests import applications
from tests.applications import opened_with, wait
from tests.doubles.langsmith import LangSmithServer
from tests.doubles.ollama import closed_address
from tests.doubles.tavily import TavilyServer
from tests.waiting import wait_until

KEY = "lsv2_pt_0123456789abcdef_feedcafe42"
QUESTION = "What does TraceMonkey record?"
TEXT = "TraceMonkey records a trace of each hot loop."


@pytest.fixture
def langsmith():
    with LangSmithServer() as server:
        yield server


@pytest.fixture
def opened(tmp_path, langsmith, monkeypatch):
    for name in ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2"):  # as one has them set who uses LangSmith elsewhere
        monkeypatch.setenv(name, "true")
    monkeypatch.setenv("LANGSMITH_API_KEY", KEY)
    monkeypatch.setenv("LANGSMITH_ENDPOINT", langsmith.url)

    with ExitStack() as opened:

        def open_(ollama_host="", tavily="", **account):
            settings = {
                "langsmith": LangSmithAccount(**({"key": KEY, "url": langsmith.url, "tracing": True} | account)),
                "ollama_host": ollama_host or closed_address(),
                "tavily_api_key": tavily and "tvly-x",
                "tavily_url": tavily,
            }
            documents = {"paper.txt": TEXT}
            return opened.enter_context(opened_with(tmp_path / "home", documents, chat_model="auto", **settings))

        yield open_


def ask(application, **options):
    return applications.ask(application, QUESTION, **options)


def test_variables_alone_send_nothing(opened, langsmith):
    application = opened()
    assert application.traces.is_configured
    assert ask(application).notes == []
    application.close()
    assert langsmith.requests == []


def test_leave_alone_sends_nothing(opened, langsmith):
    for account in ({"tracing": False}, {"key": ""}):
        application = opened(**account)
        application.preferences.allow_traces(True)
        assert ask(application).state == "done"
        application.close()
    assert langsmith.requests == []


def test_an_allowed_trace_is_complete_and_logged(opened, langsmith, ollama):
    application = opened(ollama.url, project="mine")
    application.preferences.allow_traces(True)
    with on_behalf_of("somebody"):
        trace = ask(application, model="ollama:llama3.1:8b", grader="score", refine=False)
    assert trace.state == "done", trace.error
    assert trace.notes == [application.traces.note]
    wait_until(lambda: langsmith.runs)
    (root,) = (run for run in langsmith.runs.values() if "parent_run_id" not in run)
    assert {run["session_name"] for run in langsmith.runs.values()} == {"mine"}
    assert {run["trace_id"] for run in langsmith.runs.values()} == {root["id"]}
    by_name = {run["name"]: run for run in langsmith.runs.values()}
    assert {"retrieve", "grade_documents", "generate"} <= set(by_name)
    models = [run for run in langsmith.runs.values() if run["run_type"] == "llm"]
    steps = {by_name[name]["id"] for name in ("grade_documents", "generate")}
    assert {run["parent_run_id"] for run in models} <= set(langsmith.runs)
    assert len(models) == len(ollama.chats) >= 2
    assert TEXT in str(models[-1]["inputs"])
    assert trace.text in str(models[-1]["outputs"])
    assert steps & {run["parent_run_id"] for run in models}
    (departure,) = application.outbound_log.entries(kind="trace")
    assert departure.what == f"Trace of: {QUESTION}"
    assert departure.host in langsmith.url
    assert KEY not in langsmith.sent


def test_crag_langsmith_is_leave_too_and_hidden_texts_stay_here(opened, langsmith):
    application = opened(always=True, hide_inputs=True, hide_outputs=True)
    ask(application)
    wait_until(lambda: langsmith.runs)
    assert TEXT not in langsmith.sent


def test_once_switched_off_nothing_more_goes_not_even_what_waits(opened, langsmith):
    application = opened()
    application.preferences.allow_traces(True)
    langsmith.delay = threading.Event()
    ask(application)
    wait_until(lambda: langsmith.requests)
    ask(application)  # waits behind the first
    application.preferences.allow_traces(False)
    langsmith.delay.set()
    assert ask(application).notes == []
    application.close()
    assert len(langsmith.requests) == 1


@pytest.mark.parametrize("status", [401, 429, 500, 307])
def test_a_failed_trace_fails_no_answer_and_leaks_no_key(opened, langsmith, caplog, status):
    with LangSmithServer() as elsewhere, caplog.at_level(logging.DEBUG):
        langsmith.status, langsmith.headers = status, {"Location": elsewhere.url}
        application = opened(always=True)
        assert ask(application).state == "done"
        wait_until(lambda: "A trace was not sent" in caplog.text)
        assert elsewhere.requests == []
    assert len(langsmith.requests) == 1
    assert KEY[:5] not in caplog.text
    assert TEXT not in caplog.text


def test_a_server_that_hangs_delays_no_answer_and_no_end(opened, langsmith, monkeypatch):
    monkeypatch.setattr("crag.inspection.langsmith_client._TRACE_SECONDS", 3600)
    langsmith.delay = threading.Event()
    application = opened(always=True)
    assert [ask(application).state for _ in range(2)] == ["done"] * 2
    application.close()


def test_a_run_that_asks_a_person_is_two_traces_of_one_thread(opened, langsmith):
    with TavilyServer(results=[{"title": "T", "url": "https://example.org/a", "content": TEXT}]) as tavily:
        application = opened(always=True, tavily=tavily.url)
        run = application.runs.start(None, "Who won the race in 2024?", RunOptions(web="ask", model="builtin"))
        assert wait(run).state == "waiting"
        application.runs.answer_consent(run.id, None)
        wait_until(lambda: sum("parent_run_id" not in one for one in langsmith.runs.values()) == 2)
    roots = [one for one in langsmith.runs.values() if "parent_run_id" not in one]
    assert {one["extra"]["metadata"]["thread_id"] for one in roots} == {run.id}
    assert [one["error"] for one in roots if one.get("error")] == []
