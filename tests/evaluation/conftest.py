"""A home with forty towns, made once and copied for each test."""

from __future__ import annotations

import shutil

import pytest

from tests.applications import opened_with
from tests.evaluation.towns import add_facts


@pytest.fixture(scope="session")
def filled(tmp_path_factory):
    """A home with forty towns in the collection *Towns*, to be copied."""
    folder = tmp_path_factory.mktemp("towns") / "home"
    with opened_with(folder) as application:
        add_facts(application.library, "Towns")
    return folder


@pytest.fixture
def home(filled, tmp_path):
    """The application on a copy of it."""
    shutil.copytree(filled, tmp_path / "home")
    with opened_with(tmp_path / "home") as application:
        yield application
