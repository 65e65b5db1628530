"""A home with forty towns, made once and copied for each test."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from crag.app.application import Application, open_application
from crag.settings import Settings
from tests.evaluation.towns import add_facts


@pytest.fixture(scope="session")
def filled(tmp_path_factory):
    """A home with forty towns in the collection *Towns*, to be copied."""
    folder = tmp_path_factory.mktemp("towns") / "home"
    application = open_towns(folder)
    add_facts(application.library, "Towns")
    application.close()
    return folder


@pytest.fixture
def home(filled, tmp_path):
    """The application on a copy of it."""
    shutil.copytree(filled, tmp_path / "home")
    application = open_towns(tmp_path / "home")
    yield application
    application.close()


def open_towns(folder: Path) -> Application:
    return open_application(Settings(home=folder, chat_model="builtin", embedder="builtin"))
