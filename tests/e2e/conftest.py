"""One Chromium for all scenarios; each gets a page of its own that remembers what it asked of the network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.doubles.ollama import ScriptedOllama
from tests.e2e.browser import chromium, launch
from tests.served import served

expect.set_options(timeout=15_000)

QUESTION = "What is the espresso machine descaled with?"
NOTES = """# Brewing notes

The espresso machine in the kitchen is descaled every six weeks with citric acid.
Descaling takes about forty minutes, and the water tank must be rinsed twice afterwards.

The grinder is cleaned on Fridays. Beans are ordered from Lisbon on the first Monday of each month.
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)
            if chromium() is None:
                item.add_marker(
                    pytest.mark.skip(reason="no Chromium: `apt install chromium`, or name one in the variable CHROMIUM")
                )


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        opened = launch(playwright)
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    opened = context.new_page()
    opened.set_default_timeout(30_000)
    yield opened
    context.close()


@pytest.fixture
def app(tmp_path: Path) -> Iterator[str]:
    """The application on an empty home, with nothing configured."""
    with served(tmp_path / "home", OLLAMA_HOST="127.0.0.1:9") as address:
        yield address


@pytest.fixture
def ollama() -> Iterator[ScriptedOllama]:
    with ScriptedOllama() as server:
        yield server


@pytest.fixture
def app_on_ollama(tmp_path: Path, ollama: ScriptedOllama) -> Iterator[str]:
    """The application with a model server."""
    with served(tmp_path / "home", OLLAMA_HOST=ollama.url) as address:
        yield address
