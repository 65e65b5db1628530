"""From an empty machine to an answer by Llama 3, without leaving the page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.doubles.ollama import ScriptedOllama, closed_address
from tests.doubles.ollama_registry import Mishap
from tests.e2e.accessibility import violations
from tests.e2e.browser import ask, badge, open_page, settled, upload
from tests.e2e.conftest import NOTES, QUESTION
from tests.forked import forked

LLAMA = "llama3.1:8b"
COUNT_CLICKS = "window.clicks = 0; addEventListener('click', event => { window.clicks += event.isTrusted }, true)"


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


@contextmanager
def installed(nowhere: str, seconds: float = 0.0, mishap: Mishap | None = None) -> Iterator[ScriptedOllama]:
    """Ollama without a model, at the address that was empty; getting Llama 3 takes so long."""
    with ScriptedOllama(models=[], port=urlsplit(nowhere).port or 0) as ollama:
        ollama.registry[LLAMA].seconds = seconds
        if mishap:
            ollama.registry[LLAMA].mishaps.append(mishap)
        yield ollama


def chip(page: Page, name: str) -> Locator:
    return page.get_by_test_id("stBottom").get_by_role("button", name=name)


def button(page: Page, name: str) -> Locator:
    """The button of this name, which may appear with the next look."""
    found = page.get_by_role("button", name=name).locator("visible=true").first
    expect(found).to_be_visible()
    settled(page)  # a click during a redraw is lost
    return found


def test_an_empty_machine_answers_with_llama_3_after_two_clicks(page: Page, empty: str, nowhere: str):
    page.add_init_script(COUNT_CLICKS)
    open_page(page, empty)
    expect(chip(page, "Built-in engine")).to_be_visible()
    expect(page.get_by_text("no Tesseract and no RapidOCR")).to_be_visible()
    page.wait_for_function("() => document.querySelector('[data-testid=stMain]').scrollHeight <= 900")
    button(page, "How to install Ollama").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("ollama.com/install.sh")
    assert violations(page) == []
    with installed(nowhere, seconds=2.0) as ollama:
        expect(dialog).to_be_hidden()
        button(page, "Get Llama 3.1 8B · 4.9 GB").click()
        expect(page.get_by_text("of 4.9 GB").first).to_be_visible()
        expect(chip(page, "Llama 3.1 8B")).to_be_visible()
        assert page.evaluate("window.clicks") == 2
        expect(page.get_by_text("Llama 3.1 8B on Ollama").first).to_be_visible()

        upload(page, "brewing.md", NOTES.encode())
        ollama.wait_until(lambda: ollama.memory.loads)
        ask(page, QUESTION)
        expect(badge(page, "from your documents")).to_be_visible()
        expect(page.get_by_test_id("stChatMessage").last).not_to_contain_text("No language model is in use")
        assert ollama.chats
        assert len(ollama.memory.loads) == 1, "it was warmed up as the question needs it"


def test_a_pull_resumes_after_a_full_disk_a_cancel_and_a_crash(page: Page, empty: str, nowhere: str):
    full = Mishap(0.3, "error", "write /root/.ollama/models/blobs/sha256-11: no space left on device")
    main = page.get_by_test_id("stMain")
    with installed(nowhere, seconds=4.0, mishap=full) as ollama:
        open_page(page, empty)
        button(page, "Get Llama 3.1 8B").click()
        expect(main).to_contain_text("The disk is full where Ollama keeps its models")
        expect(main).not_to_contain_text("/root/")
        ollama.registry[LLAMA].seconds = 20.0
        button(page, "Resume").click()
        button(page, "Cancel").click()
        expect(main).to_contain_text("downloaded and kept")
        there = ollama.registry[LLAMA].there
        assert there > 0
        button(page, "Resume").click()
        expect(main).to_contain_text(" s left")
    expect(main).to_contain_text("Ollama does not answer")
    with installed(nowhere) as ollama:
        ollama.registry[LLAMA].there = there  # on its disk
        button(page, "Resume").click()
        expect(chip(page, "Llama 3.1 8B")).to_be_visible()
