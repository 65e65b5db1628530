"""A home with two documents, the application over a copy of it, and its scripted server."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from crag.app.application import Application
from tests.applications import opened_with, opening
from tests.doubles.ollama import ScriptedOllama
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
    with opened_with(home, NOTES):
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
    with opened_with(home, chat_model="auto", ollama_host=server.url) as application:
        yield application


@pytest.fixture
def application(shared: Application, ollama: ScriptedOllama) -> Application:
    """One application for all tests of a module: after each fault it must do for the next test."""
    return shared


@pytest.fixture
def opened(tmp_path: Path, filled_home: Path, ollama: ScriptedOllama) -> Iterator[Open]:
    """Opens an application of its own over a copy of the home, with these settings in place of the usual ones."""
    home = tmp_path / "home"
    shutil.copytree(filled_home, home)
    with opening(home, chat_model="auto", ollama_host=ollama.url) as open_:
        yield open_
