"""Take the pictures of docs/screenshots: `python -m tests.e2e.screenshots`, run by hand.

The model server is the scripted one of the tests, so the answers are its own; everything else is real.
"""

from __future__ import annotations

import io
import json
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from tests.doubles.little_model import answer_like_a_little_model
from tests.doubles.ollama import ScriptedOllama
from tests.doubles.ollama_values import Asked, Say
from tests.e2e.browser import ask, badge, launch, new_screen, open_page, settled, upload
from tests.e2e.conftest import NOTES, QUESTION
from tests.e2e.test_charts_and_tables import ROWS, upload_dataset
from tests.served import ROOT, served

TARGET = ROOT / "docs" / "screenshots"
UNANSWERED = "Who won the 2024 NBA finals?"


def slow(asked: Asked) -> Say:
    """The little model, at the pace of a real one."""
    return Say(answer_like_a_little_model(asked), first_token_after=0.4, per_token=0.12 if asked.writes else 0)


def main() -> None:
    """Every picture, in both themes and on a phone."""
    TARGET.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, ScriptedOllama(script=slow) as ollama:
        browser = launch(playwright)
        for scheme in ("light", "dark"):
            with (
                tempfile.TemporaryDirectory() as home,
                served(Path(home), OLLAMA_HOST=ollama.url, CRAG_PEOPLE="one") as address,
            ):
                _take(browser, address, scheme)
        browser.close()


def _take(browser: Browser, address: str, scheme: str) -> None:
    page = new_screen(browser, scheme).new_page()
    open_page(page, address)
    _shot(page, f"start-{scheme}-1440")
    upload(page, "brewing.md", NOTES.encode())
    page.get_by_text("Dismiss all").click()
    _documents(page, address, scheme)
    open_page(page, address)
    ask(page, QUESTION)
    page.get_by_test_id("stChatMessage").last.get_by_text("machine in the kitchen").wait_for()
    _shot(page, f"chat-running-{scheme}-1440", wait=False)
    page.get_by_test_id("stChatMessage").last.get_by_role("button", name="More").wait_for()
    _shot(page, f"chat-answer-{scheme}-1440")
    page.locator('a[href^="#cite-"]').first.click()
    page.get_by_role("dialog").wait_for()
    _shot(page, f"chat-source-{scheme}-1440")
    page.keyboard.press("Escape")
    ask(page, UNANSWERED)
    badge(page, "not found in your documents").wait_for()
    _shot(page, f"chat-not-answered-{scheme}-1440")
    _phone(browser, page.url, scheme)
    _inside(page, address, scheme)
    _evaluate(page, address, scheme)
    open_page(page, f"{address}/settings")
    page.get_by_text("loaded on GPU").wait_for()
    _shot(page, f"settings-{scheme}-1440")
    page.context.close()


def _documents(page: Page, address: str, scheme: str) -> None:
    """The documents while they are read and afterwards, and what a question finds in them."""
    open_page(page, f"{address}/documents")
    report = {"name": "Annual report 2025.pdf", "mimeType": "application/pdf", "buffer": _report()}
    empty = {"name": "meeting notes.txt", "mimeType": "text/plain", "buffer": b""}
    page.locator("input[type=file]").first.set_input_files([report, empty])
    page.get_by_test_id("stProgress").first.wait_for()
    _shot(page, f"documents-adding-{scheme}-1440", wait=False)
    page.get_by_text("Dismiss all").wait_for(timeout=120_000)
    _shot(page, f"documents-{scheme}-1440")
    open_page(page, f"{address}/retrieval")
    page.get_by_label("Question or words").fill(QUESTION)
    page.keyboard.press("Enter")
    page.get_by_text("found in").wait_for()
    _shot(page, f"retrieval-{scheme}-1440")


def _inside(page: Page, address: str, scheme: str) -> None:
    """One run laid open, and what the documents do not cover."""
    open_page(page, f"{address}/inspect")
    page.get_by_role("button", name=QUESTION).first.click()
    page.get_by_text("Verdicts").first.wait_for()
    page.locator("[data-testid=stVegaLiteChart] canvas, [data-testid=stVegaLiteChart] svg").first.wait_for()
    _shot(page, f"inspect-{scheme}-1440")
    open_page(page, f"{address}/gaps")
    page.get_by_text(UNANSWERED).first.wait_for()
    _shot(page, f"gaps-{scheme}-1440")


def _evaluate(page: Page, address: str, scheme: str) -> None:
    """Take the pictures of an evaluation."""
    open_page(page, f"{address}/evaluate")
    upload_dataset(page, "\n".join(map(json.dumps, ROWS)).encode())
    page.get_by_test_id("stMain").get_by_text(f"{len(ROWS)} questions").wait_for()
    page.get_by_role("button", name="Run", exact=True).locator("visible=true").click()
    page.get_by_role("button", name="Run again").locator("visible=true").wait_for(timeout=120_000)
    _shot(page, f"evaluate-{scheme}-1440")


def _report() -> bytes:
    """A document long enough that its reading can be watched."""
    from reportlab.pdfgen.canvas import Canvas

    file = io.BytesIO()
    canvas = Canvas(file)
    for number in range(1, 341):
        for line in range(40):
            canvas.drawString(60, 780 - 18 * line, f"Page {number}, line {line + 1}: revenue of the quarter rose.")
        canvas.showPage()
    canvas.save()
    return file.getvalue()


def _phone(browser: Browser, address: str, scheme: str) -> None:
    page = new_screen(browser, scheme, phone=True).new_page()
    open_page(page, address)
    _shot(page, f"phone-chat-{scheme}-390")
    page.locator("[class*=trace-of-] button:visible").last.click()
    page.get_by_role("dialog").wait_for()
    _shot(page, f"phone-trace-{scheme}-390")
    page.context.close()


def _shot(page: Page, name: str, *, wait: bool = True) -> None:
    if wait:
        settled(page)
        page.wait_for_timeout(900)  # fades and fonts
    page.mouse.move(700, 890)
    page.screenshot(path=TARGET / f"{name}.png")


if __name__ == "__main__":
    main()
