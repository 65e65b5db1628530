"""One Chromium for all scenarios, and one shared application for those that only ask about a document."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.applications import ask, opened_with
from tests.doubles.ollama import ScriptedOllama
from tests.doubles.ollama_values import CLOUD, LLAMA, NOMIC
from tests.doubles.tavily import TavilyServer
from tests.e2e.browser import PATIENCE_MS, chromium, launch, new_context
from tests.forked import forked

expect.set_options(timeout=PATIENCE_MS)

QUESTION = "What is the espresso machine descaled with?"
NOTES = """# Brewing notes

The espresso machine in the kitchen is descaled every six weeks with citric acid.
Descaling takes about forty minutes, and the water tank must be rinsed twice afterwards.

The grinder is cleaned on Fridays. Beans are ordered from Lisbon on the first Monday of each month.
"""
LONG_TITLE = "Maintenance of boilers and pumps in the cellars of our houses " * 3
BOILER = f"# {LONG_TITLE}\n\nThe boiler is inspected in March.\n"
FINALS = {
    "title": "2024 NBA Finals",
    "url": "https://en.example.org/finals",
    "score": 0.9,
    "content": "The Boston Celtics won the 2024 NBA Finals. They beat the Dallas Mavericks four games to one.",
}
FORMER_KEY = "f" * 43  # in the cookie of a browser that came before secrets were kept in local storage


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


@pytest.fixture(scope="session")
def notes_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with two documents and a conversation of `FORMER_KEY`, to be copied."""
    home = tmp_path_factory.mktemp("notes") / "home"
    with opened_with(home, {"brewing.md": NOTES, "boiler.md": BOILER}) as application:
        ask(application, QUESTION, application.conversations.for_user(FORMER_KEY).create().id, web="off")
    return home


@pytest.fixture(scope="session")
def web() -> Iterator[TavilyServer]:
    with TavilyServer(results=[FINALS]) as server:
        yield server


@pytest.fixture
def tavily(web: TavilyServer) -> TavilyServer:
    """The web search of the application on the notes; nobody has asked it yet."""
    web.requests.clear()
    return web


@pytest.fixture(scope="session")
def notes_address(notes_home: Path, web: TavilyServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The application on the notes, with a web search and without a model server.

    It is for all scenarios that leave documents and settings as they are.
    """
    home = shutil.copytree(notes_home, tmp_path_factory.mktemp("notes") / "home")
    search = {"TAVILY_API_KEY": "tvly-test", "CRAG_TAVILY_URL": web.url}
    with forked(home, OLLAMA_HOST="127.0.0.1:9", **search) as address:
        yield address


@pytest.fixture
def app_with_notes(notes_address: str, page: Page) -> str:
    """The application on the notes, where the browser of this page has not been yet."""
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
    with ScriptedOllama(models=[LLAMA, CLOUD, NOMIC]) as server, forked(home, OLLAMA_HOST=server.url) as address:
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
    server.script, server.per_token, server.memory.load_seconds = usual, 0.0, 0.0


@pytest.fixture
def app_on_ollama(kitchen: tuple[ScriptedOllama, str]) -> str:
    """The application with a model server and the notes."""
    return kitchen[1]
