"""Back and Forward: one history entry for each place."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, WebSocket, expect
from streamlit.proto.BackMsg_pb2 import BackMsg

from crag.server.page_requests import UNKNOWN_PAGE_COOKIE
from tests.e2e.browser import ask, badge, open_page
from tests.e2e.conftest import QUESTION


def test_back_and_forward_lead_through_the_places_that_were_visited(page: Page, app_with_notes: str):
    open_page(page, app_with_notes)
    ask(page, QUESTION)
    expect(badge(page, "from your documents")).to_be_visible()
    conversation = page.url
    page.get_by_role("button", name="Open in Inspect").click()
    page.wait_for_url("**/inspect?run=*")
    run = page.url
    page.get_by_test_id("stTopNavLink").filter(has_text="Documents").click()
    page.wait_for_url("**/documents")
    page.get_by_test_id("stTopNavLink").filter(has_text="Chat").click()
    expect(page).to_have_url(conversation)
    expect(badge(page, "from your documents")).to_be_visible()

    places = [
        (re.compile(r"/documents$"), page.get_by_role("heading", name="Documents")),
        (run, page.get_by_role("heading", name=QUESTION)),
        (conversation, badge(page, "from your documents")),
        (f"{app_with_notes}/", page.get_by_role("heading", name="Ask your documents")),
    ]
    for address, content in places:
        page.go_back()
        expect(content).to_be_visible()
        expect(page).to_have_url(address)
    page.go_forward()
    expect(page).to_have_url(conversation)
    expect(badge(page, "from your documents")).to_be_visible()
    page.go_forward()
    expect(page).to_have_url(run)
    expect(page.get_by_role("heading", name=QUESTION)).to_be_visible()
    page.go_back()
    expect(badge(page, "from your documents")).to_be_visible()
    _follow_the_menu_and_come_back_from_a_note(page, app_with_notes)


def _follow_the_menu_and_come_back_from_a_note(page: Page, address: str) -> None:
    """What the menu under an answer leads to."""
    conversation = page.url
    for action in ("Keep as a note", "Open in Inspect"):
        page.get_by_role("button", name="More").click()
        page.get_by_role("menuitem", name=action).click()
    page.wait_for_url("**/inspect?run=*")
    expect(page.get_by_role("heading", name=QUESTION)).to_be_visible()
    open_page(page, f"{address}/notes")
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Open conversation").click()
    expect(page).to_have_url(conversation)
    expect(badge(page, "from your documents")).to_be_visible()


def open_drawer(page: Page) -> Locator:
    page.get_by_test_id("stChatMessage").last.locator('a[href^="#cite-"]').first.click()
    drawer = page.get_by_role("dialog")
    expect(drawer).to_contain_text("Only this document")
    return drawer


LEAVE_INERT = """() => {  // as Streamlit does at times when it draws a dialog again while that closes
  document.getElementById("root").inert = true
}"""


def test_a_source_drawer_is_no_place_of_its_own_and_text_in_an_open_editor_outlasts_back(
    page: Page, app_with_notes: str
):
    sent: list[BackMsg] = []

    def listen(socket: WebSocket) -> None:
        socket.on("framesent", lambda frame: sent.append(BackMsg.FromString(frame)))

    page.on("websocket", listen)
    open_page(page, app_with_notes)
    ask(page, QUESTION)
    expect(badge(page, "from your documents")).to_be_visible()
    conversation = page.url
    for _ in range(2):
        drawer = open_drawer(page)
        page.go_back()
        expect(drawer).to_be_hidden()
        expect(page).to_have_url(conversation)
    page.get_by_role("button", name="Copy").click()  # fails while the page is inert
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert not any(message.rerun_script.is_history_navigation for message in sent)

    for close in (
        lambda _: page.keyboard.press("Escape"),
        lambda drawer: drawer.get_by_role("button", name="Close").click(),
        lambda _: page.mouse.click(300, 450),  # outside
    ):
        drawer = open_drawer(page)
        close(drawer)
        expect(drawer).to_be_hidden()
    page.evaluate(LEAVE_INERT)
    page.get_by_test_id("stTopNavLink").filter(has_text="Documents").click()  # possible again
    page.wait_for_url("**/documents")

    page.go_back()
    expect(page).to_have_url(conversation)
    expect(badge(page, "from your documents")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="Ask your documents")).to_be_visible()
    expect(page).to_have_url(f"{app_with_notes}/")
    page.go_forward()
    expect(page).to_have_url(conversation)
    expect(badge(page, "from your documents")).to_be_visible()
    page.go_forward()
    expect(page.get_by_role("heading", name="Documents")).to_be_visible()
    page.go_back()
    expect(badge(page, "from your documents")).to_be_visible()
    _edit_go_away_and_cancel(page, conversation)


def _edit_go_away_and_cancel(page: Page, conversation: str) -> None:
    """Text in an open editor outlasts Back and Forward until it is cancelled."""
    editor = page.get_by_role("textbox", name="Edit the question")

    def edit() -> None:
        page.get_by_test_id("stMain").get_by_role("button", name="More").click()
        page.get_by_role("menuitem", name="Edit question").click()

    edit()
    editor.fill("What is the grinder")
    page.go_back()
    expect(page.get_by_role("heading", name="Ask your documents")).to_be_visible()
    page.go_forward()
    expect(page).to_have_url(conversation)
    expect(editor).to_have_value("What is the grinder")
    page.get_by_test_id("stTopNavLink").filter(has_text="Documents").click()
    expect(page.get_by_role("heading", name="Documents", exact=True)).to_be_visible()
    page.go_back()
    expect(editor).to_have_value("What is the grinder")
    page.get_by_role("button", name="Cancel").click()
    expect(editor).to_have_count(0)
    edit()
    expect(editor).to_have_value(QUESTION)


def test_an_address_without_a_page_leads_to_the_start_page_and_says_so(page: Page, app_with_notes: str):
    open_page(page, f"{app_with_notes}/nowhere")
    expect(page.get_by_text("There is no page at this address.")).to_be_visible()
    cookies = {cookie.get("name") for cookie in page.context.cookies()}
    assert UNKNOWN_PAGE_COOKIE not in cookies, "another address would be called unknown, too"
    expect(page).to_have_url(f"{app_with_notes}/")
    open_page(page, f"{app_with_notes}/?c=nothing")
    expect(page.get_by_text("There is no such conversation here.")).to_be_visible()
