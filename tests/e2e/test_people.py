"""Two users with a browser each on one server, and the list of conversations by keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from crag.app.application import open_application
from crag.options import RunOptions
from crag.settings import Settings
from tests.e2e.accessibility import choose, dialog_violations, press, violations
from tests.e2e.browser import ask, badge, new_context, open_page, settled
from tests.e2e.conftest import QUESTION
from tests.forked import forked

FORMER_KEY = "f" * 43

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
    """A page in the browser of somebody else."""
    context = new_context(browser, viewport={"width": 1440, "height": 900})
    yield context.new_page()
    context.close()


def test_each_of_two_people_sees_their_own_conversations(page: Page, other: Page, app_with_notes: str):
    open_page(page, app_with_notes)
    ask(page, QUESTION)
    expect(badge(page, "from your documents")).to_be_visible()
    assert not [cookie for cookie in page.context.cookies(app_with_notes) if cookie.get("name") == "crag_person"]

    open_page(other, page.url)
    expect(other.get_by_text("There is no such conversation here.")).to_be_visible()
    other.get_by_role("button", name="New conversation").click()
    expect(other).to_have_url(f"{app_with_notes}/")
    other.get_by_text("History", exact=True).click()
    expect(other.get_by_text("Your conversations appear here.")).to_be_visible()
    other.get_by_label("Search conversations").first.fill("espresso")
    expect(other.get_by_text("No conversations found.")).to_be_visible()

    page.reload()
    page.get_by_text("History", exact=True).click()
    row = page.get_by_test_id("stSidebar").get_by_role("button", name=QUESTION)
    expect(row).to_be_visible()
    _delete_and_take_back_by_keyboard(page)
    expect(row).to_be_visible()
    expect(page.get_by_test_id("stChatMessage").first).to_contain_text(QUESTION)
    _export_and_leave_by_keyboard(page)


def test_a_browser_that_stores_nothing_works_until_its_tab_is_closed(other: Page, notes_address: str):
    other.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw new Error('blocked') } })")
    open_page(other, notes_address)
    ask(other, QUESTION)
    expect(badge(other, "from your documents")).to_be_visible()
    other.get_by_text("History", exact=True).click()
    expect(other.get_by_role("button", name=QUESTION)).to_be_visible()
    expect(other.get_by_text("This browser does not remember who you are")).to_be_visible()


def test_conversations_of_a_former_cookie_go_to_the_first_browser_that_comes_with_it(
    page: Page, other: Page, home_with_notes: Path
):
    application = open_application(Settings(home=home_with_notes, chat_model="builtin", embedder="builtin"))
    conversation = application.conversations.for_user(FORMER_KEY).create().id
    list(application.runs.start(conversation, QUESTION, RunOptions(web="off")).follow())
    application.close()
    with forked(home_with_notes, OLLAMA_HOST="127.0.0.1:9") as address:
        for one in (page, other):
            one.context.add_cookies([{"name": "crag_person", "value": FORMER_KEY, "url": address, "httpOnly": True}])
        for _ in range(2):
            open_page(page, f"{address}/?c={conversation}")
            expect(page.get_by_test_id("stChatMessage").first).to_contain_text(QUESTION)
            assert not [cookie for cookie in page.context.cookies() if cookie.get("name") == "crag_person"]
        open_page(other, f"{address}/?c={conversation}")
        expect(other.get_by_text("There is no such conversation here.")).to_be_visible()


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
    with page.expect_download():
        page.get_by_role("dialog").get_by_role("button", name="Markdown").locator("visible=true").click()
    assert violations(page) == []
    page.evaluate("document.activeElement.blur()")  # as it does where the button is disabled while busy
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    choose(page, "Edit", "Rename")
    assert dialog_violations(page) == []
    press(page, "Import")
    assert dialog_violations(page) == []
