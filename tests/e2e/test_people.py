"""Two users with a browser each on one server, and the list of conversations by keyboard."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.accessibility import choose, dialog_violations, press, violations
from tests.e2e.browser import ask, badge, new_context, open_page, settled
from tests.e2e.conftest import FORMER_KEY, QUESTION

CANCEL_TRANSITIONS = """async () => {  // of two properties at once, as a pointer does that only passes over a button
    const nextFrame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
    const passed = document.body.appendChild(document.createElement("span"))
    passed.style.transition = "color 99s, background-color 99s"
    await nextFrame()
    passed.style.color = passed.style.backgroundColor = "red"
    await nextFrame()
    passed.style.display = "none"
    await nextFrame()
}"""


@pytest.fixture
def other(browser: Browser) -> Iterator[Page]:
    """A page in the browser of somebody else, which stores nothing."""
    context = new_context(browser, viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw new Error('blocked') } })")
    yield page
    context.close()


def test_each_of_two_people_sees_their_own_conversations(page: Page, other: Page, app_with_notes: str):
    former = {"name": "crag_person", "value": FORMER_KEY, "url": app_with_notes, "httpOnly": True}
    page.context.add_cookies([former])
    open_page(page, app_with_notes)
    page.get_by_text("History", exact=True).click()
    row = page.get_by_test_id("stSidebar").get_by_role("button", name=QUESTION)
    row.click()
    expect(page.get_by_test_id("stChatMessage").first).to_contain_text(QUESTION)
    assert not [cookie for cookie in page.context.cookies() if cookie.get("name") == "crag_person"]

    open_page(other, page.url)
    expect(other.get_by_text("There is no such conversation here.")).to_be_visible()
    other.get_by_role("button", name="New conversation").click()
    expect(other).to_have_url(f"{app_with_notes}/")
    settled(other)
    ask(other, "When is the grinder cleaned?")
    expect(badge(other, "from your documents")).to_be_visible()
    settled(other)
    other.get_by_text("History", exact=True).click()
    expect(other.get_by_role("button", name="When is the grinder cleaned?")).to_be_visible()
    expect(other.get_by_text("This browser does not remember who you are")).to_be_visible()
    other.get_by_label("Search conversations").first.fill("espresso")
    expect(other.get_by_text("No conversations found.")).to_be_visible()

    _delete_and_take_back_by_keyboard(page)
    expect(row).to_be_visible()
    expect(page.get_by_test_id("stChatMessage").first).to_contain_text(QUESTION)
    _export_and_leave_by_keyboard(page)


def _delete_and_take_back_by_keyboard(page: Page) -> None:
    """From the search field on by Tab, Enter and the arrows alone."""
    settled(page)
    page.evaluate(CANCEL_TRANSITIONS)
    page.get_by_label("Search conversations").first.focus()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name=QUESTION)).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("[role=menu]:focus-within")).to_be_visible()  # itself or its first entry
    page.keyboard.press("End")
    expect(page.get_by_role("menuitem", name="Delete")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Deleted “")).to_be_visible()
    settled(page)  # a redraw takes the focus away
    undo = page.get_by_role("button", name="Undo")
    undo.focus()
    expect(undo).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Deleted “")).to_be_hidden()


def _export_and_leave_by_keyboard(page: Page) -> None:
    """The button that hands a file over loses the focus; Esc leaves its dialog all the same."""
    settled(page)
    page.get_by_role("button", name="Edit").locator("visible=true").first.click()
    page.get_by_role("menuitem", name="Export").click()
    with page.expect_download() as handed:
        page.get_by_role("dialog").get_by_role("button", name="Markdown").locator("visible=true").click()
    assert QUESTION in handed.value.path().read_text(encoding="utf-8")
    assert page.request.get(handed.value.url).status == 200
    assert httpx.get(handed.value.url).status_code == 404, "its address alone opens nothing"
    assert violations(page) == []
    page.evaluate("document.activeElement.blur()")  # as it does where the button is disabled while busy
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    choose(page, "Edit", "Rename")
    assert dialog_violations(page) == []
    press(page, "Import")
    assert dialog_violations(page) == []
