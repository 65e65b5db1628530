"""Back and Forward: one history entry for each place, none for a drawer, and typed text is kept."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, WebSocket, expect
from streamlit.proto.BackMsg_pb2 import BackMsg

from crag.server.page_requests import UNKNOWN_PAGE_COOKIE
from tests.e2e.browser import ask, badge, copy_answer, open_page
from tests.e2e.conftest import QUESTION

LEAVE_INERT = """() => {  // as Streamlit does at times when it draws a dialog again while that closes
  document.getElementById("root").inert = true
}"""
CLICK_FIRST_CITATION = """new MutationObserver((_, observer) => {
  const citation = document.querySelector('a[href^="#cite-"]')
  if (!citation) return
  observer.disconnect()
  citation.click()
}).observe(document, { childList: true, subtree: true })"""


def test_back_and_forward_lead_through_the_places_that_were_visited(page: Page, app_with_notes: str):
    sent: list[BackMsg] = []

    def listen(socket: WebSocket) -> None:
        socket.on("framesent", lambda frame: sent.append(BackMsg.FromString(frame)))

    page.on("websocket", listen)
    _follow_an_address_without_a_page(page, app_with_notes)
    ask(page, QUESTION)
    expect(badge(page, "from your documents")).to_be_visible()
    conversation = page.url
    _open_and_close_a_drawer(page)
    assert not any(message.rerun_script.is_history_navigation for message in sent)

    page.evaluate(LEAVE_INERT)
    page.get_by_role("button", name="Open in Inspect").click()  # possible again
    page.wait_for_url("**/inspect?run=*")
    run = page.url
    page.get_by_test_id("stTopNavLink").filter(has_text="Chat").click()
    expect(page).to_have_url(conversation)
    editor = _edit_question(page)
    editor.fill("What is the grinder")
    page.go_back()
    expect(page.get_by_role("heading", name=QUESTION)).to_be_visible()
    expect(page).to_have_url(run)
    page.go_back()
    expect(page).to_have_url(conversation)
    expect(editor).to_have_value("What is the grinder")
    page.go_back()
    expect(page.get_by_role("heading", name="Ask your documents")).to_be_visible()
    expect(page).to_have_url(f"{app_with_notes}/")
    page.go_forward()
    expect(page).to_have_url(conversation)
    expect(editor).to_have_value("What is the grinder")
    page.get_by_role("button", name="Cancel", exact=True).click()
    expect(editor).to_have_count(0)
    expect(_edit_question(page)).to_have_value(QUESTION)
    _go_back_while_typing_on_another_page(page)
    _click_a_citation_as_soon_as_it_is_drawn(page)


def _follow_an_address_without_a_page(page: Page, address: str) -> None:
    open_page(page, f"{address}/nowhere")
    expect(page.get_by_text("There is no page at this address.")).to_be_visible()
    cookies = {cookie.get("name") for cookie in page.context.cookies()}
    assert UNKNOWN_PAGE_COOKIE not in cookies, "another address would be called unknown, too"
    expect(page).to_have_url(f"{address}/")


def _open_and_close_a_drawer(page: Page) -> None:
    """By Back, by Esc, by its button and by a click outside, without a change of place."""
    conversation = page.url
    for close in (
        lambda _: page.go_back(),
        lambda _: page.keyboard.press("Escape"),
        lambda drawer: drawer.get_by_role("button", name="Close").click(),
        lambda _: page.mouse.click(300, 450),  # outside
    ):
        drawer = _open_drawer(page)
        close(drawer)
        expect(drawer).to_be_hidden()
        expect(page).to_have_url(conversation)
    copy_answer(page, "six weeks")  # fails while the page is inert


def _open_drawer(page: Page) -> Locator:
    page.get_by_test_id("stChatMessage").last.locator('a[href^="#cite-"]').first.click()
    drawer = page.get_by_role("dialog")
    expect(drawer).to_contain_text("Only this document")
    return drawer


def _edit_question(page: Page) -> Locator:
    """Open the editor below the question."""
    page.get_by_test_id("stMain").get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Edit question").click()
    return page.get_by_role("textbox", name="Edit the question")


def _go_back_while_typing_on_another_page(page: Page) -> None:
    """The browser sends what was typed after it has gone back."""
    conversation, addresses = page.url, page.get_by_role("textbox", name="Add web pages")
    page.get_by_test_id("stTopNavLink").filter(has_text="Documents").click()
    addresses.fill("https://example.org/report")
    page.go_back()
    expect(badge(page, "from your documents")).to_be_visible()
    expect(page).to_have_url(conversation)


def _click_a_citation_as_soon_as_it_is_drawn(page: Page) -> None:
    """Before the page listens to clicks: the browser follows the link by itself."""
    conversation, drawer = page.url, page.get_by_role("dialog")
    page.add_init_script(CLICK_FIRST_CITATION)
    page.reload()
    expect(drawer).to_contain_text("citric acid")
    expect(page).to_have_url(conversation)
    page.go_back()
    expect(drawer).to_be_hidden()
    expect(page).to_have_url(conversation)
    page.go_back()
    expect(page.get_by_role("heading", name="Ask your documents")).to_be_visible()
