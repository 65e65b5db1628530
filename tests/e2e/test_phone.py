"""What is different on a phone: the sidebar is closed, and there is room for one thing at a time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import PHONE, ask, badge, open_page, upload
from tests.e2e.conftest import NOTES, QUESTION


@pytest.fixture
def phone(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, user_agent=PHONE, is_mobile=True, has_touch=True
    )
    yield context.new_page()
    context.close()


def test_a_passage_opens_from_the_trace_and_closing_it_leads_back(phone: Page, app: str):
    open_page(phone, app)
    upload(phone, "brewing.md", NOTES.encode())
    outcome = phone.get_by_text("Added: 1 passage").bounding_box()
    assert outcome is not None
    assert outcome["height"] < 40  # on one line, not squeezed beside the name

    ask(phone, QUESTION)
    expect(badge(phone, "from your documents")).to_be_visible()
    phone.locator("[class*=trace-of-] button:visible").last.click()
    drawer = phone.get_by_role("dialog")
    expect(drawer).to_contain_text("Grade passages")
    drawer.locator("[class*=passage-] button:visible").first.click()
    expect(drawer).to_contain_text("Only this document")
    expect(drawer).to_contain_text("citric acid")
    phone.keyboard.press("Escape")
    expect(drawer).to_contain_text("Grade passages")
    phone.keyboard.press("Escape")
    expect(drawer).to_be_hidden()
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
