"""LangSmith in the settings: nothing without a key and leave; traces go while they are switched on, and no longer."""

from __future__ import annotations

import pytest

from crag.options import RunOptions
from crag.runs.trace import Trace
from pages.parts.services import application
from tests.doubles.langsmith import LangSmithServer
from tests.pages.conftest import open_settings, said
from tests.waiting import wait_until


@pytest.fixture
def langsmith(monkeypatch):
    with LangSmithServer() as server:
        monkeypatch.setenv("LANGSMITH_API_KEY", "lsv2_pt_secret")
        monkeypatch.setenv("LANGSMITH_ENDPOINT", server.url)
        monkeypatch.setenv("LANGSMITH_TRACING", "true")
        application.clear()
        yield server


def ask() -> Trace:
    run = application().runs.start(None, "What is it?", RunOptions(model="builtin"))
    return Trace().apply_all(event for _, event in run.follow(seconds=30))


def switch(page):
    return next(toggle for toggle in page.toggle if toggle.label == "Traces of answers")


def test_without_a_key_there_is_nothing_to_switch_on(chat):
    page = open_settings(chat, "privacy")
    assert said(page, "There is no key, so nothing can go there.")
    assert [toggle.label for toggle in page.toggle] == []


def test_traces_go_from_the_moment_they_are_switched_on_until_they_are_switched_off(chat, langsmith):
    page = open_settings(chat, "privacy")
    assert said(page, "every prompt with its passages")
    assert not switch(page).value
    assert ask().notes == []
    switch(page).set_value(True).run()
    assert said(page, "Traces go there now.")
    assert len(ask().notes) == 1
    wait_until(lambda: langsmith.runs)
    sent = len(langsmith.requests)
    switch(page).set_value(False).run()
    assert said(page, "Nothing goes.")
    assert ask().notes == []
    application().traces.close()
    assert len(langsmith.requests) == sent == 1
    assert not page.exception


def test_what_the_environment_settles_is_changed_there(chat, langsmith, monkeypatch):
    monkeypatch.setenv("CRAG_LANGSMITH", "on")
    monkeypatch.delenv("LANGSMITH_TRACING")
    application.clear()
    page = open_settings(chat, "privacy")
    assert switch(page).disabled
    assert said(page, "Set by CRAG_LANGSMITH")
    assert said(page, "set `LANGSMITH_TRACING=true`, then start again")
