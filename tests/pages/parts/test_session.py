"""Several users on one server: each sees only their own conversations and outbound log."""

from __future__ import annotations

import shlex
import subprocess

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from crag.errors import BadRequest
from crag.options import RunOptions
from crag.server.browser_identity import headers_of
from crag.sharing import passage_exchange
from crag.storage.outbound_log import on_behalf_of
from pages.parts import components
from tests.pages.conftest import ROOT, labels, open_settings, restart_application, said
from tests.waiting import PATIENCE

ANN, BEN = "a" * 64, "b" * 64


@pytest.fixture(autouse=True)
def _many(monkeypatch):
    monkeypatch.setenv("CRAG_PEOPLE", "many")


@pytest.fixture
def browser(monkeypatch):
    """A page that is opened by the browser with this key; empty: by one that names no secret."""

    def opened(key: str, *, kept: bool = True, **query: str) -> AppTest:
        monkeypatch.setattr(type(st.context), "headers", property(lambda _: headers_of(key, kept=kept) if key else {}))
        page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE)
        page.query_params.update(query)
        page.session_state["sidebar_view"] = "History"
        return page.run()

    return opened


def asked(services, key: str, question: str) -> tuple[str, str]:
    """The ids of a conversation of this browser and of its last run."""
    conversation = services.conversations.for_user(key).create().id
    run = services.runs.start(conversation, question, RunOptions(web="off"))
    list(run.follow())
    return conversation, run.id


def test_an_address_shows_nobody_elses_questions(services, notes, browser):
    conversation, one = asked(services, ANN, "When is the grinder cleaned?")
    other = services.runs.regenerate(one, RunOptions(web="off"))
    list(other.follow())
    assert "**When is the grinder cleaned?**" in [
        label.replace("\\", "") for label in labels(browser(ANN, c=conversation))
    ]
    assert browser(ANN).session_state["person"] == ANN, "another tab of the same browser"

    page = browser(BEN, c=conversation)
    assert said(page, "Your conversations appear here.")
    assert said(page, "There is no such conversation here.")
    assert not page.chat_message
    page.text_input(key="conversation_search").set_value("grinder").run()
    assert said(page, "No conversations found.")
    page.query_params.update({"a": one, "b": other.id})
    page.switch_page("pages/compare/page.py").run()
    assert said(page, "One of the two answers no longer exists.")


def test_settings_show_the_key_and_outbound_log_of_one_person(services, browser):
    for key, sent in ((ANN, "of Ann"), (BEN, "of Ben"), ("", "of nobody")):
        with on_behalf_of(key):
            services.outbound_log.record("example.org", "model", sent)
    page = open_settings(browser(ANN), "privacy")
    assert list(page.dataframe[0].value["What"]) == ["of nobody", "of Ann"]
    assert said(page, "1 more entry by other people or commands not shown.")
    assert ANN in [block.value for block in page.code]
    assert any(f"--to={ANN}" in block.value for block in page.code)
    assert not said(page, "does not remember who you are")


def test_without_a_secret_conversations_last_as_long_as_the_tab(services, browser):
    page = browser("")
    key = page.session_state["person"]
    assert len(key) == 64
    assert page.run().session_state["person"] == key
    assert browser("").session_state["person"] != key
    for shown in (page, open_settings(page, "privacy")):  # the launcher asks for the secret
        assert said(shown, "This browser does not remember who you are")
        assert said(shown, "make run")


def test_a_browser_that_keeps_nothing_is_known_while_its_tab_is_open(browser):
    page = browser(ANN, kept=False)
    assert page.session_state["person"] == ANN
    assert said(page, "This browser does not remember who you are")


def test_another_browser_that_continues_a_session_is_somebody_else(services, browser, monkeypatch):
    asked(services, ANN, "When?")
    page = browser(ANN)
    assert "When?" in labels(page)
    monkeypatch.setattr(type(st.context), "headers", property(lambda _: headers_of(BEN)))
    assert "When?" not in labels(page.run())
    assert page.session_state["person"] == BEN


def test_what_was_there_before_goes_to_the_first_browser_only(services, browser):
    asked(services, "", "When?")
    browser("")
    assert "When?" in labels(browser(ANN))
    assert "When?" not in labels(browser(BEN))


def test_documents_are_said_to_be_shared_only_where_others_reach_the_server(browser, monkeypatch):
    assert not said(browser(ANN), "Documents are shared")
    restart_application()
    monkeypatch.setenv("CRAG_PUBLIC_URL", "https://crag.example.org")
    monkeypatch.setenv("CRAG_OPEN", "yes")
    assert said(browser(ANN), "Documents are shared")


def test_a_newcomer_gets_no_backup_of_what_others_asked(services, browser, monkeypatch, tmp_path):
    asked(services, ANN, "When?")
    assert open_settings(browser(ANN), "backup").get("download_button")
    page = open_settings(browser(BEN), "backup")
    assert said(page, "It contains the questions of several people")
    assert not page.get("download_button")
    monkeypatch.delenv("CRAG_HOME")  # as in a new terminal
    command = shlex.split(page.code[0].value.replace("FILE", str(tmp_path / "all.backup")))
    subprocess.run(command, cwd=ROOT, check=True)
    assert (tmp_path / "all.backup").is_file()
    with pytest.raises(BadRequest):
        services.for_user(BEN).exchange.backup_bytes()


def test_what_others_ask_while_a_backup_is_written_is_not_handed_over(services, monkeypatch):
    write_backup = passage_exchange.write_backup

    def ask_and_write(*arguments):
        asked(services, ANN, "When?")
        return write_backup(*arguments)

    monkeypatch.setattr(passage_exchange, "write_backup", ask_and_write)
    with pytest.raises(BadRequest, match="several people"):
        services.for_user(BEN).exchange.backup_bytes()


def test_forged_citation_clicks_open_nothing(services, notes, browser, monkeypatch):
    _, run_id = asked(services, ANN, "When is the grinder cleaned?")
    clicked = {"number": "1"}
    monkeypatch.setattr(components, "sync_page", lambda _status, _run, on_cited, **_: on_cited())
    monkeypatch.setattr(components, "clicked_citation", lambda: (run_id, clicked["number"]))
    page = browser(BEN)
    assert "source" not in page.session_state
    assert "source" in browser(ANN).session_state
    clicked["number"] = "²"
    assert "source" not in browser(ANN).session_state
