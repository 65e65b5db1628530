"""Databases of their own making."""

import pytest

from crag.storage import sqlite_file


@pytest.fixture(autouse=True)
def _make_databases(monkeypatch):
    """Here a new home makes its tables itself."""
    monkeypatch.setattr(sqlite_file, "_make_file", sqlite_file._make_file.__wrapped__)
