"""On a phone or in a narrow window: the sidebar is closed, and one thing is shown at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.applications import opened_with
from tests.e2e.browser import PHONE, ask, badge, new_context, open_page, settled, upload
from tests.e2e.conftest import LONG_TITLE, NOTES, QUESTION
from tests.e2e.test_messages import guide
from tests.forked import forked

LONG_COLLECTION = "Correspondence with the harbour administration about dredging the north channel"
BOILER_QUESTION = "When is the boiler inspected?"


@pytest.fixture
def phone(browser: Browser) -> Iterator[Page]:
    context = new_context(
        browser, viewport={"width": 390, "height": 844}, user_agent=PHONE, is_mobile=True, has_touch=True
    )
    yield context.new_page()
    context.close()


def test_a_conversation_on_a_phone_held_upright_and_on_its_side(phone: Page, notes_address: str):
    open_page(phone, notes_address)
    box = phone.get_by_test_id("stChatInputTextArea")
    expect(box).to_have_attribute("aria-keyshortcuts", "/")  # drawn, and left alone: focus would open the keyboard
    expect(box).not_to_be_focused()
    ask(phone, BOILER_QUESTION)
    expect(badge(phone, "from your documents")).to_be_visible()
    expect(box).not_to_be_focused()
    bar = phone.get_by_test_id("stBottomBlockContainer").bounding_box()
    assert bar is not None
    assert bar["height"] <= 130
    _everything_is_within_reach(phone)
    _long_title_is_folded_and_back_closes_one_drawer_at_a_time(phone)
    _sidebar_is_closed_by_back_and_by_a_reload(phone)
    _answer_is_in_view(phone)


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
    sidebar.get_by_role("button", name=BOILER_QUESTION).tap()
    expect(sidebar).to_have_attribute("data-collapsed", "true")
    phone.get_by_role("button", name="Cancel", exact=True).tap()
    expect(editor).to_have_count(0)


def _long_title_is_folded_and_back_closes_one_drawer_at_a_time(phone: Page) -> None:
    conversation, drawer = phone.url, phone.get_by_role("dialog")
    settled(phone)
    phone.locator("[class*=trace-of-] button:visible").last.click()
    expect(drawer).to_contain_text("Grade")
    drawer.locator("[class*=passage-] button:visible").filter(has_text="boilers").click()
    expect(drawer).to_contain_text("Only this document")
    heading = drawer.get_by_role("heading").first
    expect(heading).to_contain_text(LONG_TITLE.strip())
    folded = heading.bounding_box()
    assert folded is not None
    assert folded["height"] < 120  # two lines
    heading.get_by_text("Maintenance").tap()
    phone.wait_for_function(
        "([heading, folded]) => heading.getBoundingClientRect().height > 2 * folded",
        arg=[heading.element_handle(), folded["height"]],
    )
    phone.wait_for_function("() => document.documentElement.scrollWidth <= 390")
    phone.go_back()
    expect(drawer).to_contain_text("Grade")
    phone.go_back()
    expect(drawer).to_be_hidden()
    expect(phone).to_have_url(conversation)
    expect(badge(phone, "from your documents")).to_be_visible()


def _sidebar_is_closed_by_back_and_by_a_reload(phone: Page) -> None:
    """And the conversation stays open."""
    conversation, sidebar = phone.url, phone.get_by_test_id("stSidebar")
    for close in (phone.go_back, phone.reload):
        phone.get_by_role("button", name="Expand sidebar").tap()
        expect(sidebar).to_have_attribute("data-collapsed", "false")
        close()
        expect(sidebar).to_have_attribute("data-collapsed", "true")
        expect(phone).to_have_url(conversation)
    expect(badge(phone, "from your documents")).to_be_in_viewport()


def _answer_is_in_view(phone: Page) -> None:
    """The badge of a new answer is below the header, and in view on a phone on its side."""
    phone.set_viewport_size({"width": 390, "height": 640})
    ask(phone, QUESTION)
    expect(phone.get_by_test_id("stChatMessage").filter(has_text=QUESTION)).to_be_attached()
    answer = phone.get_by_test_id("stChatMessage").last
    expect(answer.get_by_role("button", name="More")).to_be_attached()
    header, shown = phone.get_by_test_id("stHeader"), answer.locator(".stMarkdownBadge").first
    phone.wait_for_function(
        "([header, shown]) => shown.getBoundingClientRect().top >= header.getBoundingClientRect().bottom",
        arg=[header.element_handle(), shown.element_handle()],
    )

    phone.set_viewport_size({"width": 844, "height": 390})
    ask(phone, "When is the grinder cleaned?")
    expect(phone.get_by_test_id("stChatMessage").filter(has_text="grinder cleaned?")).to_be_attached()
    expect(badge(phone, "from your documents")).to_be_in_viewport()
    expect(phone.locator('a[href^="#cite-"]').last).to_be_in_viewport()
    content, main = (phone.get_by_test_id(name) for name in ("stMainBlockContainer", "stMain"))
    content.evaluate("content => content.style.display = 'none'")
    assert main.evaluate("main => main.scrollTop") == 0
    content.evaluate("content => content.style.display = ''")
    expect(badge(phone, "from your documents")).to_be_in_viewport()


def test_a_citation_on_a_phone_opens_its_page_in_view_and_turns_in_place(phone: Page, tmp_path: Path):
    home = tmp_path / "home"
    with opened_with(home, {"guide.pdf": guide()}) as application:
        application.library.create_collection(LONG_COLLECTION)
    with forked(home, OLLAMA_HOST="127.0.0.1:9") as address:
        open_page(phone, address)
        phone.locator(".st-key-chip_collection button").tap()
        expect(phone.get_by_role("menuitem", name=LONG_COLLECTION[:40])).to_be_in_viewport(ratio=1)
        phone.keyboard.press("Escape")
        ask(phone, "How often is the espresso machine descaled?")
        phone.locator('a[href^="#cite-"]').first.tap()
        _cited_page_is_in_view_and_turned(phone)
        open_page(phone, f"{address}/documents")
        expect(phone.get_by_test_id("stDataFrame")).to_be_in_viewport(ratio=1)


def _cited_page_is_in_view_and_turned(phone: Page) -> None:
    drawer = phone.get_by_role("dialog")
    picture = drawer.get_by_role("button", name="Page 2 of guide")
    expect(picture).to_be_in_viewport()
    shown, close = picture.bounding_box(), drawer.get_by_role("button", name="Close").bounding_box()
    assert shown is not None
    assert shown["y"] < 844 / 2
    assert close is not None
    assert min(close["width"], close["height"]) >= 44
    buttons = [drawer.get_by_role("button", name=name) for name in ("Previous page", "Next page")]
    places = [button.bounding_box() for button in buttons]
    buttons[1].tap()
    expect(drawer).to_contain_text("3 of 3")
    expect(drawer.get_by_role("button", name="Page 3 of guide")).to_be_in_viewport()
    assert [button.bounding_box() for button in buttons] == places


def test_in_a_narrow_window_a_choice_closes_the_sidebar_and_trace_opens_it(page: Page, app_with_notes: str):
    page.set_viewport_size({"width": 390, "height": 844})
    open_page(page, app_with_notes)
    sidebar = page.get_by_test_id("stSidebar")
    expect(page.get_by_test_id("stMainMenuButton")).to_be_in_viewport(ratio=1)
    page.get_by_test_id("stExpandSidebarButton").click()
    page.get_by_test_id("stSidebarNavLink").filter(has_text="Documents").click()
    expect(sidebar).to_have_attribute("data-collapsed", "true")
    expect(page.get_by_role("heading", name="Documents", exact=True)).to_be_visible()
    settled(page)
    upload(page, "brewing.md", NOTES.encode())
    outcome = page.get_by_text("Unchanged: already added").bounding_box()
    assert outcome is not None
    assert outcome["width"] > 200  # on a line of its own, not squeezed beside the name
    page.get_by_text("Dismiss all").click()
    expect(page.get_by_text("Dismiss all")).to_have_count(0)

    page.get_by_test_id("stExpandSidebarButton").click()
    page.get_by_test_id("stSidebarNavLink").filter(has_text="Chat").click()
    expect(sidebar).to_have_attribute("data-collapsed", "true")
    ask(page, QUESTION)
    expect(badge(page, "from your documents")).to_be_visible()
    page.locator("[class*=trace-of-] button:visible").last.click()
    expect(sidebar).to_contain_text("Grade")
    expect(sidebar).to_be_in_viewport()
    settled(page)
    sidebar.get_by_role("button", name="New").click()
    expect(sidebar).to_have_attribute("data-collapsed", "true")
    expect(page.get_by_role("heading", name="Ask your documents")).to_be_in_viewport()
    _page_leads_to_the_list_in_its_closed_sidebar(page, app_with_notes)


def _page_leads_to_the_list_in_its_closed_sidebar(page: Page, address: str) -> None:
    sidebar = page.get_by_test_id("stSidebar")
    open_page(page, f"{address}/settings")
    opener = page.get_by_test_id("stMain").get_by_role("button", name="All settings")
    opener.click()
    expect(sidebar).to_have_attribute("data-collapsed", "false")
    settled(page)
    sidebar.get_by_role("button", name="Privacy").click()
    expect(sidebar).to_have_attribute("data-collapsed", "true")
    expect(page.get_by_role("heading", name="Privacy")).to_be_in_viewport()
    expect(opener).to_be_visible()
    page.set_viewport_size({"width": 1440, "height": 900})
    expect(opener).to_be_hidden()
