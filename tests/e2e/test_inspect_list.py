"""The list of runs in a real browser: filtered while typing, stable over pages and reloads, private to its user."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from crag.app.application import open_application
from crag.options import RunOptions
from crag.settings import Settings
from tests.e2e.browser import new_context, open_page, settled
from tests.e2e.conftest import QUESTION
from tests.forked import forked
from tests.waiting import PATIENCE

LOST = "Who won the 2024 NBA finals?"


@pytest.fixture
def asked(home_with_notes: Path) -> Iterator[str]:
    """The application with two runs: one that the notes answer, and one that they do not."""
    application = open_application(Settings(home=home_with_notes, embedder="builtin"))
    conversation = application.conversations.create()
    for question in (QUESTION, LOST):
        run = application.runs.start(conversation.id, question, RunOptions(model="builtin", web="off"))
        assert list(run.follow(seconds=PATIENCE))
    application.close()
    with forked(home_with_notes, OLLAMA_HOST="127.0.0.1:9") as address:
        yield address


def test_a_run_is_found_and_reopened_by_its_owner_only(page: Page, browser: Browser, asked: str):
    open_page(page, f"{asked}/inspect")
    side = page.get_by_test_id("stSidebar")
    rows = side.locator("[class*=st-key-run-] button:visible")
    expect(rows).to_have_count(2)
    expect(page.get_by_test_id("stVegaLiteChart")).to_be_visible()

    side.get_by_role("button", name="not in your documents").press("Enter")  # the pill, by keyboard
    expect(rows).to_have_count(1)
    settled(page)
    side.get_by_role("searchbox", name="Find a run").press_sequentially("espresso", delay=30)
    expect(side.get_by_text("No runs match").first).to_be_visible()
    settled(page)
    side.get_by_role("button", name="Clear filters").locator("visible=true").click()
    expect(rows).to_have_count(2)
    settled(page)
    side.get_by_role("searchbox", name="Find a run").press_sequentially("espresso", delay=30)
    expect(rows).to_have_count(1)
    settled(page)
    rows.first.click()
    expect(page.get_by_test_id("stMain").get_by_role("heading", name=QUESTION)).to_be_visible()
    assert "run=" in page.url
    opened = page.url

    settled(page)
    page.get_by_role("link", name="Documents").first.click()
    expect(page.get_by_role("heading", name="Documents", exact=True)).to_be_visible()
    settled(page)
    page.get_by_role("link", name="Inspect").first.click()
    expect(page.get_by_test_id("stMain").get_by_role("heading", name=QUESTION)).to_be_visible()
    expect(rows).to_have_count(1)  # the filter is still there
    expect(side.get_by_role("searchbox", name="Find a run")).to_have_value("espresso")
    expect(page).to_have_url(opened)

    other = new_context(browser).new_page()
    open_page(other, opened)
    expect(other.get_by_role("heading", name="This answer no longer exists")).to_be_visible()
    expect(other.get_by_text("No runs yet")).to_be_visible()
    other.context.close()
