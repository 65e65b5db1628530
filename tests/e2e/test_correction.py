"""Correcting in a real browser: consent to a web search, and a comparison that begins during a redraw."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.doubles.tavily import TavilyServer
from tests.e2e.browser import ask, badge, open_page, settled
from tests.e2e.conftest import QUESTION

FIRST_DRAFT, EDITED = "Who won the 2024 NBA Finals?", "2024 NBA Finals winner"
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
    settled(page)
    page.get_by_test_id("stChatMessage").last.get_by_role("button", name="Again").click()
    page.get_by_role("menuitem", name="Compare with other settings").click()
    drawer = page.get_by_role("dialog")
    drawer.get_by_role("combobox", name="Strictness").click()
    page.get_by_role("option", name="Off", exact=True).click()
    expect(drawer.get_by_role("button", name="Answer and compare")).to_be_enabled()
    settled(page)
    page.evaluate(CLICK_WHILE_THE_SIDEBAR_IS_DRAWN)
    expect(page.get_by_test_id("stMain").get_by_role("heading", name="Version 2")).to_be_visible()


def test_an_edited_query_outlasts_back_and_forward_and_reaches_the_web(
    page: Page, app_with_notes: str, tavily: TavilyServer
):
    open_page(page, app_with_notes)
    ask(page, FIRST_DRAFT)
    query = page.get_by_label("Query for the web")
    expect(query).to_have_value(FIRST_DRAFT)
    expect(badge(page, "not found in your documents")).to_be_visible()
    settled(page)
    query.fill(EDITED)
    page.go_back()
    expect(page.get_by_role("heading", name="Ask your documents")).to_be_visible()
    page.go_forward()
    expect(query).to_have_value(EDITED)
    settled(page)  # a click during a redraw is lost
    assert tavily.requests == []
    page.get_by_role("button", name="Allow", exact=True).click()
    answer = page.get_by_test_id("stChatMessage").last
    expect(answer).to_contain_text(f"Sent to Tavily: “{EDITED}”")
    expect(answer).to_contain_text("Boston Celtics")
    assert tavily.queries == [EDITED]
