"""One Chromium for all scenarios, and one shared application for those that only ask about a document."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from crag.app.application import open_application
from crag.settings import Settings
from tests.doubles.ollama import ScriptedOllama
from tests.e2e.browser import PATIENCE_MS, chromium, launch, new_context
from tests.forked import forked

expect.set_options(timeout=PATIENCE_MS)

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


@pytest.fixture(scope="session")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """One window's memory for all: the scripts of the page are read and compiled once an application."""
    opened = new_context(browser, viewport={"width": 1440, "height": 900})
    opened.grant_permissions(["clipboard-read", "clipboard-write"])
    yield opened
    opened.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A page whose scripts, styles and pictures all comply with its content security policy."""
    opened = context.new_page()
    violations: list[str] = []
    opened.on("console", lambda said: violations.append(said.text) if "Content Security Policy" in said.text else None)
    yield opened
    opened.close()
    assert not violations


@pytest.fixture
def app(tmp_path: Path) -> Iterator[str]:
    """The application on an empty home, with nothing configured."""
    with forked(tmp_path / "home", OLLAMA_HOST="127.0.0.1:9") as address:
        yield address


@pytest.fixture(scope="session")
def notes_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that holds the notes, to be copied."""
    home = tmp_path_factory.mktemp("notes") / "home"
    application = open_application(Settings(home=home, chat_model="builtin", embedder="builtin"))
    application.library.pipeline.add_bytes("brewing.md", NOTES.encode())
    application.close()
    return home


@pytest.fixture
def home_with_notes(notes_home: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(notes_home, tmp_path / "home"))


@pytest.fixture(scope="session")
def notes_address(notes_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The application on the notes for all scenarios that leave documents and settings as they are."""
    home = shutil.copytree(notes_home, tmp_path_factory.mktemp("notes") / "home")
    with forked(home, OLLAMA_HOST="127.0.0.1:9") as address:
        yield address


@pytest.fixture
def app_with_notes(notes_address: str, page: Page) -> str:
    """The application on the notes, with nothing configured, where the browser of this page has not been yet."""
    page.context.clear_cookies()
    stored = {"origin": notes_address, "storageTypes": "local_storage"}
    page.context.new_cdp_session(page).send("Storage.clearDataForOrigin", stored)
    return notes_address


@pytest.fixture(scope="session")
def kitchen(
    notes_home: Path, tmp_path_factory: pytest.TempPathFactory, context: BrowserContext
) -> Iterator[tuple[ScriptedOllama, str]]:
    """A model server, and the application on it with the notes, for all scenarios that leave both as they are.

    The application has found the model by then: without one, the built-in engine would answer.
    """
    home = shutil.copytree(notes_home, tmp_path_factory.mktemp("kitchen") / "home")
    with ScriptedOllama() as server, forked(home, OLLAMA_HOST=server.url) as address:
        first = context.new_page()
        first.goto(address)
        expect(first.get_by_test_id("stMenuButtonButton").filter(has_text="Llama 3.1")).to_be_visible()
        first.close()
        yield server, address


@pytest.fixture
def ollama(kitchen: tuple[ScriptedOllama, str]) -> Iterator[ScriptedOllama]:
    """The model server of the application that is shared; as it was, afterwards."""
    server = kitchen[0]
    usual = server.script
    server.requests.clear()
    yield server
    server.script, server.memory.load_seconds = usual, 0.0


@pytest.fixture
def app_on_ollama(kitchen: tuple[ScriptedOllama, str]) -> str:
    """The application with a model server and the notes."""
    return kitchen[1]
