"""Scripted web servers; one has an address of its own, so that others on this machine stay forbidden."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.doubles.web import WebServer, serving


@pytest.fixture
def web() -> Iterator[WebServer]:
    with serving() as server:
        yield server


@pytest.fixture
def guarded_web() -> Iterator[WebServer]:
    try:
        with serving(host="127.0.0.77") as server:
            yield server
    except OSError:
        pytest.skip("this system gives loopback one address only")
