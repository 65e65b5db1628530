"""On a phone: the sidebar is closed, and one thing is shown at a time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import PHONE, ask, badge, new_context, open_page, settled, upload
from tests.e2e.conftest import NOTES, QUESTION


@pytest.fixture
def phone(browser: Browser) -> Iterator[Page]:
    context = new_context(
        browser, viewport={"width": 390, "height": 844}, user_agent=PHONE, is_mobile=True, has_touch=True
    )
    yield context.new_page()
    context.close()


def test_a_passage_opens_from_the_trace_under_its_long_title_and_closes_back_to_it(phone: Page, app: str):
    title = "Maintenance of espresso machines and grinders in the kitchens " * 3
    open_page(phone, app)
    upload(phone, "brewing.md", NOTES.replace("Brewing notes", title).encode())
    outcome = phone.get_by_text("Added: 1 passage").bounding_box()
    assert outcome is not None
    assert outcome["height"] < 40  # on one line, not squeezed beside the name

    ask(phone, QUESTION)
    expect(badge(phone, "from your documents")).to_be_visible()
    phone.locator("[class*=trace-of-] button:visible").last.click()
    drawer = phone.get_by_role("dialog")
    expect(drawer).to_contain_text("Grade")
    drawer.locator("[class*=passage-] button:visible").first.click()
    expect(drawer).to_contain_text("Only this document")
    expect(drawer).to_contain_text("citric acid")
    heading = drawer.get_by_role("heading").first
    expect(heading).to_contain_text(title.strip())
    expect(phone.get_by_text("Only this document")).to_be_visible()
    folded = heading.bounding_box()
    assert folded is not None
    assert folded["height"] < 120  # two lines
    heading.get_by_text("Maintenance").tap()
    phone.wait_for_function(
        "([heading, folded]) => heading.getBoundingClientRect().height > 2 * folded",
        arg=[heading.element_handle(), folded["height"]],
    )
    phone.keyboard.press("Escape")
    expect(drawer).to_contain_text("Grade")
    phone.keyboard.press("Escape")
    expect(drawer).to_be_hidden()
    phone.wait_for_function("() => document.documentElement.scrollWidth <= 390")


def test_an_answer_on_a_phone(phone: Page, app_on_ollama: str):
    open_page(phone, app_on_ollama)
    box = phone.get_by_test_id("stChatInputTextArea")
    expect(box).to_have_attribute("aria-keyshortcuts", "/")  # drawn, and left alone: focus would open the keyboard
    expect(box).not_to_be_focused()
    ask(phone, QUESTION)
    expect(badge(phone, "from your documents")).to_be_visible()
    _everything_is_within_reach(phone)
    _back_closes_one_drawer_at_a_time(phone)
    _back_and_a_reload_close_the_sidebar(phone)


def _everything_is_within_reach(phone: Page) -> None:
    chips = phone.locator(".st-key-chip_options button")
    expect(chips).to_be_in_viewport(ratio=1)
    for name in ("Thumbs up", "Thumbs down", "Again", "More", "Upload files", "Main menu", "Expand sidebar"):
        control = phone.locator(f"button[aria-label='{name}'], [data-testid=stMain] button:has-text('{name}')").last
        box_of = control.bounding_box()
        assert box_of is not None
        assert min(box_of["width"], box_of["height"]) >= 40, name

    phone.get_by_test_id("stMain").get_by_role("button", name="More").tap()
    phone.get_by_role("menuitem", name="Edit question").tap()
    editor = phone.get_by_role("textbox", name="Edit the question")
    expect(editor).to_be_focused()
    expect(editor).to_be_in_viewport(ratio=0.9)  # a thin edge is cut by its frame
    header = phone.get_by_test_id("stHeader").bounding_box()
    edited = editor.bounding_box()
    assert header is not None
    assert edited is not None
    assert edited["y"] >= header["height"]

    sidebar = phone.get_by_test_id("stSidebar")
    phone.get_by_test_id("stExpandSidebarButton").tap()
    sidebar.get_by_role("button", name=QUESTION).tap()
    expect(sidebar).to_have_attribute("data-collapsed", "true")
    phone.get_by_role("button", name="Cancel").tap()
    expect(editor).to_have_count(0)


def _back_closes_one_drawer_at_a_time(phone: Page) -> None:
    """And a reload closes the trace."""
    conversation, drawer = phone.url, phone.get_by_role("dialog")
    phone.locator('a[href^="#cite-"]').first.tap()
    expect(drawer).to_contain_text("Only this document")
    phone.go_back()
    expect(drawer).to_be_hidden()

    phone.locator("[class*=trace-of-] button:visible").last.tap()
    expect(drawer).to_contain_text("Grade")
    drawer.locator("[class*=passage-] button:visible").first.tap()
    expect(drawer).to_contain_text("Only this document")
    phone.go_back()
    expect(drawer).to_contain_text("Grade")
    phone.go_back()
    expect(drawer).to_be_hidden()
    expect(phone).to_have_url(conversation)
    expect(badge(phone, "from your documents")).to_be_visible()

    phone.locator("[class*=trace-of-] button:visible").last.tap()
    expect(drawer).to_contain_text("Grade")
    phone.reload()
    expect(badge(phone, "from your documents")).to_be_in_viewport()
    settled(phone)
    expect(drawer).to_have_count(0)


def _back_and_a_reload_close_the_sidebar(phone: Page) -> None:
    """And leave the conversation open."""
    conversation, sidebar = phone.url, phone.get_by_test_id("stSidebar")
    for _ in range(2):
        phone.get_by_role("button", name="Expand sidebar").tap()
        expect(sidebar).to_have_attribute("data-collapsed", "false")
        phone.go_back()
        expect(sidebar).to_have_attribute("data-collapsed", "true")
        expect(phone).to_have_url(conversation)
    phone.go_back()
    expect(phone.get_by_role("heading", name="Ask your documents")).to_be_visible()
    phone.get_by_role("button", name="Expand sidebar").tap()
    expect(sidebar).to_have_attribute("data-collapsed", "false")
    phone.reload()
    expect(phone.get_by_test_id("stChatInputTextArea")).to_be_visible()
    expect(sidebar).to_have_attribute("data-collapsed", "true")


def test_an_answer_is_in_view_on_a_phone_on_its_side(phone: Page, notes_address: str):
    phone.set_viewport_size({"width": 844, "height": 390})
    open_page(phone, notes_address)
    for question in (QUESTION, "When is the grinder cleaned?"):
        ask(phone, question)
        expect(phone.locator('[data-testid="stChatMessage"]', has_text=question)).to_be_attached()
        expect(badge(phone, "from your documents")).to_be_in_viewport()
        expect(phone.locator('a[href^="#cite-"]').last).to_be_in_viewport()
    content, main = (phone.get_by_test_id(name) for name in ("stMainBlockContainer", "stMain"))
    content.evaluate("content => content.style.display = 'none'")
    assert main.evaluate("main => main.scrollTop") == 0
    content.evaluate("content => content.style.display = ''")
    expect(badge(phone, "from your documents")).to_be_in_viewport()


def test_the_badge_of_an_answer_is_below_the_header(phone: Page, notes_address: str):
    phone.set_viewport_size({"width": 390, "height": 640})
    open_page(phone, notes_address)
    for question in (QUESTION, "When is the grinder cleaned?"):
        ask(phone, question)
        expect(phone.get_by_test_id("stChatMessage").filter(has_text=question)).to_be_attached()
        answer = phone.get_by_test_id("stChatMessage").last
        expect(answer.get_by_role("button", name="More")).to_be_attached()
        header, shown = phone.get_by_test_id("stHeader"), answer.locator(".stMarkdownBadge").first
        phone.wait_for_function(
            "([header, shown]) => shown.getBoundingClientRect().top >= header.getBoundingClientRect().bottom",
            arg=[header.element_handle(), shown.element_handle()],
        )


def test_in_a_narrow_window_a_chosen_page_closes_the_sidebar_and_trace_opens_it(browser: Browser, app_on_ollama: str):
    context = new_context(browser, viewport={"width": 390, "height": 844})
    page = open_page(context.new_page(), app_on_ollama)
    expect(page.get_by_test_id("stMainMenuButton")).to_be_in_viewport(ratio=1)
    for name in ("Documents", "Chat"):
        page.get_by_test_id("stExpandSidebarButton").click()
        page.get_by_test_id("stSidebarNavLink").filter(has_text=name).click()
        expect(page.get_by_test_id("stSidebar")).to_have_attribute("data-collapsed", "true")
    ask(page, QUESTION)
    expect(badge(page, "from your documents")).to_be_visible()
    page.locator("[class*=trace-of-] button:visible").last.click()
    expect(page.get_by_test_id("stSidebar")).to_contain_text("Grade")
    expect(page.get_by_test_id("stSidebar")).to_be_in_viewport()
    context.close()
