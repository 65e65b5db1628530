"""Closing a coverage gap in a real browser: from an unanswered question to an answer from the documents."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.doubles.tavily import TavilyServer
from tests.doubles.web import serving
from tests.e2e.browser import ask, badge, open_page, settled
from tests.e2e.test_correction import button
from tests.forked import forked

QUESTION = "Who won the 2024 NBA finals?"
FINALS = "The Boston Celtics won the 2024 NBA finals against the Dallas Mavericks."


def test_a_gap_is_filled_with_one_click_and_then_answered(page: Page, home_with_notes):
    with TavilyServer() as tavily, serving() as web:
        text = f"<html><title>Finals of 2024</title><body><p>{FINALS}</p></body></html>"
        found = {"title": "Finals of 2024", "url": web.page("/finals", text.encode()), "content": FINALS, "score": 0.9}
        tavily.results = [found]
        settings = {"TAVILY_API_KEY": "tvly-test", "CRAG_TAVILY_URL": tavily.url, "OLLAMA_HOST": "127.0.0.1:9"}
        with forked(home_with_notes, CRAG_ALLOW_PRIVATE_URLS="127.0.0.1/32", **settings) as app:
            open_page(page, app)
            ask(page, QUESTION)
            button(page, "Allow").click()
            expect(badge(page, "from the web")).to_be_visible()
            page.get_by_role("link", name="Documents").first.click()
            button(page, "Coverage gaps").click()
            gap = page.get_by_test_id("stMain").locator("[class*=st-key-gap-]")
            expect(gap.get_by_role("heading")).to_have_text(QUESTION)
            expect(gap).to_contain_text("127.0.0.1")
            button(page, "Add to Documents").click()
            expect(gap).to_contain_text("Added to Documents")
            button(page, "Ask again").click()
            expect(page).to_have_url(re.compile(r"\?c="))
            expect(badge(page, "from your documents")).to_be_visible()
            answer = page.get_by_test_id("stChatMessage").last
            expect(answer).to_contain_text("Boston Celtics")
            answer.locator('a[href^="#cite-"]').first.click()
            expect(page.get_by_role("dialog")).to_contain_text(f"Found by a web search for “{QUESTION}”")
            settled(page)
            page.keyboard.press("Escape")
            assert len(tavily.queries) == 1
            open_page(page, f"{app}/gaps")
            expect(page.get_by_test_id("stMain")).to_contain_text("No coverage gaps")
            entries = page.get_by_test_id("stTopNavLink")
            expect(entries.filter(has_text="Documents").locator("span").first).to_have_css("font-weight", "600")
            expect(entries.filter(has_text="Inspect").locator("span").first).to_have_css("font-weight", "400")
