"""A conversation in a real browser: older messages stay in place, a citation opens its page, a question is edited."""

from __future__ import annotations

from base64 import b64decode
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Locator, Page, expect
from reportlab.pdfgen.canvas import Canvas

from tests import applications
from tests.applications import opened_with
from tests.e2e.accessibility import choose, dialog_violations, violations
from tests.e2e.browser import ask, open_page, settled
from tests.forked import forked

FIRST = "How often is the espresso machine descaled?"
STRONG = (255, 214, 102)
OTHER = "What is the burr grinder in the kitchen cleaned with?"
ASKED = 8  # questions that have been asked already
PAGES = {
    "Espresso machine": "The espresso machine in the kitchen is descaled every six weeks with citric acid.",
    "Grinder care": "The burr grinder in the kitchen is cleaned on Fridays with a dry brush.",
}


def guide() -> bytes:
    """A cover whose passage goes on on page 2, then two pages with a heading, each too long for one passage."""
    written = BytesIO()
    canvas = Canvas(written)
    canvas.drawString(72, 720, "This is the handbook of the kitchen. Read it before your first shift.")
    canvas.showPage()
    for heading, line in PAGES.items():
        canvas.setFont("Helvetica-Bold", 18)
        canvas.drawString(72, 760, heading)
        canvas.setFont("Helvetica", 11)
        steps = [
            f"Step {number} takes {number} minutes, a soft cloth and some patience at the end." for number in range(20)
        ]
        for row, text in enumerate([line, *steps]):
            canvas.drawString(72, 720 - 18 * row, text)
        canvas.showPage()
    canvas.save()
    return written.getvalue()


def expect_strong_mark(drawer: Locator) -> None:
    """The picture in the drawer has a place marked strongly; it is in view, also enlarged, which scrolls to it."""
    picture = drawer.get_by_role("button", name="Page 2 of guide")
    expect(picture).to_be_in_viewport()
    source = picture.locator("img").get_attribute("src") or ""
    image = Image.open(BytesIO(b64decode(source.partition(",")[2]))).convert("RGB")
    marked = np.argwhere((np.asarray(image) == STRONG).all(axis=2))
    assert len(marked)
    usual = picture.bounding_box()
    picture.click()
    expect(picture).to_have_attribute("aria-expanded", "true")
    frame, enlarged = picture.locator("..").bounding_box(), picture.bounding_box()
    assert usual
    assert frame
    assert enlarged
    assert enlarged["width"] > 1.5 * usual["width"]
    for side, length, place in (
        ("y", "height", marked[0][0] / image.height),
        ("x", "width", marked[0][1] / image.width),
    ):
        assert frame[side] <= enlarged[side] + place * enlarged[length] <= frame[side] + frame[length]
    expect_touch_pans(picture)
    picture.click()
    expect(picture).to_have_attribute("aria-expanded", "false")


def expect_touch_pans(picture: Locator) -> None:
    """A finger moves the enlarged picture in its frame, and from the end of that on the drawer."""
    page, frame = picture.page, picture.locator("..")
    frame.evaluate("frame => frame.scrollTo(0, 0)")
    top = frame.evaluate("frame => frame.getBoundingClientRect().top")
    swipe(page, across=-120)
    page.wait_for_function("frame => frame.scrollLeft > 60", arg=frame.element_handle())
    swipe(page, down=120)
    page.wait_for_function(
        "([frame, top]) => frame.getBoundingClientRect().top > top + 60", arg=[frame.element_handle(), top]
    )


def swipe(page: Page, across: int = 0, down: int = 0) -> None:
    """Move a finger over the right half of the window."""
    device = page.context.new_cdp_session(page)
    device.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
    device.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": 1100, "y": 600}]})
    for step in range(1, 11):
        point = {"x": 1100 + across * step / 10, "y": 600 + down * step / 10}
        device.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [point]})
    device.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    device.send("Emulation.setTouchEmulationEnabled", {"enabled": False})


def test_older_messages_stay_a_citation_opens_its_page_and_a_question_is_edited(page: Page, tmp_path: Path):
    home = tmp_path / "home"
    with opened_with(home, {"guide.pdf": guide()}) as application:
        conversation = application.conversations.create()
        for number in range(ASKED):
            applications.ask(application, f"Machine {number}: {FIRST}", conversation.id)
    received: list[str | bytes] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda data: received.append(data)))
    with forked(home, OLLAMA_HOST="127.0.0.1:9") as address:
        open_page(page, f"{address}/?c={conversation.id}")
        _ask_below_older_messages(page, received)
        _turn_the_pages_of_a_citation(page)
        _edit_the_question(page)
        _dialogs_of_an_answer_are_accessible(page)


def _ask_below_older_messages(page: Page, received: list[str | bytes]) -> None:
    messages = page.get_by_test_id("stChatMessage")
    expect(messages).to_have_count(2 * ASKED)
    last = messages.nth(2 * ASKED - 1)
    expect(last.get_by_role("button", name="Trace")).to_be_visible()
    box = page.get_by_test_id("stChatInputTextArea")
    expect(box).to_be_focused()
    settled(page)
    received.clear()
    ask(page, FIRST)
    expect(messages.nth(2 * ASKED)).to_contain_text(FIRST)
    expect(messages.nth(2 * ASKED + 1)).to_contain_text("citric acid")
    expect(last.get_by_role("button", name="Trace")).to_have_count(0)
    settled(page)
    sent = b"".join(one if isinstance(one, bytes) else one.encode() for one in received)
    assert f"Machine {ASKED - 1}".encode() in sent
    assert b"Machine 2" not in sent
    messages.nth(3).get_by_role("radio", name="Thumbs up").click()
    expect(messages.nth(3)).to_contain_text("Pin as a test question")
    expect(messages).to_have_count(2 * ASKED + 2)
    expect(messages.nth(3)).to_be_in_viewport()  # the page grew, but the reader had left its end


def _turn_the_pages_of_a_citation(page: Page) -> None:
    """The page with the quote is shown and marked; keys in the drawer do not reach the page below."""
    citation = page.get_by_test_id("stChatMessage").last.locator('a[href^="#cite-"]').first
    title = citation.get_attribute("title") or ""
    assert all(words in title for words in ("guide", "citric acid", "p. 2")), title
    citation.click()
    drawer, box = page.get_by_role("dialog"), page.get_by_test_id("stChatInputTextArea")
    expect(drawer).to_contain_text("2 of 3")
    expect_strong_mark(drawer)
    assert violations(page) == []
    drawer.get_by_role("button", name="Next page").click()
    expect(drawer).to_contain_text("3 of 3")
    page.keyboard.press("/")
    expect(box).not_to_be_focused()
    page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()
    settled(page)
    page.keyboard.press("/")
    expect(box).to_be_focused()
    page.keyboard.type("1/2")
    expect(box).to_have_value("1/2")


def _edit_the_question(page: Page) -> None:
    messages = page.get_by_test_id("stChatMessage")
    messages.last.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Edit question").click()
    editor = page.get_by_role("textbox", name="Edit the question")
    expect(editor).to_be_focused()
    editor.fill(OTHER)
    editor.press("Control+Enter")
    expect(messages.nth(2 * ASKED)).to_contain_text(OTHER)
    expect(messages.nth(2 * ASKED)).to_contain_text("Question 2 of 2")
    expect(messages.last).to_contain_text("dry brush")


def _dialogs_of_an_answer_are_accessible(page: Page) -> None:
    answer = page.get_by_test_id("stChatMessage").last
    expect(answer.get_by_role("button", name="More")).to_be_visible()
    for option in ("Copy with sources", "Pin as a test question"):
        choose(page, "More", option)
        assert dialog_violations(page) == [], option
    settled(page)
    answer.get_by_role("radio", name="Thumbs down").click()
    assert dialog_violations(page) == []
