"""A question that has not been sent stays with its conversation and its user, through other pages and reloads."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.e2e.browser import ask, badge, open_page, settled
from tests.e2e.conftest import QUESTION

BEGUN, FOLLOW_UP, SECOND = "When is the", "And what is", "Which beans"


def test_a_draft_stays_with_its_conversation_and_its_user_until_it_is_sent(page: Page, app_with_notes: str):
    box = page.get_by_test_id("stChatInputTextArea")
    open_page(page, app_with_notes)
    box.fill(BEGUN)
    _visit_documents(page)
    expect(box).to_have_value(BEGUN)
    page.reload()
    expect(box).to_have_value(BEGUN)

    ask(page, QUESTION)
    box.fill(FOLLOW_UP)  # while the conversation begins
    expect(badge(page, "from your documents")).to_be_visible()
    expect(box).to_have_value(FOLLOW_UP)
    _press_new(page)
    expect(box).to_have_value("")
    box.fill(SECOND)
    page.go_back()
    expect(badge(page, "from your documents")).to_be_visible()
    expect(box).to_have_value(FOLLOW_UP)
    page.go_forward()
    expect(box).to_have_value(SECOND)

    box.press("Enter")
    expect(page.get_by_test_id("stChatMessage").filter(has_text=SECOND)).to_be_visible()
    _reload_without_draft(page)
    _press_new(page)
    expect(box).to_have_value("")
    box.fill(BEGUN)
    page.evaluate("localStorage.clear()")  # from now on somebody else
    _reload_without_draft(page)
    assert BEGUN not in page.evaluate("JSON.stringify(sessionStorage)")


def _reload_without_draft(page: Page) -> None:
    page.reload()
    box = page.get_by_test_id("stChatInputTextArea")
    expect(box).to_have_attribute("aria-keyshortcuts", "/")  # set after a draft
    expect(box).to_have_value("")


def _visit_documents(page: Page) -> None:
    page.get_by_test_id("stTopNavLink").filter(has_text="Documents").click()
    expect(page.get_by_role("heading", name="Documents", exact=True)).to_be_visible()
    page.get_by_test_id("stTopNavLink").filter(has_text="Chat").click()
    expect(page.get_by_role("heading", name="Ask your documents")).to_be_visible()


def _press_new(page: Page) -> None:
    settled(page)  # a click during a redraw is lost
    page.get_by_test_id("stSidebar").get_by_role("button", name="New").click()
    expect(page.get_by_role("heading", name="Ask your documents")).to_be_visible()
