"""Working with a conversation in a real browser: edit, branches, the next question, citations, feedback."""

from __future__ import annotations

from base64 import b64decode
from collections import deque
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Locator, Page, expect
from reportlab.pdfgen.canvas import Canvas

from crag.app.application import open_application
from crag.options import RunOptions
from crag.settings import Settings
from tests.e2e.accessibility import dialog_violations, violations
from tests.e2e.browser import ask, badge, open_page, settled
from tests.forked import forked

FIRST = "How often is the espresso machine descaled?"
STRONG = (255, 214, 102)
EDITED = "What is the espresso machine descaled with?"
OTHER = "What is the burr grinder in the kitchen cleaned with?"
NEXT = "When is the burr grinder in the kitchen cleaned?"
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
    picture.click()
    expect(picture).to_have_attribute("aria-expanded", "false")


def choose(page: Page, menu: str, option: str) -> None:
    page.get_by_test_id("stChatMessage").last.get_by_role("button", name=menu).click()
    page.get_by_role("menuitem", name=option).click()


def test_a_conversation_is_edited_branched_read_and_rated(page: Page, tmp_path: Path):
    home = tmp_path / "home"
    application = open_application(Settings(home=home, chat_model="builtin", embedder="builtin"))
    application.library.pipeline.add_bytes("guide.pdf", guide())
    application.close()
    with forked(home, OLLAMA_HOST="127.0.0.1:9") as address:
        open_page(page, address)
        box = page.get_by_test_id("stChatInputTextArea")
        expect(box).to_be_focused()
        ask(page, FIRST)
        expect(badge(page, "from your documents")).to_be_visible()
        choose(page, "More", "Edit question")
        editor = page.get_by_role("textbox", name="Edit the question")
        expect(editor).to_be_focused()
        editor.fill(OTHER)
        editor.press("Control+Enter")
        question = page.get_by_test_id("stChatMessage").first
        expect(question).to_contain_text(OTHER)
        expect(question).to_contain_text("Question 2 of 2")
        new_answer = page.get_by_test_id("stChatMessage").last
        expect(new_answer).to_contain_text("dry brush")
        expect(new_answer.get_by_role("button", name="Copy")).to_be_visible()  # while it is written, branches stay
        question.get_by_role("button", name="Previous question").click()
        expect(question).to_contain_text(FIRST)
        expect(question).to_contain_text("Question 1 of 2")

        answer = page.get_by_test_id("stChatMessage").nth(1)
        citation = answer.locator('a[href^="#cite-"]').first
        assert "guide" in (citation.get_attribute("title") or "")
        assert "citric acid" in (citation.get_attribute("title") or "")
        assert "p. 2" in (citation.get_attribute("title") or "")
        for _ in range(2):  # pages turned in the drawer do not matter to the next one
            citation.click()
            drawer = page.get_by_role("dialog")
            expect(drawer).to_contain_text("Sentences of the answer with this source")
            expect(drawer).to_contain_text("Page 2 of 3")
            expect_strong_mark(drawer)
            assert violations(page) == []
            drawer.get_by_role("button", name="Next").click()
            expect(drawer).to_contain_text("Page 3 of 3")
            page.keyboard.press("/")
            expect(box).not_to_be_focused()
            page.keyboard.press("Escape")
            expect(drawer).to_be_hidden()
            settled(page)

        answer.get_by_text("Source of each sentence").click()
        expect(answer.locator(".stMarkdownBadge", has_text="supported").first).to_be_visible()
        settled(page)
        answer.get_by_role("radio", name="Thumbs down").click()
        why = page.get_by_role("dialog")
        why.get_by_role("textbox").fill("It says nothing of the tank")
        assert violations(page) == []
        why.get_by_role("button", name="Send").click()
        expect(answer).to_contain_text("You said: “It says nothing of the tank”")

        for option in ("Copy with sources", "Pin as a test question"):
            choose(page, "More", option)
            assert dialog_violations(page) == [], option

        answer.get_by_role("radio", name=NEXT).or_(answer.get_by_role("button", name=NEXT)).click()
        expect(page.get_by_test_id("stChatMessage")).to_have_count(4)
        expect(page.get_by_test_id("stChatMessage").nth(2)).to_contain_text(NEXT)
        page.keyboard.press("/")
        expect(box).to_be_focused()
        page.keyboard.type("1/2")
        expect(box).to_have_value("1/2")


def test_older_messages_are_not_drawn_again_and_keep_their_place(page: Page, home_with_notes: Path):
    application = open_application(Settings(home=home_with_notes, chat_model="builtin", embedder="builtin"))
    conversation = application.conversations.create()
    for number in range(12):
        deque(application.runs.start(conversation.id, f"Machine {number}: {FIRST}", RunOptions()).follow(), maxlen=0)
    application.close()
    received: list[str | bytes] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda data: received.append(data)))
    with forked(home_with_notes, OLLAMA_HOST="127.0.0.1:9") as address:
        open_page(page, f"{address}/?c={conversation.id}")
        messages = page.get_by_test_id("stChatMessage")
        expect(messages).to_have_count(24)
        last = messages.nth(23)
        expect(last.get_by_role("button", name="Trace")).to_be_visible()
        settled(page)
        received.clear()
        ask(page, EDITED)
        expect(messages.nth(24)).to_contain_text(EDITED)
        expect(messages.nth(25)).to_contain_text("citric acid")
        expect(last.get_by_role("button", name="Trace")).to_have_count(0)
        settled(page)
        sent = b"".join(one if isinstance(one, bytes) else one.encode() for one in received)
        assert b"Machine 11" in sent
        assert b"Machine 2" not in sent
        messages.nth(3).get_by_role("radio", name="Thumbs up").click()
        expect(messages.nth(3)).to_contain_text("Pin as a test question")
        expect(messages).to_have_count(26)
        expect(messages.nth(3)).to_be_in_viewport()  # the page grew, but the reader had left its end
