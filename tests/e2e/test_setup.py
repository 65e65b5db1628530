"""From an empty machine to an answer by Llama 3 and its source, without leaving the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.doubles.ollama import ScriptedOllama, closed_address
from tests.e2e.accessibility import violations
from tests.e2e.browser import ask, badge, copy_answer, open_page, settled, uploader
from tests.e2e.conftest import NOTES, QUESTION
from tests.forked import forked

COUNT_CLICKS = "window.clicks = 0; addEventListener('click', event => { window.clicks += event.isTrusted }, true)"
FILES = {
    "brewing.md": NOTES.encode(),
    "empty.txt": b"",
    "<img src=x onerror=alert(1)>.txt": b"A short but honest text.",
    "broken.pdf": b"%PDF-1.7\nnothing",
}


@pytest.fixture
def nowhere() -> str:
    """The address at which Ollama will be."""
    return closed_address()


@pytest.fixture
def empty(tmp_path: Path, nowhere: str) -> Iterator[str]:
    """The application on a machine with nothing on it."""
    (tmp_path / "user").mkdir()
    bare = str(tmp_path / "user")
    with forked(tmp_path / "home", OLLAMA_HOST=nowhere, HOME=bare, PATH=bare) as address:
        yield address


def chip(page: Page, name: str) -> Locator:
    return page.get_by_test_id("stBottom").get_by_role("button", name=name)


def button(page: Page, name: str) -> Locator:
    """The button of this name, which may appear with the next look."""
    found = page.get_by_role("button", name=name).locator("visible=true").first
    expect(found).to_be_visible()
    settled(page)  # a click during a redraw is lost
    return found


def test_an_empty_machine_answers_with_llama_3_after_two_clicks(page: Page, empty: str, nowhere: str):
    foreign: list[str] = []
    page.on("request", lambda request: foreign.append(request.url) if "127.0.0.1" not in request.url else None)
    page.add_init_script(COUNT_CLICKS)
    open_page(page, empty)
    expect(page.get_by_role("heading", name="Ask your documents")).to_be_visible()
    expect(chip(page, "Built-in engine")).to_be_visible()
    page.wait_for_function("() => document.querySelector('[data-testid=stMain]').scrollHeight <= 900")
    button(page, "How to install Ollama").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("ollama.com/install.sh")
    assert violations(page) == []
    with ScriptedOllama(models=[], port=urlsplit(nowhere).port or 0) as ollama:
        expect(dialog).to_be_hidden()
        button(page, "Get Llama 3.1 8B · 4.9 GB").click()
        expect(chip(page, "Llama 3.1 8B")).to_be_visible()
        assert page.evaluate("window.clicks") == 2

        _add_good_and_bad_files(page)
        ollama.wait_until(lambda: ollama.memory.loads)
        ask(page, QUESTION)
        expect(badge(page, "from your documents")).to_be_visible()
        assert ollama.chats
        assert len(ollama.memory.loads) == 1, "it was warmed up as the question needs it"
        _read_and_copy_the_answer(page)
    assert [url for url in foreign if not url.startswith(("data:", "blob:"))] == []


def _add_good_and_bad_files(page: Page) -> None:
    files = [{"name": name, "mimeType": "text/plain", "buffer": content} for name, content in FILES.items()]
    uploader(page).set_input_files(files)
    page.get_by_text("Dismiss all").wait_for()
    settled(page)
    expect(page.get_by_text("Added 2 documents")).to_be_visible()
    expect(page.get_by_text("2 refused", exact=False)).to_be_visible()
    assert page.locator("img[src=x]").count() == 0


def _read_and_copy_the_answer(page: Page) -> None:
    trace = page.get_by_test_id("stSidebar")
    for step in ("Find passages", "Grade", "Decide", "Keep excerpts", "Write", "Check"):
        expect(trace.get_by_text(step, exact=False).first).to_be_visible()
    expect(trace.locator(".stMarkdownBadge", has_text="relevant").first).to_be_visible()
    copy_answer(page, "six weeks")
    trace.locator("[class*=passage-] button:visible").first.click()
    expect(page.get_by_role("dialog")).to_contain_text("citric acid")
