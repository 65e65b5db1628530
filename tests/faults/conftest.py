"""A home with two documents, the application over a copy of it, and its scripted server."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from crag.app.application import Application, open_application
from crag.settings import Settings
from tests.doubles.ollama import ScriptedOllama, closed_address
from tests.doubles.ollama_memory import Memory
from tests.faults.asking import mend

NOTES = {
    "traces.md": "After two failed recordings the fragment is blacklisted, which means it is never recorded again.",
    "kitchen.md": "The espresso machine is descaled every six weeks with citric acid, and its tank is rinsed twice.",
}
Open = Callable[..., Application]


@pytest.fixture(scope="session")
def filled_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that was left in good order."""
    home = tmp_path_factory.mktemp("filled") / "home"
    application = open_application(Settings(home=home, ollama_host=closed_address(), embedder="builtin"))
    for name, text in NOTES.items():
        application.library.pipeline.add_bytes(name, text.encode())
    application.close()
    return home


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedOllama]:
    with ScriptedOllama() as running:
        yield running


@pytest.fixture
def ollama(server: ScriptedOllama) -> ScriptedOllama:
    """The server, in good order whatever the test before did with it."""
    mend(server)
    server.requests.clear()
    server.memory = Memory()
    return server


@pytest.fixture(scope="module")
def shared(
    filled_home: Path, server: ScriptedOllama, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Application]:
    home = tmp_path_factory.mktemp("shared") / "home"
    shutil.copytree(filled_home, home)
    made = open_application(Settings(home=home, ollama_host=server.url, embedder="builtin"))
    yield made
    made.close()


@pytest.fixture
def application(shared: Application, ollama: ScriptedOllama) -> Application:
    """One application for all tests of a module: after each fault it must do for the next test."""
    return shared


@pytest.fixture
def opened(tmp_path: Path, filled_home: Path, ollama: ScriptedOllama) -> Iterator[Open]:
    """Opens an application of its own over a copy of the home, with these settings in place of the usual ones."""
    home = tmp_path / "home"
    shutil.copytree(filled_home, home)
    made: list[Application] = []

    def open_(**settings: object) -> Application:
        given = {"home": home, "ollama_host": ollama.url, "embedder": "builtin"} | settings
        made.append(open_application(Settings(**given)))
        return made[-1]

    yield open_
    for application in made:
        application.close()
