"""The whole application in Streamlit's test runner: real services on an empty home, no browser."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.testing.v1 import AppTest, app_test, local_script_runner
from streamlit.util import calc_hash

from crag.app.application import Application
from crag.text.sanitization import WORD_JOINER
from pages.parts import services as page_services
from pages.parts.routes import Page
from pages.parts.services import close_application, shared_application
from tests import applications
from tests.applications import opened_with
from tests.doubles.ollama import ScriptedOllama
from tests.doubles.tavily import TavilyServer
from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[2]
QUESTION = "How often is the espresso machine descaled?"
UNANSWERED = "Who won the 2024 NBA Finals?"
NOTES = """# Brewing notes

The espresso machine in the kitchen is descaled every six weeks with citric acid.
Descaling takes about forty minutes, and the water tank must be rinsed twice afterwards.

The grinder is cleaned on Fridays. Beans are ordered from Lisbon on the first Monday of each month.
"""


@pytest.fixture(scope="session", autouse=True)
def _quick_runner() -> Iterator[None]:
    """Without this, AppTest would scan all installed packages for components in each test, and in each drawing compile
    every page, build a runtime, and look every millisecond through all that has been drawn.
    """
    scripts = ScriptCache()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        patched.setattr(app_test, "MagicMock", cache(app_test.MagicMock))
        patched.setattr(app_test, "ScriptCache", lambda: scripts)
        patched.setattr(local_script_runner, "ScriptCache", lambda: scripts)
        patched.setattr(local_script_runner, "require_widgets_deltas", _wait_for_script)
        yield


def _wait_for_script(runner: local_script_runner.LocalScriptRunner, timeout: float) -> None:
    thread = runner._script_thread
    thread.join(max(timeout, PATIENCE))
    assert not thread.is_alive(), "the page is still being drawn"


@pytest.fixture(scope="session")
def prepared_homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Homes to copy: one with the notes, and one with an answer to a question about them, too."""
    folder = tmp_path_factory.mktemp("prepared")
    usual = {"chat_model": "auto", "embedder": "auto", "ollama_host": "127.0.0.1:9"}
    with opened_with(folder / "notes", {"brewing.md": NOTES}, **usual):
        pass
    shutil.copytree(folder / "notes", folder / "asked")
    with opened_with(folder / "asked", **usual) as application:
        applications.ask(application, QUESTION, application.conversations.create().id)
    return folder


@pytest.fixture(autouse=True)
def _own_home(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test has a home of its own; Streamlit's caches would carry the services of the last one over."""
    if "ollama" not in request.fixturenames:  # whose embeddings would be other ones
        prepared = "asked" if "asked" in request.fixturenames else "notes"
        if {prepared, "tavily"} & {*request.fixturenames}:
            shutil.copytree(request.getfixturevalue("prepared_homes") / prepared, tmp_path / "home")
    monkeypatch.setenv("CRAG_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    monkeypatch.setenv("CRAG_PEOPLE", "one")  # the test runner sends no cookies
    monkeypatch.chdir(ROOT)
    st.cache_resource.clear()
    st.cache_data.clear()
    yield
    for thread in threading.enumerate():
        if thread.name == "warm-up":  # begun by the first page, and not to be met by a home that has gone
            thread.join(PATIENCE)
    restart_application()


def restart_application() -> None:
    """Close the application; the next page opens another one, as after a restart of the server."""
    close_application()
    for service in (
        page_services.shared_application,
        page_services._limited_applications,
        page_services._status_cache,
        page_services.warm_up,
        page_services.server_monitor,
    ):
        service.clear()


@pytest.fixture
def services() -> Application:
    """The services that the pages use."""
    return shared_application()


@pytest.fixture
def chat() -> AppTest:
    """The application at its first page, before the first drawing; another page can be the first one, too."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE)
    app._registered_pages = {  # as `st.navigation` does in the first drawing
        calc_hash(page.address): {"script_path": str(ROOT / page.path), "url_pathname": page.address} for page in Page
    }
    return app


@pytest.fixture
def notes(services: Application) -> str:
    """A library with one document; gives its id."""
    known = services.library.sources()
    return known[0].id if known else add(services, "brewing.md", NOTES)


def add(services: Application, name: str, text: str) -> str:
    result = services.library.pipeline.add_bytes(name, text.encode())
    assert result.id is not None, result.error
    return result.id


def until(app: AppTest, condition: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Draw the page again until something is true of it: when what is under way is done, or after a moment."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to be"
        moment = time.monotonic() + 0.3
        time.sleep(0.05)
        while time.monotonic() < moment and (shared_application().runs.busy or shared_application().jobs.active):
            time.sleep(0.02)
        app.run()


def ask(app: AppTest, question: str) -> None:
    """Send a question and wait until it has been answered."""
    app.chat_input[0].set_value(question).run()
    until(app, lambda: "stop" not in {button.key for button in app.button})


@pytest.fixture
def asked(chat: AppTest, services: Application) -> AppTest:
    """The chat with an answer to a question about the notes."""
    chat.query_params["c"] = services.conversations.list()[0].id
    return chat.run()


def wait_for_consent(app: AppTest) -> AppTest:
    """Ask what the documents do not answer, until the card is there."""
    app.run().chat_input[0].set_value(UNANSWERED).run()
    until(app, lambda: said(app, "Allow this search?"))
    return app


def last_run(services: Application) -> str:
    return services.conversations.messages(services.conversations.list()[0].id)[-1].run_id


def click(app: AppTest, label: str) -> None:
    next(button for button in app.button if button.label == label).click().run()
    assert not app.exception


def said(app: AppTest, words: str) -> bool:
    """Whether any text on the page holds these words, as a person reads them."""
    shown = [*(item.value for item in [*app.markdown, *app.caption]), *(bar.text for bar in app.get("progress"))]
    return any(words in text.replace("\\", "").replace(WORD_JOINER, "") for text in shown)


def labels(app: AppTest) -> list[str]:
    """The labels of all buttons and menus."""
    return [item.label for item in [*app.button, *app.get("menu_button")]]


def open_settings(app: AppTest, section: str) -> AppTest:
    """The settings at one of their sections."""
    app.session_state["selected_section"] = section
    app.switch_page("pages/settings/page.py").run()
    assert not app.exception
    return app


@pytest.fixture
def ollama(ollama: ScriptedOllama, monkeypatch: pytest.MonkeyPatch) -> ScriptedOllama:
    """The server that the application finds."""
    monkeypatch.setenv("OLLAMA_HOST", ollama.url)
    return ollama


FINALS = {
    "title": "2024 NBA Finals",
    "url": "https://en.example.org/finals",
    "score": 0.9,
    "content": "The Boston Celtics won the 2024 NBA Finals. They beat the Dallas Mavericks four games to one.",
}


@pytest.fixture
def tavily(monkeypatch):
    """A web search that finds the finals, beside a document that does not know them."""
    with TavilyServer(results=[FINALS]) as server:
        monkeypatch.setenv("TAVILY_API_KEY", "tvly-test")
        monkeypatch.setenv("CRAG_TAVILY_URL", server.url)
        if not shared_application().library.sources():
            add(shared_application(), "brewing.md", NOTES)
        yield server
