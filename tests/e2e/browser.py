"""A real Chromium, and what a user does with it."""

from __future__ import annotations

import os
import shutil
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Locator, Page, Playwright

from tests.waiting import PATIENCE

PATIENCE_MS = 1000 * PATIENCE  # what `expect` has, too
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
PHONE = "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36"


def chromium() -> str | None:
    """Where Chromium is on this machine."""
    shell = "chromium-headless-shell"  # without what only a window needs: a fifth less processor time
    names = [os.environ.get("CHROMIUM", ""), shell, "chromium", "chromium-browser", "google-chrome", "chrome"]
    return next((found for name in names if name and (found := shutil.which(name))), None)


def launch(playwright: Playwright) -> Browser:
    return playwright.chromium.launch(executable_path=chromium(), args=FLAGS)


def new_context(browser: Browser, **options: Any) -> BrowserContext:
    """A window with a memory of its own, as patient as all others, in which nothing moves that need not."""
    context = browser.new_context(**({"reduced_motion": "reduce"} | options))
    context.set_default_timeout(PATIENCE_MS)
    return context


def new_screen(browser: Browser, scheme: str, *, phone: bool = False) -> BrowserContext:
    """A context with the screen of a desktop computer or of a phone, in the light or the dark theme."""
    size = {"width": 390, "height": 844} if phone else {"width": 1440, "height": 900}
    agent = PHONE if phone else None
    return new_context(browser, viewport=size, color_scheme=scheme, user_agent=agent, is_mobile=phone, has_touch=phone)


def settled(page: Page) -> None:
    """Wait until the page's script has run."""
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")


def unfolded(inside: Locator) -> None:
    """Wait until the fold around it has opened: while that grows, what was scrolled into view moves away."""
    inside.evaluate("one => Promise.allSettled(one.closest('details').getAnimations().map(each => each.finished))")


def open_page(page: Page, address: str) -> Page:
    page.goto(address)
    page.get_by_role("navigation").first.wait_for(state="attached")
    drawn = page.get_by_test_id("stMain").get_by_test_id("stElementContainer")
    drawn.first.wait_for(state="attached")  # the page counts as settled before, too
    settled(page)
    return page


def ask(page: Page, question: str) -> None:
    box = page.get_by_test_id("stChatInputTextArea")
    box.fill(question)
    box.press("Enter")


def badge(page: Page, words: str) -> Locator:
    return page.locator(".stMarkdownBadge", has_text=words).last


def copy_answer(page: Page, words: str) -> None:
    """Copy the last answer, and wait until the clipboard contains these words of it."""
    page.evaluate("navigator.clipboard.writeText('')")
    settled(page)  # a click during a redraw is lost
    page.get_by_test_id("stChatMessage").last.get_by_role("button", name="Copy").click()
    page.wait_for_function("async (words) => (await navigator.clipboard.readText()).includes(words)", arg=words)


def uploader(page: Page) -> Locator:
    """Where documents are added; the box for questions takes files, too, and may be drawn first."""
    return page.get_by_test_id("stFileUploaderDropzoneInput").first


def upload(page: Page, name: str, content: bytes) -> None:
    """Add a file to the library and wait until it has been read or refused."""
    uploader(page).set_input_files([{"name": name, "mimeType": "application/octet-stream", "buffer": content}])
    page.get_by_text("Dismiss all").wait_for()
    settled(page)
