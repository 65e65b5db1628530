"""Privacy in the settings: the outbound log, search quota, Tavily, LangSmith, export and deletion."""

from __future__ import annotations

import pytest

from crag.runs.trace import Trace
from crag.storage.engine import Database
from crag.storage.outbound_log import OutboundLog
from pages.parts.services import shared_application
from pages.settings.privacy import export_csv
from tests import applications
from tests.doubles.langsmith import LangSmithServer
from tests.doubles.tavily import TavilyServer
from tests.pages.conftest import click, labels, open_settings, said
from tests.waiting import wait_until

HOSTILE = "![x](https://evil.example/p.png) <img src=x onerror=alert(1)> :material/home: [a](javascript:alert(1)) $x^2$"


@pytest.fixture
def settings(chat):
    return lambda: open_settings(chat, "privacy")


@pytest.fixture
def tavily(monkeypatch):
    with TavilyServer(
        usage={"account": {"current_plan": "Bootstrap", "plan_usage": 500, "plan_limit": 4000}}
    ) as server:
        monkeypatch.setenv("TAVILY_API_KEY", "tvly-secret")
        monkeypatch.setenv("CRAG_TAVILY_URL", server.url)
        shared_application.clear()
        yield server


def table(page):
    (frame,) = page.dataframe
    return frame.value


def test_nothing_has_left_and_there_is_nothing_to_forget(settings):
    page = settings()
    assert said(page, "Nothing has left this machine.")
    assert "Clear list" not in labels(page)
    assert "Check with Tavily" not in labels(page), "there is no key"


def test_the_outbound_log_is_newest_first_and_escaped(services, settings):
    services.outbound_log.record("example.org", "web page", "https://example.org/고양이")
    services.outbound_log.record("api.tavily.com", "web search", HOSTILE)
    shown = table(settings())
    assert list(shown["What"]) == [HOSTILE, "https://example.org/고양이"]
    assert list(shown["Kind"]) == ["web search", "web page"]
    assert list(shown["Sent to"]) == ["api.tavily.com", "example.org"]


def test_the_list_is_forgotten_after_a_question(services, settings):
    services.outbound_log.record("api.tavily.com", "web search", "cats")
    page = settings()
    click(page, "Clear list")
    assert said(page, "1 entry will be deleted permanently.")
    click(page, "Cancel")
    assert len(services.outbound_log.entries()) == 1
    click(page, "Clear list")
    click(page, "Clear")
    assert services.outbound_log.entries() == []
    assert said(page, "Nothing has left this machine.")


def test_the_meter_counts_here_until_tavily_is_asked(tavily, settings):
    shared_application().outbound_log.record(tavily.url.removeprefix("http://"), "web search", "cats")
    page = settings()
    assert "1 search this month of 1,000" in page.get("progress")[0].proto.text
    click(page, "Check with Tavily")
    assert "500 of 4,000 credits used (Bootstrap, from Tavily)" in page.get("progress")[0].proto.text
    assert tavily.asked == [("/usage", "Bearer tvly-secret")]
    assert list(table(page)["Kind"]) == ["account", "web search"]
    assert "secret" not in str([item.value for item in [*page.text, *page.markdown, *page.caption]])


def test_a_refusal_of_tavily_is_told_and_the_own_count_stays(tavily, settings):
    tavily.status = 401
    page = settings()
    click(page, "Check with Tavily")
    assert ["Tavily refused the key" in toast.value for toast in page.toast] == [True]
    assert "0 searches this month" in page.get("progress")[0].proto.text


def test_the_export_is_a_table_that_calculates_nothing(tmp_path):
    log = OutboundLog(Database(tmp_path))
    log.record("api.tavily.com", "web search", '=HYPERLINK("x"), "고양이"\nzwei')
    text = export_csv(log).decode("utf-8-sig")
    assert text.splitlines()[0] == "When,Kind,Sent to,What"
    assert text.endswith(',web search,api.tavily.com,"\'=HYPERLINK(""x""), ""고양이""\nzwei"\n')


@pytest.fixture
def langsmith(monkeypatch):
    with LangSmithServer() as server:
        monkeypatch.setenv("LANGSMITH_API_KEY", "lsv2_pt_secret")
        monkeypatch.setenv("LANGSMITH_ENDPOINT", server.url)
        monkeypatch.setenv("LANGSMITH_TRACING", "true")
        shared_application.clear()
        yield server


def ask() -> Trace:
    return applications.ask(shared_application(), "What is it?", model="builtin")


def switch(page):
    return next(toggle for toggle in page.toggle if toggle.label == "Traces of answers")


def test_without_a_key_there_is_nothing_to_switch_on(chat):
    page = open_settings(chat, "privacy")
    assert said(page, "No key, so nothing is sent.")
    assert [toggle.label for toggle in page.toggle] == []


def test_traces_are_sent_only_while_switched_on(chat, langsmith):
    page = open_settings(chat, "privacy")
    assert said(page, "every prompt with its passages")
    assert not switch(page).value
    assert ask().notes == []
    switch(page).set_value(True).run()
    assert said(page, "Traces are being sent.")
    assert len(ask().notes) == 1
    wait_until(lambda: langsmith.runs)
    sent = len(langsmith.requests)
    switch(page).set_value(False).run()
    assert said(page, "Nothing is sent.")
    assert ask().notes == []
    shared_application().traces.close()
    assert len(langsmith.requests) == sent == 1
    assert not page.exception


def test_what_the_environment_settles_is_changed_there(chat, langsmith, monkeypatch):
    monkeypatch.setenv("CRAG_LANGSMITH", "on")
    monkeypatch.delenv("LANGSMITH_TRACING")
    shared_application.clear()
    page = open_settings(chat, "privacy")
    assert switch(page).disabled
    assert said(page, "Set by CRAG_LANGSMITH")
    assert said(page, "Set `LANGSMITH_TRACING=true`, then restart")
