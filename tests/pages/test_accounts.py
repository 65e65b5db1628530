"""People who log in: who gets in, what members are not offered, and that no page shows what somebody keeps private."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from crag.app.application import Application
from crag.server.page_requests import LOGIN_FAILED_COOKIE
from pages.parts.routes import Page
from pages.settings.sections import all_sections
from tests.belongings import OFF, finish
from tests.pages.conftest import ROOT, said
from tests.pages.test_people import Browsers, dialogs_of, sent_to
from tests.waiting import PATIENCE

SECRET = "quetzal"
LogIn = Callable[[dict[str, Any]], None]


def claims(name: str, **others: Any) -> dict[str, Any]:
    """What the identity token of somebody says."""
    known = {"is_logged_in": True, "iss": "idp", "sub": name, "email": f"{name}@example.org", "iat": time.time()}
    return known | others


@pytest.fixture
def log_in(monkeypatch: pytest.MonkeyPatch) -> LogIn:
    """Let Streamlit know somebody with these claims from now on."""
    monkeypatch.setenv("CRAG_PEOPLE", "accounts")
    monkeypatch.setenv("CRAG_ADMINS", "root@example.org")
    return lambda said: monkeypatch.setattr(type(st.user), "to_dict", lambda _: said)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({}, None),
        ({"is_logged_in": False}, None),
        (claims("ann", iat=time.time() - 8 * 24 * 3600), "You were logged in a week ago."),
        (claims("ann", email_verified=False), "does not confirm your e-mail address"),
        (claims("ann", email_verified="false"), "does not confirm your e-mail address"),
        (claims("ann", email_verified=None), "does not confirm your e-mail address"),
        (claims("ann", email=None), "does not confirm your e-mail address"),
        (claims(""), "does not confirm your e-mail address"),
    ],
)
def test_nobody_gets_in_without_a_login_and_who_is_refused_is_told_why(chat, log_in, services, said, reason):
    services.library.pipeline.add_bytes("public.md", b"The office opens at nine.")
    log_in(said)
    for page in Page:
        chat.switch_page(page.path).run()
        assert [one.value for one in chat.title] == ["CRAG Chat"]
        assert [one.label for one in chat.button] == (["Log in", "Log out"] if reason else ["Log in"])
        shown = [one.value.replace("\\", "") for one in chat.warning]
        assert (reason in shown[0]) if reason else shown == []
    with services.database.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM users").scalar() == 0


@pytest.mark.parametrize(
    ("failure", "words"),
    [("unreachable", "The login service does not answer"), ("refused", "did not confirm who you are"), ("x", None)],
)
def test_a_login_that_failed_says_why(chat, log_in, monkeypatch, failure, words):
    log_in({})
    monkeypatch.setattr(type(st.context), "cookies", property(lambda _: {LOGIN_FAILED_COOKIE: failure}))
    chat.run()
    assert [one.label for one in chat.button] == ["Log in"]
    assert [words in one.value for one in chat.warning] == ([True] if words else [])


@pytest.mark.parametrize(
    ("name", "sections"),
    [
        ("ann", {"API tokens", "Privacy", "Account", "Language", "Keyboard"}),
        ("root", {section.name for section in all_sections()}),
    ],
)
def test_members_are_offered_no_settings_of_the_server(chat, log_in, name, sections):
    log_in(claims(name))
    assert said(chat.run(), "Everyone who may read this collection")
    chat.switch_page(Page.SETTINGS.path).run()
    offered = {one.label.strip("*") for one in chat.sidebar.button}
    assert {section.name for section in all_sections()} & offered == sections


class Visitors(Browsers):
    """The browsers of people who have logged in."""

    log_in: LogIn

    def visit(
        self, user: str, page: Page, query: dict[str, str] | None = None, dialog: tuple[str, Any] | None = None
    ) -> str:
        self.log_in(claims(user))
        if user not in self.tabs:
            self.tabs[user] = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE).run()
        app = self.tabs[user].switch_page(page.path)
        app.query_params.clear()
        app.query_params.update(query or {})
        app.session_state["dialog"] = dialog
        app.run()
        return "\n".join(sent_to(app))


@pytest.fixture
def visitors(monkeypatch: pytest.MonkeyPatch, log_in: LogIn) -> Visitors:
    opened = Visitors(monkeypatch)
    opened.log_in = log_in
    return opened


def test_no_page_or_dialog_shows_the_documents_of_somebody_else(visitors: Visitors, services: Application):
    for name in ("ann", "ben"):
        visitors.visit(name, Page.SETTINGS)
    ann = services.for_user(services.accounts.find("ann@example.org").id)
    kept = ann.library.pipeline.add_bytes(f"{SECRET}.md", f"The {SECRET} sings at dawn.".encode(), collection="Birds")
    gone = ann.library.pipeline.add_bytes("old.md", f"An old {SECRET}.".encode(), collection="Birds")
    ann.remove_documents([gone.id])
    finish(ann.runs.start(ann.conversations.create().id, f"When does the {SECRET} sing?", OFF))
    subjects = ("", "ann/Birds", kept.id, [kept.id])
    shown: dict[str, set[Page]] = {"ann": set(), "ben": set()}
    for page in Page:
        asked = [None, *((dialog, subject) for dialog in dialogs_of(page) for subject in subjects)]
        for dialog in asked if page is Page.DOCUMENTS else [None]:
            for name in ("ann", "ben") if page not in shown["ann"] else ("ben",):
                if SECRET in visitors.visit(name, page, None, dialog):
                    shown[name].add(page)
    assert shown["ben"] == set()
    assert shown["ann"] >= {Page.DOCUMENTS}, "what she does not see herself proves nothing"
