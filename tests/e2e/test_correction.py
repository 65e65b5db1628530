"""Correcting in a real browser: consent to a web search, overriding a verdict, comparing two settings."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.doubles.tavily import TavilyServer
from tests.e2e.browser import ask, badge, open_page, settled
from tests.e2e.conftest import QUESTION
from tests.forked import forked

RESULTS = [
    {
        "title": "2024 NBA Finals",
        "url": "https://en.example.org/finals",
        "score": 0.9,
        "content": "The Boston Celtics won the 2024 NBA Finals. They beat the Dallas Mavericks four games to one.",
    },
    {
        "title": "Tickets",
        "url": "https://tickets.example.org/",
        "score": 0.2,
        "content": "Tickets cost 400 dollars.",
    },
]
FIRST_DRAFT, EDITED = "Who won the 2024 NBA Finals?", "2024 NBA Finals winner"


@pytest.fixture
def tavily() -> Iterator[TavilyServer]:
    with TavilyServer(results=RESULTS) as server:
        yield server


def button(page: Page | Locator, name: str) -> Locator:
    settled(page.page if isinstance(page, Locator) else page)  # a click during a redraw is lost
    return page.get_by_role("button", name=name).locator("visible=true").first


def test_an_edited_query_outlasts_back_and_forward_and_a_restart_and_reaches_the_web(
    page: Page, tavily: TavilyServer, home_with_notes
):
    settings = {"OLLAMA_HOST": "127.0.0.1:9", "TAVILY_API_KEY": "tvly-test", "CRAG_TAVILY_URL": tavily.url}
    query = page.get_by_label("Query for the web")
    with forked(home_with_notes, **settings) as app:
        open_page(page, app)
        ask(page, FIRST_DRAFT)
        expect(query).to_have_value(FIRST_DRAFT)
        expect(badge(page, "not in your documents")).to_be_visible()
        expect(page.get_by_test_id("stSidebar")).to_contain_text("waiting for you")
        settled(page)
        query.fill("2024 NBA Finals")
        page.go_back()
        expect(page.get_by_role("heading", name="Ask your documents")).to_be_visible()
        page.go_forward()
        expect(query).to_have_value("2024 NBA Finals")
        settled(page)
        query.fill(EDITED)
        query.blur()
        settled(page)
        page.reload()
        expect(query).to_have_value(EDITED)
        conversation = page.url.partition("?")[2]
    with forked(home_with_notes, **settings) as app:
        open_page(page, f"{app}/?{conversation}")
        expect(query).to_have_value(EDITED)
        assert tavily.requests == []
        button(page, "Allow").click()
        expect(badge(page, "from the web")).to_be_visible()  # the new process opens its models first
        answer = page.get_by_test_id("stChatMessage").last
        expect(answer).to_contain_text("Boston Celtics")
        expect(answer).to_contain_text(f"Sent to Tavily: “{EDITED}”")
        assert tavily.queries == [EDITED]
        answer.locator('a[href^="#cite-"]').first.click()
        expect(page.get_by_role("dialog")).to_contain_text("https://en.example.org/finals")
        settled(page)
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)

        ask(page, "Who won the 2022 World Cup?")
        button(page, "Don't search").click()
        expect(answer).to_contain_text("I found no answer in your documents.")
        expect(answer).to_contain_text("Nearest passages:")
        assert tavily.queries == [EDITED]


def test_a_verdict_is_overruled_and_two_answers_are_compared(page: Page, app_with_notes: str):
    open_page(page, app_with_notes)
    ask(page, QUESTION)
    expect(badge(page, "from your documents")).to_be_visible()
    page.locator('a[href^="#cite-"]').first.click()
    button(page.get_by_role("dialog"), "Leave out and answer again").click()
    answer = page.get_by_test_id("stChatMessage").last
    expect(answer).to_contain_text("Version 2 of 2 · you left out")
    expect(answer).to_contain_text("Without the passages you left out, there is no answer.")
    expect(page.get_by_test_id("stSidebar")).to_contain_text("left out by you")
    expect(page.get_by_role("dialog")).to_have_count(0)
    button(answer, "Show version 1").click()
    expect(answer).to_contain_text("six weeks")
    button(answer, "Again").click()
    page.get_by_role("menuitem", name="Compare with other settings").click()
    drawer = page.get_by_role("dialog")
    drawer.get_by_role("combobox", name="Strictness").click()
    page.get_by_role("option", name="Off", exact=True).click()
    button(drawer, "Answer and compare").click()
    main = page.get_by_test_id("stMain")
    expect(main.get_by_role("heading", name="Version 3")).to_be_visible()
    expect(main.get_by_role("row", name="Strictness Balanced")).to_contain_text("Off")
    expect(main.get_by_text("six weeks")).to_have_count(2)
    expect(main.locator(".stMarkdownBadge", has_text="not graded")).to_be_visible()
    page.get_by_test_id("stMain").get_by_role("link", name="Chat").click()
    expect(answer).to_contain_text("Version 3 of 3")


CLICK_WHILE_THE_SIDEBAR_IS_DRAWN = """() => {
  const click = (words) => [...document.querySelectorAll('button')].find((one) => one.innerText.includes(words)).click()
  click('History')
  setTimeout(() => click('Trace'))
  setTimeout(() => click('Answer and compare'))
}"""


def test_a_comparison_begins_while_the_sidebar_is_drawn(page: Page, app_with_notes: str):
    """The clicks come while the script runs, so that the sidebar and the drawer are drawn in one run after it."""
    open_page(page, app_with_notes)
    ask(page, QUESTION)
    expect(badge(page, "from your documents")).to_be_visible()
    button(page.get_by_test_id("stChatMessage").last, "Again").click()
    page.get_by_role("menuitem", name="Compare with other settings").click()
    drawer = page.get_by_role("dialog")
    drawer.get_by_role("combobox", name="Strictness").click()
    page.get_by_role("option", name="Off", exact=True).click()
    expect(button(drawer, "Answer and compare")).to_be_enabled()
    settled(page)
    page.evaluate(CLICK_WHILE_THE_SIDEBAR_IS_DRAWN)
    expect(page.get_by_test_id("stMain").get_by_role("heading", name="Version 2")).to_be_visible()
